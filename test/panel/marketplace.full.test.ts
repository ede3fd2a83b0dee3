/** The marketplace and its sources, with concurrent changes and late answers. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { generateSigningKey, type SigningKey } from '../../src/plugins/index.ts';
import { signData } from '../../src/plugins/signing/signature.ts';
import { pluginSource } from '../plugins/support.ts';
import { type MarketServer, publish, startMarket } from '../support/market-server.ts';
import { confirmWithPassword, heading, usePanel, waitForNotice, waitForText, waitForValue } from './harness.ts';
import { holdResponse } from './hold-response.ts';

const source = (key: string, more: object = {}): string =>
  pluginSource({ key, name: key, models: [`${key}-1`], ...more });
/** Only one plugin can claim it. */
const claim = { channelTypes: [901] };
const offer = (key: string, text = source(key)) => ({ key, version: '1.0.0', source: text });
const path = '/api/plugin/task/marketplace/sources';

let market: MarketServer;
const entry = (name: string) => ({ name, index_url: `${market.url}/${name}/index.json` });

const panel = usePanel(
  async (root) => {
    market = startMarket();
    publish(market, '/good', { plugins: [offer('scissors'), offer('rival', source('rival', claim))] });
    publish(market, '/other', { plugins: [offer('glue')] });
    await root.call('POST', '/api/plugin/task', { source: source('paper', claim) });
    await root.call('PUT', path, [entry('good')]);
  },
  { DEBUG: 'true' },
);
afterAll(() => market.stop());

