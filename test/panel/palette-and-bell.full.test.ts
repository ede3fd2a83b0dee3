/** Search and commands by the keyboard, and the bell. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { testInFullRun } from '../support/full-run.ts';
import { ask, ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import {
  findAxeViolations,
  heading,
  password,
  screens,
  signInAsRoot,
  usePanel,
  waitForFocus,
  waitForText,
  waitForValue,
} from './harness.ts';

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

let key = '';
const panel = usePanel(async (root) => {
  await root.createChannel(vendor.url);
  await root.createUser({ username: 'grace' });
  key = await root.createKey();
});

const option = (page: Page, name: string | RegExp) => page.getByRole('option', { name });

async function search(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search' }).fill(text);
}

test('Ctrl+K finds pages, users, settings and tasks; j and k walk a list; ? lists the shortcuts', async () => {
  const { status } = await ask(`${panel.origin()}/v1/tasks/demo`, {
    token: key,
    body: { model: 'demo-video', prompt: 'a paper boat at dawn', seconds: 4 },
  });
  expect(status).toBeLessThan(300);
  const { page } = await panel.openAs(ROOT, '/keys', { viewport: screens.desktop });
  await heading(page, 'API keys').waitFor();

  await search(page, 'audit');
  await page.getByRole('option', { name: 'Audit log', exact: true }).waitFor();
  expect(await findAxeViolations(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await heading(page, 'Audit log').waitFor();

  await search(page, 'grace');
  await option(page, /^grace/).click();
  await page.waitForURL(/\/users\/\d+/);
  // It takes the focus when it is there.
  await heading(page, 'grace').waitFor();

  await search(page, 'SMTPServer');
  await option(page, /SMTPServer/).waitFor();
  await page.keyboard.press('Escape');

  const users = page.getByRole('navigation').getByRole('link', { name: 'Users' });
  await users.focus();
  await search(page, 'demo-video');
  await option(page, 'demo-video Demo vendor').locator('mark', { hasText: 'demo-video' }).waitFor();
  // A task that was found by its model says so.
  await option(page, /paper boat at dawn demo-video/).waitFor();
  await page.keyboard.press('Escape');
  await waitForFocus(users);

  await search(page, 'paper boat');
  await option(page, /paper boat at dawn/).click();
  await page.waitForURL(/\/tasks\/task_/);

  await page.goto(`${panel.origin()}/users`);
  await page.getByRole('row').nth(2).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const inRow = () => page.evaluate(() => document.activeElement?.closest('tr') && document.activeElement.textContent);
  const second = await inRow();
  await page.keyboard.press('k');
  expect(await inRow()).not.toBe(second);
  await page.keyboard.press('j');
  expect(await inRow()).toBe(second);
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/users\/\d+/);
  await page.goBack();
  await page.getByRole('row').nth(2).waitFor();
  await page.keyboard.press('j');
  expect(await inRow()).toBe(second);
  await page.keyboard.press('/');
  await waitForFocus(page.getByRole('searchbox', { name: 'Search' }));
  await page.getByRole('heading', { level: 1 }).focus();

  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  expect(await findAxeViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
});

testInFullRun('letters typed while the palette loads are its own, and Ctrl+Enter runs nothing behind it', async () => {
  const { page, apiCalls } = await panel.open({ viewport: screens.desktop });
  const { promise: wanted, resolve: release } = Promise.withResolvers<void>();
  await page.route('**/assets/command-palette-*.js', async (route) => {
    await wanted;
    await route.continue();
  });
  await signInAsRoot(page, panel.origin());
  await page.goto(`${panel.origin()}/playground?model=demo-video`);
  const prompt = page.getByLabel('Prompt');
  await prompt.fill('a kite');
  await page.getByRole('button', { name: /^Run( ·|$)/, disabled: false }).waitFor();
  await prompt.focus();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('audi');
  await page.keyboard.press('Control+Enter');
  expect(await prompt.inputValue()).toBe('a kite');
  release();
  const search = page.getByRole('combobox', { name: 'Search' });
  await waitForValue(search, 'audi');
  await page.keyboard.type('t');
  await waitForValue(search, 'audit');
  await option(page, 'Audit log').first().waitFor();
  await page.keyboard.press('Escape');
  await waitForFocus(prompt);
  expect(apiCalls).not.toContain('POST /api/task');
});

test('the palette and the bell show a user only what is theirs', async () => {
  const { page } = await panel.openAs({ username: 'grace', password }, '/tasks', { viewport: screens.phone });
  await heading(page, 'Tasks').waitFor();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await search(page, 'audit');
  await waitForText(page, 'Nothing found');
  await page.getByRole('combobox', { name: 'Search' }).fill('boat');
  await waitForText(page, 'Nothing found');
  expect(asked.filter((path) => path === '/api/user' || path === '/api/channel' || path === '/api/attention')).toEqual(
    [],
  );
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Notifications' }).click();
  await waitForText(page, 'Finished tasks appear here.');
});

test('the bell counts what needs attention and tasks that ended, until it was opened', async () => {
  await until('the task has ended', async () => {
    const { items } = await panel.root().call<{ items: { finish_time: number }[] }>('GET', '/api/task');
    return (items[0]?.finish_time ?? 0) > 0;
  });
  const { page } = await panel.openAs(ROOT, '/keys', { viewport: screens.desktop });
  await page.getByRole('button', { name: /^Notifications, new: \d+$/ }).click();
  await page.getByRole('heading', { level: 2, name: 'Needs attention' }).waitFor();
  // Each leads to where it is fixed.
  const leads = await page.getByRole('dialog').getByRole('link').first().getAttribute('href');
  expect(leads).toMatch(/^\/(channels|plugins|prices|settings|system)/);
  await until('the task is listed', async () => (await page.getByText('a paper boat at dawn').count()) > 0);
  expect(await findAxeViolations(page)).toEqual([]);
  await page.getByText('a paper boat at dawn').click();
  await page.waitForURL(/\/tasks\/task_/);
  await page.getByRole('button', { name: 'Notifications', exact: true }).waitFor();
});
