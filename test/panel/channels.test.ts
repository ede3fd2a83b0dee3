/**
 * Channels in the browser: made, tried, changed, looked into and deleted, by root and by an
 * administrator.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { startVendor, type VendorProcess } from '../support/gateway.ts';
import { alert, findFlaws, heading, password, screens, see, told, useOnePanel } from './harness.ts';

let vendor: VendorProcess;
const { origin, root, openAs, keepRootPage } = useOnePanel(async (admin) => {
  vendor = await startVendor();
  await admin.createChannel(vendor.url, { name: 'First channel', priority: 7, groups: ['default', 'vip'] });
  await admin.call('POST', '/api/user', { username: 'ada', password, role: 10 });
});
afterAll(() => vendor?.stop());

async function openAsRoot(path: string): Promise<Page> {
  const page = await keepRootPage();
  await page.goto(`${origin()}${path}`);
  return page;
}

type Channels = { items: { id: number; name: string; status: number; models: string[]; base_url: string }[] };
const listed = async (name: string) =>
  (await root().call<Channels>('GET', '/api/channel?page_size=100')).items.find((channel) => channel.name === name);

describe('the list', () => {
  test('says what each serves, and takes one out of service at once', async () => {
    const page = await openAsRoot('/channels');
    const row = page.getByRole('row', { name: /First channel/ });
    for (const text of ['Demo vendor', 'demo-video, demo-video-pro', 'default, vip', '7 / 1', '$0.00']) {
      await row.getByText(text, { exact: true }).waitFor();
    }
    const isOn = row.getByRole('switch', { name: 'First channel in service' });
    // It shows what was asked for before that is answered.
    const turn = async () => {
      const answered = page.waitForResponse((response) => response.request().method() === 'PUT');
      await isOn.click();
      expect((await answered).status()).toBe(200);
    };
    await turn();
    await page.reload();
    await row.waitFor();
    expect(await isOn.isChecked()).toBe(false);
    expect((await listed('First channel'))?.status).toBe(2);
    await turn();
    expect((await listed('First channel'))?.status).toBe(1);
    expect(await findFlaws(page)).toEqual([]);
  });
});

describe('a new channel', () => {
  test('is refused field by field, keeps what was typed, and serves with the plugin’s own defaults', async () => {
    const page = await openAsRoot('/channels/new');
    const create = page.getByRole('button', { name: 'Create channel' });
    await create.click();
    for (const text of ['Choose a plugin.', 'Enter a name.', 'Enter the key.', 'Choose at least one model.']) {
      await see(page, text);
    }
    expect(await findFlaws(page)).toEqual([]);

    await page.getByRole('combobox', { name: 'Plugin' }).fill('demo');
    await page.getByRole('option', { name: /Demo vendor/ }).click();
    expect(await page.getByLabel('Name').inputValue()).toBe('Demo vendor');
    expect(await page.getByLabel('Base address').getAttribute('placeholder')).toBe('http://127.0.0.1:4010');
    await page.getByText('demo-video-pro', { exact: true }).waitFor();

    await page.getByLabel('Base address').fill('ftp://example.org');
    await page.getByLabel(/^Key/).fill('vendor-key-0123456789');
    await create.click();
    await see(page, 'Enter an address such as https://api.example.com.');
    await page.getByLabel('Base address').fill('https://user:word@example.org');
    await create.click();
    await see(page, 'base_url must not contain credentials; put them into key.');
    expect(await page.getByLabel(/^Key/).inputValue()).toBe('vendor-key-0123456789');

    await page.getByLabel('Base address').fill('');
    await create.click();
    await told(page, '“Demo vendor” serves from now on');
    await heading(page, 'Demo vendor').waitFor();
    expect(await listed('Demo vendor')).toMatchObject({
      models: ['demo-video', 'demo-video-pro'],
      base_url: 'http://127.0.0.1:4010',
    });
  });
});

describe('one channel', () => {
  test('is tried with its steps as they happened', async () => {
    const made = await listed('First channel');
    const page = await openAsRoot(`/channels/${made?.id}`);
    await page.getByRole('button', { name: 'Run test' }).click();
    await see(page, 'Stored key');
    await see(page, 'Connection');
    await see(page, 'Credential');
    expect(await findFlaws(page)).toEqual([]);
  });

  test('key exfiltration: another address takes the key again', async () => {
    const made = await listed('First channel');
    const page = await openAsRoot(`/channels/${made?.id}`);
    const address = page.getByLabel('Base address');
    await address.fill('https://elsewhere.example');
    await see(page, 'Plugin or address are another now.');
    await page.getByRole('button', { name: 'Save' }).click();
    await see(page, 'Enter the key again: a changed plugin or address would send it somewhere else.');
    expect((await listed('First channel'))?.base_url).toBe(vendor.url);

    await page.getByRole('button', { name: 'Discard changes' }).click();
    expect(await address.inputValue()).toBe(vendor.url);
    await page.getByRole('button', { name: 'Advanced' }).click();
    await page.getByRole('button', { name: 'Add a name' }).click();
    await page.getByLabel('Name that clients use, row 1').fill('film');
    await page.getByRole('button', { name: 'Save' }).click();
    await see(page, 'Fill both names of each row, or remove it.');
    await page.getByLabel('Name at the vendor, row 1').fill('demo-video');
    await page.getByLabel('Settings of the plugin').fill('{"a": ');
    await page.getByRole('button', { name: 'Save' }).click();
    await see(page, 'This is no JSON object. Check commas and quotes.');
    await page.getByLabel('Settings of the plugin').fill('{"a": 1}');
    await page.getByRole('button', { name: 'Save' }).click();
    await told(page, 'Saved');
    expect(await root().call('GET', `/api/channel/${made?.id}`)).toMatchObject({
      model_mapping: { film: 'demo-video' },
      settings: { a: 1 },
      base_url: vendor.url,
    });
  });

  test('its key is shown to root after a proof, and hidden again', async () => {
    const made = await listed('First channel');
    const page = await openAsRoot(`/channels/${made?.id}`);
    await see(page, 'Ends in -key');
    await page.getByRole('button', { name: 'Show key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Password', { exact: true }).fill('not the password');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
    await see(page, 'demo-vendor-key');
    await page.getByRole('button', { name: 'Hide key' }).click();
    expect(await page.getByText('demo-vendor-key').count()).toBe(0);
  });

  test('is deleted after a word about what breaks', async () => {
    const made = await root().createChannel(vendor.url, { name: 'Going', models: ['only-here'] });
    const page = await openAsRoot(`/channels/${made}`);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete “Going”?' });
    await dialog.getByText(/requests for them are refused afterwards: only-here/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete channel' }).click();
    await heading(page, 'Channels').waitFor();
    expect(await listed('Going')).toBeUndefined();
  });

  test('what somebody else changes while it is edited stays', async () => {
    const id = await root().createChannel(vendor.url, { name: 'Shared' });
    const page = await openAsRoot(`/channels/${id}`);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Renamed');
    await root().call('PUT', `/api/channel/${id}`, { weight: 9 });
    await page.getByRole('switch', { name: 'Shared in service' }).press('Space');
    await see(page, 'This channel takes no new tasks.');
    await page.getByRole('button', { name: 'Save' }).click();
    await heading(page, 'Renamed').waitFor();
    expect(await root().call('GET', `/api/channel/${id}`)).toMatchObject({ name: 'Renamed', weight: 9, status: 2 });
    await root().call('DELETE', `/api/channel/${id}`);
  });

  test('that is not there says what may have become of it, and leads to the others', async () => {
    const page = await openAsRoot('/channels/nothing');
    for (const id of ['nothing', '99999']) {
      await page.goto(`${origin()}/channels/${id}`);
      await alert(page).getByText('There is no such channel').waitFor();
    }
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('link', { name: 'All channels' }).click();
    await heading(page, 'Channels').waitFor();
  });
});

test('an administrator edits channels and sees no stored key', async () => {
  const made = await listed('First channel');
  const { page } = await openAs({ username: 'ada', password }, `/channels/${made?.id}`, { viewport: screens.desk });
  await heading(page, 'First channel').waitFor();
  await page.getByLabel('Weight').fill('5');
  await page.getByRole('button', { name: 'Save' }).click();
  await told(page, 'Saved');
  expect(await page.getByRole('button', { name: 'Show key' }).count()).toBe(0);
});
