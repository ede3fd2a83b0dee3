/** Late or lost answers while the user has moved on. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { ask, startVendor, type VendorProcess } from '../support/gateway.ts';
import { confirmWithPassword, heading, password, screens, usePanel, waitForNotice, waitForText } from './harness.ts';
import { holdResponse } from './hold-response.ts';

let vendor: VendorProcess;
afterAll(() => vendor?.stop());

const panel = usePanel(async (root) => {
  vendor = await startVendor();
  await root.createChannel(vendor.url);
  await root.call('POST', '/api/custom-oauth-provider', {
    name: 'House login',
    slug: 'house',
    enabled: false,
    client_id: 'panel',
    client_secret: 'a-secret',
    authorization_endpoint: 'https://login.example.org/authorize',
    token_endpoint: 'https://login.example.org/token',
    user_info_endpoint: 'https://login.example.org/me',
    user_id_field: 'sub',
  });
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page) => page.getByRole('dialog');
const link = (page: Page, name: string) => page.getByRole('navigation').getByRole('link', { name });

async function openAsRoot(path: string): Promise<Page> {
  const page = await panel.sharedRootPage();
  await page.goto(`${panel.origin()}${path}`);
  return page;
}

test('a dialog stays open while its request runs', async () => {
  const page = await openAsRoot('/users');
  await button(page, 'Add user').click();
  await dialog(page).getByLabel('Username').fill('late');
  await dialog(page)
    .getByLabel(/^Password/)
    .fill(password);
  const making = await holdResponse(page, '**/api/user', 'POST');
  await dialog(page).getByRole('button', { name: 'Add user' }).click();
  await making.answered;
  await page.keyboard.press('Escape');
  expect(await dialog(page).getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
  await making.release();
  await heading(page, 'late').waitFor();
  expect(await dialog(page).count()).toBe(0);
});

test('a page whose code is on its way says so, and the former page stays', async () => {
  const { page } = await panel.openAs({ username: 'root', password }, '/');
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/assets/adminPages-*', async (route) => {
    await held;
    await route.continue();
  });
  await link(page, 'Users').click();
  await page.getByRole('progressbar', { name: 'Loading' }).waitFor();
  await heading(page, 'Home').waitFor();
  release();
  await heading(page, 'Users').waitFor();
  await page.getByRole('progressbar').waitFor({ state: 'detached' });
});

describe('after leaving the page', () => {
  test('a late answer does not navigate', async () => {
    await panel.root().createKey({ name: 'Nightly' });
    const page = await openAsRoot('/keys');
    await page.getByRole('link', { name: 'Nightly', exact: true }).click();
    const deleting = await holdResponse(page, '**/api/token/*', 'DELETE');
    await button(page, 'Delete key').click();
    await dialog(page).getByRole('button', { name: 'Delete key' }).click();
    await deleting.answered;
    await link(page, 'Tasks').click();
    await heading(page, 'Tasks').waitFor();
    await deleting.release();
    await waitForNotice(page, '“Nightly” was deleted.');
    expect(new URL(page.url()).pathname).toBe('/tasks');
  });

  test('its confirmation is cancelled', async () => {
    await panel.root().createKey({ name: 'Kept' });
    const page = await openAsRoot('/keys');
    await page.getByRole('link', { name: 'Kept', exact: true }).click();
    await button(page, 'Delete key').click();
    await dialog(page).getByRole('button', { name: 'Delete key' }).waitFor();
    await page.goBack();
    await heading(page, 'API keys').waitFor();
    await dialog(page).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Kept', exact: true }).waitFor();
  });

  test('a proof request started there opens no dialog', async () => {
    const page = await openAsRoot('/channels');
    await page.getByRole('link', { name: 'demo' }).first().click();
    await page.getByRole('tab', { name: 'Settings' }).click();
    const asking = await holdResponse(page, '**/api/verify?*', 'GET');
    await page.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: 'Show key' }).click();
    await asking.answered;
    await link(page, 'Tasks').click();
    await heading(page, 'Tasks').waitFor();
    await asking.release();
    expect(await dialog(page).count()).toBe(0);
  });
});

describe('what is shown once', () => {
  test('a token is shown at once, before the refetch', async () => {
    await panel.root().createUser({ username: 'pat' });
    const { page, apiCalls } = await panel.openAs({ username: 'pat', password }, '/security', {
      viewport: screens.desktop,
    });
    const area = page.getByRole('region', { name: 'Personal access token' });
    await area.getByRole('button', { name: 'Create token' }).waitFor();
    const reading = await holdResponse(page, '**/api/user/token', 'GET');
    await area.getByRole('button', { name: 'Create token' }).click();
    await reading.answered;
    apiCalls.length = 0;
    const token = await area.locator('code').innerText();
    // The request was neither cancelled nor repeated.
    expect(apiCalls).not.toContain('GET /api/user/token');
    expect((await ask(`${panel.origin()}/api/user/self`, { token })).status).toBe(200);
    await reading.release();
    await area.getByRole('button', { name: 'Replace token' }).waitFor();
    expect(await area.locator('code').innerText()).toBe(token);
  });

  test('a key being created cannot be left by Cancel', async () => {
    const page = await openAsRoot('/keys/new');
    await page.getByLabel('Name', { exact: true }).fill('Seen');
    const making = await holdResponse(page, '**/api/token', 'POST');
    await button(page, 'Create key').click();
    await making.answered;
    await page.getByRole('link', { name: 'Cancel' }).click({ force: true });
    await making.release();
    await heading(page, '“Seen” is ready').waitFor();
  });
});

describe('failed refetches', () => {
  const refuse = (page: Page, path: string) =>
    page.route(path, (route) =>
      route.fulfill({ status: 400, json: { success: false, code: 'STRANGE', message: 'No luck.' } }),
    );

  test('a failed attention query does not look as if all were well', async () => {
    const page = await openAsRoot('/tasks');
    await refuse(page, '**/api/attention');
    await link(page, 'Home').click();
    await heading(page, 'Home').waitFor();
    await page.getByRole('alert').getByText('No luck.').waitFor();
    await page.unroute('**/api/attention');
  });

  test('a running task shows the error and keeps its data', async () => {
    const { body: task } = await ask(`${panel.gateway().url}/v1/tasks/demo`, {
      token: await panel.root().createKey(),
      body: { model: 'demo-video', prompt: 'a paper boat [duration=6000]' },
    });
    const page = await openAsRoot(`/tasks/${task.id}`);
    await waitForText(page, 'a paper boat');
    await page.route(`**/api/task/${task.id}/events`, (route) => route.abort());
    await refuse(page, `**/api/task/${task.id}`);
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.getByRole('alert').getByText('No luck.').waitFor();
    await waitForText(page, 'a paper boat');
    await page.unroute(`**/api/task/${task.id}`);
    await page.unroute(`**/api/task/${task.id}/events`);
    await page.getByRole('alert').getByText('No luck.').waitFor({ state: 'detached' });
  });
});

test('a deleted provider disappears from a cached list', async () => {
  const page = await openAsRoot('/settings/providers');
  await page.getByRole('link', { name: 'House login' }).click();
  await heading(page, 'House login').waitFor();
  await button(page, 'More').click();
  await page.getByRole('menuitem', { name: 'Delete provider' }).click();
  await dialog(page).getByRole('button', { name: 'Delete provider' }).click();
  await confirmWithPassword(page);
  await waitForText(page, 'No custom providers');
});
