/** The jobs of a new user, a client and an operator, by the keyboard alone: no test clicks. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { heading, password, usePanel, waitForFocus, waitForText, waitForValue } from './harness.ts';

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

const panel = usePanel(async (root) => {
  await root.createChannel(vendor.url);
  await root.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' });
  await root.createUser({ username: 'grace', password, quota: 5_000_000 });
});

/** More controls than a page has before the ones that its jobs need. */
const MOST_STEPS = 120;

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

/** Moves the focus with the Tab key until it is on the control, and checks that it is shown. */
async function tabTo(page: Page, control: Locator): Promise<void> {
  await control.first().waitFor();
  for (let step = 0; step < MOST_STEPS; step++) {
    await page.keyboard.press('Tab');
    const focused = control.and(page.locator(':focus'));
    if ((await focused.count()) === 0) continue;
    expect(await focused.evaluate((element) => element.matches(':focus-visible'))).toBe(true);
    return;
  }
  throw new Error(`${control} is not reached with the Tab key`);
}

async function press(page: Page, control: Locator): Promise<void> {
  await tabTo(page, control);
  await page.keyboard.press('Enter');
}

async function type(page: Page, field: Locator, text: string): Promise<void> {
  await tabTo(page, field);
  await page.keyboard.press('Control+a');
  await page.keyboard.type(text);
}

/** Goes to a page by the command palette. */
async function goTo(page: Page, name: string): Promise<void> {
  await page.keyboard.press('Control+k');
  const search = page.getByRole('combobox', { name: 'Search' });
  await until('the palette has the focus', () => search.evaluate((field) => field === document.activeElement));
  await page.keyboard.type(name);
  await page.getByRole('option', { name, exact: true, selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await heading(page, name).waitFor();
}

async function signIn(username: string): Promise<Page> {
  const { page } = await panel.openPooled();
  await page.goto(`${panel.origin()}/sign-in`);
  await type(page, page.getByLabel('Username or email'), username);
  await type(page, page.getByLabel('Password', { exact: true }), password);
  await page.keyboard.press('Enter');
  // The page takes the focus once it is drawn.
  await waitForFocus(page.getByRole('heading', { level: 1 }));
  return page;
}

test('a new user sets up the gateway, makes a first video and opens the panel', async () => {
  const gateway = await panel.start();
  const { page } = await panel.openPooled({ at: gateway.url });
  const { pathname, hash } = new URL(String(gateway.setupUrl));
  await page.goto(`${gateway.url}${pathname}${hash}`);
  await waitForText(page, 'Setup link found');
  await type(page, page.getByLabel('Password', { exact: true }), password);
  await press(page, button(page, 'Create account'));
  await press(page, button(page, 'Create your first video'));
  await heading(page, 'Your first video').waitFor();
  await press(page, page.getByRole('link', { name: 'Open the panel' }));
  await button(page, /^Account of /).waitFor();
});

test('a client signs in, runs a task, opens it and creates an API key', async () => {
  const page = await signIn('grace');
  await goTo(page, 'Playground');
  await type(page, page.getByLabel('Prompt'), 'a red kite [duration=0.2]');
  await page.getByRole('button', { name: /^Run( ·|$)/, disabled: false }).waitFor();
  await page.keyboard.press('Control+Enter');
  await page.locator('video').waitFor();

  await goTo(page, 'Tasks');
  await press(page, page.getByRole('link', { name: /a red kite/ }));
  await page.waitForURL(/\/tasks\/task_/);
  await tabTo(page, button(page, /^Run again/));

  await goTo(page, 'API keys');
  await press(page, page.getByRole('link', { name: 'New API key' }));
  await type(page, page.getByLabel('Name', { exact: true }), 'a laptop');
  await press(page, button(page, 'Create key'));
  await heading(page, '“a laptop” is ready').waitFor();
});

test('an operator adds a channel, sets a price and adds to a balance', async () => {
  const page = await signIn(ROOT.username);
  await goTo(page, 'Channels');
  await press(page, page.getByRole('link', { name: 'Add channel' }).or(button(page, 'Add channel')));
  const chosen = page.getByRole('combobox', { name: 'Vendor' });
  await type(page, chosen, 'demo');
  await page.getByRole('option', { name: /Demo vendor/ }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await waitForValue(page.getByLabel('Name'), 'Demo vendor');
  await type(page, page.getByLabel('Name'), 'By keyboard');
  await type(page, page.getByLabel('Base URL'), vendor.url);
  await type(page, page.getByLabel(/^Key/), 'vendor-key-0123456789');
  await press(page, button(page, 'Add channel'));
  await page.getByRole('link', { name: 'By keyboard' }).or(heading(page, 'By keyboard')).first().waitFor();

  await goTo(page, 'Prices');
  await press(page, button(page, 'Add price'));
  const dialog = page.getByRole('dialog');
  await type(page, dialog.getByLabel('Model', { exact: true }), 'demo-video');
  await page.keyboard.press('Escape');
  await type(page, dialog.getByLabel('Price in USD', { exact: true }), '0.03');
  await press(page, dialog.getByRole('button', { name: 'Save' }));
  await dialog.waitFor({ state: 'hidden' });

  await goTo(page, 'Users');
  await press(page, page.getByRole('link', { name: 'grace' }));
  await press(page, button(page, 'Change balance'));
  await type(page, dialog.getByLabel('Amount'), '12.5');
  await press(page, dialog.getByRole('button', { name: /\$12\.50$/ }));
  await dialog.waitFor({ state: 'hidden' });
});
