/** The marketplace and its sources, where others change them or an answer comes late. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { pluginSource } from '../plugins/support.ts';
import { type MarketServer, publish, startMarket } from '../support/market-server.ts';
import { confirmByPassword, heading, see, told, useOnePanel } from './harness.ts';
import { holdAnswer } from './hold-answer.ts';

const source = (key: string, more: object = {}): string =>
  pluginSource({ key, name: key, models: [`${key}-1`], ...more });
/** One plugin alone can have it. */
const claim = { channelTypes: [901] };
const offer = (key: string, text = source(key)) => ({ key, version: '1.0.0', source: text });
const path = '/api/plugin/task/marketplace/sources';

let market: MarketServer;
const entry = (name: string) => ({ name, index_url: `${market.url}/${name}/index.json` });

const one = useOnePanel(
  async (root) => {
    market = startMarket();
    publish(market, '/good', [offer('scissors'), offer('rival', source('rival', claim))]);
    publish(market, '/other', [offer('glue')]);
    await root.call('POST', '/api/plugin/task', { source: source('paper', claim) });
    await root.call('PUT', path, [entry('good')]);
  },
  { DEBUG: 'true' },
);
afterAll(() => market.stop());

async function visit(address: string): Promise<Page> {
  const page = await one.keepRootPage();
  await page.goto(`${one.origin()}${address}`);
  return page;
}
const dialog = (page: Page) => page.getByRole('dialog');
const goTo = (page: Page, name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

/** Begins an installation, goes to another page before its answer, and lets that come. */
async function installAndLeave(page: Page): Promise<void> {
  const installing = await holdAnswer(page, '**/marketplace/install', 'POST');
  await page.getByRole('button', { name: 'Install 1.0.0' }).click();
  await installing.answered;
  await goTo(page, 'Prices');
  await heading(page, 'Prices').waitFor();
  await installing.release();
}

describe('what follows an installation stays away from who has left its page', () => {
  test('the plugin is not opened', async () => {
    const page = await visit('/marketplace/good/scissors');
    await installAndLeave(page);
    await told(page, 'scissors 1.0.0 is installed');
    expect(new URL(page.url()).pathname).toBe('/prices');
  });

  test('a conflict is asked about on its own page only', async () => {
    const page = await visit('/marketplace/good/rival');
    await page.getByRole('button', { name: 'Install 1.0.0' }).click();
    await dialog(page).getByText('it does not serve until the conflict is gone').waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await dialog(page).waitFor({ state: 'detached' });

    await installAndLeave(page);
    expect(await dialog(page).count()).toBe(0);
  });
});

describe('sources', () => {
  const open = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Sources' }).click();
    await dialog(page).getByRole('button', { name: 'Add a source' }).waitFor();
  };
  const names = () =>
    one
      .root()
      .call<{ name: string }[]>('GET', path)
      .then((all) => all.map(({ name }) => name));

  test('that another administrator has added are not lost when these are saved', async () => {
    await one.root().call('PUT', path, [entry('good')]);
    const page = await visit('/marketplace');
    await open(page);
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    await one.root().call('PUT', path, [entry('good'), entry('other')]);
    await open(page);
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await confirmByPassword(page);
    await told(page, 'Saved');
    expect(await names()).toEqual(['good', 'other']);
  });

  test('that are being saved keep their dialog', async () => {
    const page = await visit('/marketplace');
    await open(page);
    const saving = await holdAnswer(page, `**${path}`, 'PUT');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await confirmByPassword(page);
    await saving.answered;
    expect(await dialog(page).getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await dialog(page).getByRole('button', { name: 'Add a source' }).isVisible()).toBe(true);
    await saving.release();
    await told(page, 'Saved');
    await dialog(page).waitFor({ state: 'detached' });
  });

  test('that are saved while a refresh is on its way are the ones that are shown', async () => {
    await one.root().call('PUT', path, [entry('good')]);
    const page = await visit('/marketplace');
    await see(page, 'scissors');
    const refreshing = await holdAnswer(page, '**/api/plugin/task/marketplace?refresh=true', 'GET');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await refreshing.answered;
    await open(page);
    await dialog(page).getByLabel('Name').fill('other');
    await dialog(page).getByLabel('Address of the index').fill(entry('other').index_url);
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await confirmByPassword(page);
    await page.getByRole('link', { name: 'glue' }).waitFor();
    await refreshing.release();
    await page.getByRole('button', { name: 'Refresh' }).and(page.locator(':not([data-loading])')).waitFor();
    await page.getByRole('link', { name: 'glue' }).waitFor();
    expect(await page.getByRole('link', { name: 'scissors' }).count()).toBe(0);
  });
});
