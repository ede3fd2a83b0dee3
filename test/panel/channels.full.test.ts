/**
 * Channels in the browser: created, tested, changed and deleted, by root and by an administrator.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { pluginSource } from '../plugins/support.ts';
import { startVendor, type VendorProcess } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import {
  alert,
  findPageIssues,
  heading,
  password,
  screens,
  usePanel,
  waitForFocus,
  waitForNotice,
  waitForText,
} from './harness.ts';
import { holdResponse } from './hold-response.ts';

let vendor: VendorProcess;
const { origin, root, openAs, sharedRootPage } = usePanel(async (admin) => {
  vendor = await startVendor();
  await admin.createChannel(vendor.url, {
    ...{ name: 'First channel', priority: 7, groups: ['default', 'vip'], limits: { max_running: 4 } },
  });
  await admin.createUser({ username: 'ada', role: 10 });
});
afterAll(() => vendor?.stop());

async function openAsRoot(path: string): Promise<Page> {
  const page = await sharedRootPage();
  await page.goto(`${origin()}${path}`);
  return page;
}

type Channels = {
  items: { id: number; type: number; name: string; status: number; models: string[]; base_url: string }[];
};
const listed = async (name: string) =>
  (await root().call<Channels>('GET', '/api/channel?page_size=100')).items.find((channel) => channel.name === name);

describe('the list', () => {
  test('shows what each channel serves, and disables one at once', async () => {
    const page = await openAsRoot('/channels');
    const row = page.getByRole('row', { name: /First channel/ });
    for (const text of [
      'Demo vendor',
      'demo-video, demo-video-pro',
      'Groups: default, vip',
      'Priority 7 · weight 1',
      '0 of 4',
      '$0.00',
    ]) {
      await row.getByText(text, { exact: true }).waitFor();
    }
    const isOn = row.getByRole('switch', { name: 'First channel enabled' });
    // The switch shows the requested state before the answer arrives.
    const turn = async () => {
      const answered = page.waitForResponse((response) => response.request().method() === 'PUT');
      await isOn.press('Space');
      expect((await answered).status()).toBe(200);
    };
    await turn();
    await page.reload();
    await row.waitFor();
    expect(await isOn.isChecked()).toBe(false);
    expect((await listed('First channel'))?.status).toBe(2);
    await turn();
    expect((await listed('First channel'))?.status).toBe(1);

    const search = page.getByLabel('Search', { exact: true });
    await search.fill('none of these');
    await waitForText(page, 'No matches');
    await search.fill('');
    await row.waitFor();
    await waitForFocus(search);
    const statuses = page.getByRole('radiogroup', { name: 'Status' });
    await statuses.getByText('Disabled', { exact: true }).click();
    await waitForText(page, 'No matches');
    await statuses.getByText('All', { exact: true }).click();
    await row.waitFor();
    expect(await findPageIssues(page)).toEqual([]);

    await page.setViewportSize(screens.phone);
    for (const text of ['Demo vendor', 'Priority 7', '0 of 4 slots']) await row.getByText(text).waitFor();
    await page.setViewportSize(screens.desktop);
  });
});

describe('a new channel', () => {
  test('shows errors per field, keeps the input, and works with the plugin’s defaults', async () => {
    const page = await openAsRoot('/channels/new');
    const create = page.getByRole('button', { name: 'Add channel' });
    await create.click();
    const first = page.getByRole('combobox', { name: 'Vendor' });
    await waitForFocus(first);
    const top = (await first.boundingBox())?.y ?? -1;
    expect(top > 0 && top < screens.desktop.height).toBe(true);
    for (const text of ['Select a vendor.', 'Enter a name.', 'Enter the key.', 'Select at least one model.']) {
      await waitForText(page, text);
    }
    expect(await findPageIssues(page)).toEqual([]);

    await page.getByRole('combobox', { name: 'Vendor' }).fill('runway');
    await page.getByRole('option', { name: /Runway/ }).click();
    await waitForText(page, 'One secret (key_…). Get a key');
    await page.getByLabel(/^Key/).fill('ACCESS|SECRET');
    const doubt = page.getByText('Check the key: it doesn’t look like one from Runway.');
    await doubt.waitFor();
    await page.getByRole('combobox', { name: 'Vendor' }).fill('demo');
    await page.getByRole('option', { name: /Demo vendor/ }).click();
    expect(await doubt.count()).toBe(0);
    expect(await page.getByLabel('Name').inputValue()).toBe('Demo vendor');
    expect(await page.getByLabel('Base URL').getAttribute('placeholder')).toBe('http://127.0.0.1:4010');
    await page.getByText('demo-video-pro', { exact: true }).waitFor();

    await page.getByLabel('Base URL').fill('ftp://example.org');
    await page.getByLabel(/^Key/).fill('vendor-key-0123456789');
    await create.click();
    await waitForText(page, 'Enter a URL such as https://api.example.com.');
    await page.getByLabel('Base URL').fill('https://user:word@example.org');
    await create.click();
    await waitForText(page, 'Leave credentials out of the address: they go into the key.');
    expect(await page.getByLabel(/^Key/).inputValue()).toBe('vendor-key-0123456789');

    await page.getByLabel('Base URL').fill('');
    await create.click();
    await waitForNotice(page, '“Demo vendor” is live');
    await heading(page, 'Demo vendor').waitFor();
    expect(await listed('Demo vendor')).toMatchObject({
      models: ['demo-video', 'demo-video-pro'],
      base_url: 'http://127.0.0.1:4010',
    });
  });

  test('is filled with the grace period that its plugin suggests, which another plugin takes away', async () => {
    const source = pluginSource(
      { key: 'late', name: 'Late' },
      'export const vendorInfo = { notFoundGraceSeconds: 90 };',
    );
    await root().call('POST', '/api/plugin/task', { source });
    const page = await openAsRoot('/channels/new');
    const choose = async (typed: string, name: RegExp) => {
      await page.getByRole('combobox', { name: 'Vendor' }).fill(typed);
      await page.getByRole('option', { name }).click();
    };
    const grace = page.getByLabel('Grace period for new tasks (seconds)');
    await choose('late', /^Late/);
    await page.getByText('More settings', { exact: true }).click();
    await page.getByText('Grace period, vendor balance, plugin settings', { exact: true }).click();
    expect(await grace.inputValue()).toBe('90');
    await choose('demo', /Demo vendor/);
    expect(await grace.inputValue()).toBe('');
  });

  test('has the channel type of new-api where that is chosen', async () => {
    const page = await openAsRoot('/channels/new');
    await page.getByRole('combobox', { name: 'Vendor' }).fill('channel type 55');
    await page.getByRole('option', { name: /OpenAI Sora, channel type 55/ }).click();
    expect(await page.getByLabel('Base URL').getAttribute('placeholder')).toBe('https://api.openai.com');
    await page.getByLabel(/^Key/).fill('vendor-key-0123456789');
    await page.getByRole('button', { name: 'Add channel' }).click();
    await heading(page, 'OpenAI Sora').waitFor();
    expect(await listed('OpenAI Sora')).toMatchObject({ type: 55, models: ['sora-2', 'sora-2-pro'] });
    expect(await findPageIssues(page)).toEqual([]);
  });
});

describe('one channel', () => {
  test('is tested from each tab, with each step shown', async () => {
    const created = await listed('First channel');
    const page = await openAsRoot(`/channels/${created?.id}?tab=settings`);
    await page.getByRole('button', { name: 'Run test' }).click();
    await waitForText(page, 'Key');
    await waitForText(page, 'Connection');
    await waitForText(page, 'Key check');
    expect(await findPageIssues(page)).toEqual([]);
  });

  test('says its capacity in a line until somebody wants more', async () => {
    const created = await listed('First channel');
    const page = await openAsRoot(`/channels/${created?.id}`);
    const capacity = page.getByRole('region', { name: 'Capacity' });
    await capacity.getByText(/^Slots in use: 0.* · Waiting: 0$/).waitFor();
    await capacity.getByRole('button', { name: 'By model', expanded: false }).click();
    await capacity.getByText('A slot is one task running at the vendor.').waitFor();
    expect(await findPageIssues(page)).toEqual([]);
  });

  test('key exfiltration: another base URL requires the key again', async () => {
    const created = await listed('First channel');
    const page = await openAsRoot(`/channels/${created?.id}?tab=settings`);
    const address = page.getByLabel('Base URL');
    await address.fill('https://elsewhere.example');
    await waitForText(page, 'The plugin or URL has changed.');
    await page.getByRole('button', { name: 'Save' }).click();
    await waitForText(page, 'Re-enter the key. With a different plugin or URL it would be sent somewhere else.');
    expect((await listed('First channel'))?.base_url).toBe(vendor.url);

    await page.getByRole('button', { name: 'Discard' }).click();
    expect(await address.inputValue()).toBe(vendor.url);
    await page.getByRole('button', { name: 'Add mapping' }).click();
    await page.getByLabel('Client model name, row 1').fill('film');
    await page.getByRole('button', { name: 'Save' }).click();
    await waitForText(page, 'Fill in both names in each row, or remove the row.');
    await page.getByLabel('Vendor model name, row 1').fill('demo-video');
    await page.getByRole('button', { name: 'Grace period' }).click();
    await page.getByLabel('Plugin settings').fill('{"a": ');
    await page.getByRole('button', { name: 'Save' }).click();
    await waitForText(page, 'Not a JSON object. Check commas and quotes.');
    await page.getByLabel('Plugin settings').fill('{"a": 1}');
    await page.getByRole('button', { name: 'Save' }).click();
    await waitForNotice(page, 'Saved');
    expect(await root().call('GET', `/api/channel/${created?.id}`)).toMatchObject({
      model_mapping: { film: 'demo-video' },
      settings: { a: 1 },
      base_url: vendor.url,
    });
  });

  test('has a way to the vendor of its own; what no request could carry is said at its row', async () => {
    const body = { name: 'Networked', type: 1, key: 'sk-vendor-0123456789', models: ['gpt-net'] };
    const { id } = await root().call<{ id: number }>('POST', '/api/channel', {
      ...body,
      base_url: 'https://llm.example',
    });
    const page = await openAsRoot(`/channels/${id}?tab=settings`);
    await page.getByRole('button', { name: 'Proxy and headers' }).click();
    const proxy = page.getByLabel('Proxy', { exact: true });
    const save = page.getByRole('button', { name: 'Save' });
    await proxy.fill('proxy.lan:3128');
    await save.click();
    await waitForFocus(proxy);
    await waitForText(page, /^Write the proxy as scheme/);
    await proxy.fill('socks5h://gate:word-of-the-proxy@proxy.lan:1080');

    const addHeader = page.getByRole('button', { name: 'Add header' });
    const rows = [
      ['X-Api-Manager', 'value-of-the-manager'],
      ['bad name', 'another-value'],
    ];
    for (const [index, [name = '', value = '']] of rows.entries()) {
      await addHeader.click();
      await page.getByLabel(`Name of header ${index + 1}`).fill(name);
      await page.getByLabel(`Value of header ${index + 1}`, { exact: true }).fill(value);
    }
    await save.click();
    const faulty = page.getByLabel('Name of header 2');
    await waitForFocus(faulty);
    expect(await faulty.getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('Name of header 1').getAttribute('aria-invalid')).not.toBe('true');
    expect(await findPageIssues(page)).toEqual([]);
    await faulty.fill('X-Other');
    const defaults = page.getByLabel('Default fields');
    await defaults.fill('{"model": "another"}');
    await save.click();
    await waitForFocus(defaults);
    expect(await defaults.getAttribute('aria-invalid')).toBe('true');
    await defaults.fill('{"max_tokens": 77}');
    await save.click();
    await until('it is saved', async () => {
      const saved = await root().call<Record<string, unknown>>('GET', `/api/channel/${id}`);
      return (saved.header_names as string[]).length === 2 && saved;
    });
    expect(await root().call<object>('GET', `/api/channel/${id}`)).toMatchObject({
      proxy: 'socks5h://proxy.lan:1080',
      header_names: ['X-Api-Manager', 'X-Other'],
      body_defaults: { max_tokens: 77 },
    });
    await page.reload();
    await page.getByRole('button', { name: 'Proxy and headers' }).click();
    expect(await page.getByLabel('Name of header 1').inputValue()).toBe('X-Api-Manager');
    expect(await page.getByLabel('Value of header 1', { exact: true }).inputValue()).toBe('');
    expect(await proxy.inputValue()).toBe('socks5h://proxy.lan:1080');
    const shown = await page.content();
    for (const secret of ['value-of-the-manager', 'another-value', 'word-of-the-proxy'])
      expect(shown).not.toContain(secret);
  });

  test('a cancelled Security Proof does not settle a later one', async () => {
    const created = await listed('First channel');
    const page = await openAsRoot(`/channels/${created?.id}?tab=settings`);
    await page.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: 'Show key' }).click();
    const proving = await holdResponse(page, '**/api/verify', 'POST');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    await proving.answered;
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: 'Show key' }).click();
    await dialog.getByLabel('Password', { exact: true }).waitFor();
    await proving.release();
    expect(await dialog.count()).toBe(1);
    expect(await page.getByText('demo-vendor-key').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });

  test('shows its key to root after a Security Proof, and hides it again', async () => {
    const created = await listed('First channel');
    const page = await openAsRoot(`/channels/${created?.id}?tab=settings`);
    await waitForText(page, 'Ends in -key');
    await page.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: 'Show key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Password', { exact: true }).fill('not the password');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    await waitForText(page, 'demo-vendor-key');
    await page.getByRole('button', { name: 'Hide key' }).click();
    expect(await page.getByText('demo-vendor-key').count()).toBe(0);
  });

  test.each(['credential', 'balance'])('paused for its %s, it leads to the dialog of its key', async (reason) => {
    const limits = { max_running: 5 };
    const id = await root().createChannel(vendor.url, { name: 'Paused', models: ['rested'], limits });
    const page = await openAsRoot('/channels');
    const now = Math.floor(Date.now() / 1000);
    const rest = { rest_reason: reason, resting_since: now - 60, resting_until: now + 600, rest_step: 1 };
    const path = `**/api/channel/${id}`;
    await page.route(path, async (route) => {
      const { data } = await (await route.fetch()).json();
      const credentials = data.capacity.credentials.map((key: object) => ({ ...key, ...rest }));
      const capacity = { ...data.capacity, ...rest, credentials };
      await route.fulfill({ json: { success: true, data: { ...data, capacity } } });
    });
    await page.goto(`${origin()}/channels/${id}`);
    await page.getByRole('button', { name: 'Try again now' }).waitFor();
    await page.getByRole('link', { name: 'Replace key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit key' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('table', { name: 'Keys' }).getByText('0 of 5', { exact: true }).waitFor();
    await page.unroute(path);
    await root().call('DELETE', `/api/channel/${id}`);
  });

  test('is deleted after a confirmation that says what breaks', async () => {
    const created = await root().createChannel(vendor.url, { name: 'Going', models: ['only-here'] });
    const page = await openAsRoot(`/channels/${created}`);
    const remove = async () => {
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Delete channel' }).click();
    };
    await remove();
    const dialog = page.getByRole('dialog', { name: 'Delete “Going”?' });
    await dialog.getByText(/Requests for them will be rejected: only-here/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await remove();
    await dialog.getByRole('button', { name: 'Delete channel' }).click();
    await heading(page, 'Channels').waitFor();
    expect(await listed('Going')).toBeUndefined();
  });

  test('concurrent changes by others are kept', async () => {
    const id = await root().createChannel(vendor.url, { name: 'Shared' });
    const page = await openAsRoot(`/channels/${id}?tab=settings`);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Renamed');
    await root().call('PUT', `/api/channel/${id}`, { weight: 9, status: 2 });
    await page.getByRole('button', { name: 'Save' }).click();
    await heading(page, 'Renamed').waitFor();
    expect(await root().call('GET', `/api/channel/${id}`)).toMatchObject({ name: 'Renamed', weight: 9, status: 2 });
    await root().call('DELETE', `/api/channel/${id}`);
  });

  test('that does not exist shows a not-found page with a link to the list', async () => {
    const page = await openAsRoot('/channels/nothing');
    for (const id of ['nothing', '99999']) {
      await page.goto(`${origin()}/channels/${id}`);
      await alert(page).getByText('Channel not found').waitFor();
    }
    expect(await findPageIssues(page)).toEqual([]);
    await page.getByRole('link', { name: 'All channels' }).click();
    await heading(page, 'Channels').waitFor();
  });
});

test('an administrator edits channels and sees no stored key', async () => {
  const created = await listed('First channel');
  const { page } = await openAs({ username: 'ada', password }, `/channels/${created?.id}?tab=settings`, {
    viewport: screens.desktop,
  });
  await heading(page, 'First channel').waitFor();
  await page.getByLabel('Weight').fill('5');
  await page.getByRole('button', { name: 'Save' }).click();
  await waitForNotice(page, 'Saved');
  await page.getByRole('button', { name: /^Actions for/ }).click();
  await page.getByRole('menuitem', { name: 'Disable' }).waitFor();
  expect(await page.getByRole('menuitem', { name: 'Show key' }).count()).toBe(0);
});