async function visit(address: string): Promise<Page> {
  const page = await panel.sharedRootPage();
  await page.goto(`${panel.origin()}${address}`);
  return page;
}
const dialog = (page: Page) => page.getByRole('dialog');
const goTo = (page: Page, name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

/** Starts an installation, leaves the page, and then lets the answer arrive. */
async function installAndLeave(page: Page): Promise<void> {
  const installing = await holdResponse(page, '**/marketplace/install', 'POST');
  await page.getByRole('button', { name: 'Install 1.0.0' }).click();
  await installing.answered;
  await goTo(page, 'Prices');
  await heading(page, 'Prices').waitFor();
  await installing.release();
}

describe('an offer of a plugin that is in use', () => {
  test('shows what its activation would change, and its installation leads to the review', async () => {
    const rival = source('demo', { version: '9.0.0', models: ['demo-other'], name: 'Demo of others' });
    publish(market, '/takeover', { plugins: [{ key: 'demo', version: '9.0.0', source: rival }] });
    await panel.root().createChannel('http://127.0.0.1:9', { name: 'in use' });
    await panel.root().call('PUT', path, [entry('good'), entry('takeover')]);
    const page = await visit('/marketplace/takeover/demo');
    await waitForText(page, 'demo-other');
    await page.getByRole('link', { name: 'in use' }).waitFor();
    await page.getByRole('button', { name: 'Install 9.0.0' }).click();
    await heading(page, 'Activate Demo vendor 9.0.0').waitFor();
    const [serving] = (await panel.root().call<{ key: string; version: string }[]>('GET', '/api/plugin/task')).filter(
      ({ key }) => key === 'demo',
    );
    expect(serving?.version).not.toBe('9.0.0');
  });
});

describe('what a plugin may do', () => {
  const reading = (version: string, more: object, hook = '') => ({
    key: 'needle',
    version,
    source: source('needle', { version, ...more }).replace('body: ctx.requestBody', `${hook}body: ctx.requestBody`),
  });
  const first = reading('1.0.0', { baseUrl: 'https://api.needle.example' });
  const next = reading(
    '1.1.0',
    { baseUrl: 'https://api.needle.example', allowedHosts: ['cdn.needle.example'] },
    'headers: { key: ctx.apiKey }, ',
  );

  test('is told in words before it is installed, and what another version gains and loses', async () => {
    publish(market, '/needles', { plugins: [first] });
    await panel.root().call('PUT', path, [entry('good'), entry('needles')]);
    const page = await visit('/marketplace/needles/needle');
    await waitForText(page, 'Permissions');
    await waitForText(page, 'Sends requests to api.needle.example');
    expect(await page.getByText('Reads the channel’s key').count()).toBe(0);
    await page.getByRole('button', { name: 'Install 1.0.0' }).click();
    await waitForNotice(page, 'needle 1.0.0 was installed');
    await heading(page, 'needle').waitFor();
    await waitForText(page, 'Sends requests to api.needle.example');

    publish(market, '/needles', { plugins: [first, next] });
    await panel.root().call('GET', '/api/plugin/task/marketplace?refresh=true');
    await page.goto(`${panel.origin()}/marketplace/needles/needle`);
    const gained = page.getByRole('listitem').filter({ has: page.getByRole('img', { name: 'new', exact: true }) });
    await gained.filter({ hasText: 'Reads the channel’s key' }).waitFor();
    await page.getByRole('button', { name: 'Install 1.1.0' }).click();
    await heading(page, 'Activate needle 1.1.0').waitFor();
    await gained.filter({ hasText: 'Sends requests to cdn.needle.example' }).waitFor();
  });

  test('made for a newer contract: the page names what is needed, and no place', async () => {
    publish(market, '/later', {
      plugins: [
        { key: 'later', version: '1.0.0', source: source('later', { tripwires: ['x'] }) },
        { ...offer('loom'), more: { minApiVersion: 2 } },
      ],
    });
    await panel.root().call('PUT', path, [entry('good'), entry('later')]);
    const page = await visit('/marketplace');
    await page.getByText('Entries that can’t be installed: 1').click();
    await waitForText(page, 'loom 1.0.0 Requires a newer gateway (needs plugin API 2)');
    await page.getByRole('link', { name: 'later', exact: true }).click();
    const alert = page
      .getByRole('alert')
      .filter({ hasText: 'Requires a newer gateway (needs the manifest field tripwires)' });
    await alert.waitFor();
    expect(await page.getByText('/tripwires').count()).toBe(0);
  });
});

describe('an installation answered after its page was left', () => {
  test('does not open the plugin', async () => {
    const page = await visit('/marketplace/good/scissors');
    await installAndLeave(page);
    await waitForNotice(page, 'scissors 1.0.0 was installed');
    expect(new URL(page.url()).pathname).toBe('/prices');
  });

  test('asks about a conflict only on its own page', async () => {
    const page = await visit('/marketplace/good/rival');
    await page.getByRole('button', { name: 'Install 1.0.0' }).click();
    await dialog(page).getByText('it stays inactive until the conflict is resolved').waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await dialog(page).waitFor({ state: 'detached' });

    await installAndLeave(page);
    expect(await dialog(page).count()).toBe(0);
  });
});

describe('a signed source', () => {
  const names = { known: generateSigningKey(), other: generateSigningKey() };
  const now = Math.floor(Date.now() / 1000);
  /** Signs what is published in a folder. */
  function sign(folder: string, key: SigningKey, more: object = {}): void {
    const index = JSON.parse(String(market.files.get(`${folder}/index.json`)));
    const dated = { ...index, serial: now, expires_at: now + 86_400, public_key: key.publicKey.text, ...more };
    market.files.set(`${folder}/index.json`, JSON.stringify(dated));
    market.files.set(`${folder}/index.json.minisig`, signData(key, Buffer.from(JSON.stringify(dated)), ''));
  }

  test('shows its key; another key is refused with both named, until root accepts it', async () => {
    publish(market, '/signed', { plugins: [offer('stapler')] });
    sign('/signed', names.known);
    await panel.root().call('PUT', path, [entry('signed'), entry('good')]);
    const page = await visit('/marketplace');
    await waitForText(page, `Signed by ${names.known.publicKey.id}`);
    await waitForText(page, 'Unsigned');
    publish(market, '/signed', { plugins: [offer('stapler')] });
    sign('/signed', names.other);
    await page.getByRole('button', { name: 'Refresh' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'Signed with a different key' });
    await alert.getByText(names.known.publicKey.text).waitFor();
    await alert.getByText(names.other.publicKey.text).waitFor();
    expect(await page.getByRole('link', { name: 'stapler', exact: true }).count()).toBe(0);
    await alert.getByRole('button', { name: 'Accept the new key' }).click();
    await dialog(page).getByRole('button', { name: 'Accept the new key' }).click();
    await confirmWithPassword(page);
    await waitForText(page, `Signed by ${names.other.publicKey.id}`);
    await page.getByRole('link', { name: 'stapler', exact: true }).waitFor();
  });

  test('that is past its end is offered with a warning, and revoked versions are listed', async () => {
    const revoked = { ...offer('hammer'), more: { revoked: { reason: 'It sends keys away.' } } };
    publish(market, '/old', { plugins: [offer('stapler'), revoked] });
    sign('/old', names.known, { expires_at: now - 86_400 });
    await panel.root().call('PUT', path, [entry('old')]);
    const page = await visit('/marketplace');
    await waitForText(page, 'Index expired');
    await page.getByText('Versions revoked by the publisher: 1').click();
    await waitForText(page, 'hammer 1.0.0: It sends keys away.');
  });
});

describe('sources', () => {
  const open = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Sources' }).click();
    await dialog(page).getByRole('button', { name: 'Add source' }).waitFor();
  };

  test('being saved keep their dialog open', async () => {
    const page = await visit('/marketplace');
    await open(page);
    const saving = await holdResponse(page, `**${path}`, 'PUT');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await confirmWithPassword(page);
    await saving.answered;
    expect(await dialog(page).getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await dialog(page).getByRole('button', { name: 'Add source' }).isVisible()).toBe(true);
    await saving.release();
    await waitForNotice(page, 'Saved');
    await dialog(page).waitFor({ state: 'detached' });
  });

  test('that were typed are lost after a question only', async () => {
    const page = await visit('/marketplace');
    await open(page);
    await dialog(page).getByLabel('Name').first().fill('typed');
    await page.keyboard.press('Escape');
    await waitForText(page, 'Discard changes?');
    await page.getByRole('button', { name: 'Keep editing' }).last().click();
    await waitForValue(dialog(page).getByLabel('Name').first(), 'typed');
  });

  test('saved during a refresh are the ones shown', async () => {
    await panel.root().call('PUT', path, [entry('good')]);
    const page = await visit('/marketplace');
    await waitForText(page, 'scissors');
    const refreshing = await holdResponse(page, '**/api/plugin/task/marketplace?refresh=true', 'GET');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await refreshing.answered;
    await open(page);
    await dialog(page).getByLabel('Name').fill('other');
    await dialog(page).getByLabel('Index URL').fill(entry('other').index_url);
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await confirmWithPassword(page);
    await page.getByRole('link', { name: 'glue', exact: true }).waitFor();
    await refreshing.release();
    await page.getByRole('button', { name: 'Refresh' }).and(page.locator(':not([data-loading])')).waitFor();
    await page.getByRole('link', { name: 'glue', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'scissors', exact: true }).count()).toBe(0);
  });
});
