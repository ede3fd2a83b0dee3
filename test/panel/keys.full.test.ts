/** API keys and usage. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { testInFullRun } from '../support/full-run.ts';
import { ask, ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import {
  alert,
  findAxeViolations,
  findOverflow,
  heading,
  password,
  screens,
  usePanel,
  waitForNotice,
  waitForText,
} from './harness.ts';

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

const panel = usePanel(async (root) => {
  await root.createChannel(vendor.url);
  await root.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: 'u("seconds") * 0.05' });
});

const field = (page: Page, label: string) => page.getByLabel(label, { exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page) => page.getByRole('dialog');

async function openAt(path: string, name: string, options: object = {}): Promise<Page> {
  const { page } = await panel.openAs(ROOT, path, { viewport: screens.desktop, ...options });
  await heading(page, name).waitFor();
  return page;
}

const submit = (key: string, body: object = {}) =>
  ask(`${panel.origin()}/v1/tasks/demo`, {
    token: key,
    body: { model: 'demo-video', prompt: 'a boat', seconds: 4, ...body },
  });

describe('API keys', () => {
  test('an empty list explains keys; a created key is shown once with a sample request', async () => {
    const id = await panel.root().createUser({ username: 'nina' });
    const { page } = await panel.openAs({ username: 'nina', password }, '/keys', { viewport: screens.desktop });
    await heading(page, 'API keys').waitFor();
    await waitForText(page, 'No API keys yet');
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'New API key' }).click();
    await heading(page, 'New API key').waitFor();
    await button(page, 'Create key').click();
    await waitForText(page, 'Enter a name.');
    await field(page, 'Name').fill('Trailer renders');
    await page.getByText('Fixed amount', { exact: true }).click();
    await button(page, 'Create key').click();
    await waitForText(page, 'Enter zero or more.');
    await field(page, 'Budget in US dollars').fill('12.5');
    await page.getByRole('button', { name: /^Webhook/ }).click();
    await field(page, 'Webhook URL').fill('nowhere');
    await button(page, 'Create key').click();
    await waitForText(page, 'Enter a URL starting with https:// or http://.');
    await field(page, 'Webhook URL').fill('');
    await button(page, 'Create key').click();
    await heading(page, '“Trailer renders” is ready').waitFor();
    const key = await page.getByRole('status').locator('code').innerText();
    expect(key).toMatch(/^sk-\w{48}$/);
    await waitForText(page, `curl '${panel.origin()}/v1/videos'`);
    for (const language of ['Python', 'JavaScript']) {
      await page.getByRole('tab', { name: language }).click();
      await page.getByRole('tabpanel').getByText(`${panel.origin()}/v1/videos`).waitFor();
    }
    expect(await findAxeViolations(page)).toEqual([]);
    expect((await ask(`${panel.origin()}/api/usage/token`, { token: key })).body.data).toMatchObject({
      name: 'Trailer renders',
      unlimited_quota: false,
      total_available: 6_250_000,
    });
    // Sent from here or from anywhere else: the page shows the key's first task.
    await panel.root().call('POST', '/api/user/manage', { action: 'add_quota', id, mode: 'add', value: 1_000_000 });
    await page.getByRole('button', { name: /^Send it now · \$0\.\d\d$/ }).click();
    await waitForText(page, 'Received your first request');
    await page.getByRole('region', { name: 'demo-video' }).waitFor();
    // Leaving while nobody has taken the key asks.
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    await dialog(page).getByText('You have not copied the key.').waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    await heading(page, '“Trailer renders” is ready').waitFor();
    await page.getByRole('link', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: /Trailer renders/ });
    await row.getByText('Active').waitFor();
    expect(await page.content()).not.toContain(key);
  });

  testInFullRun('a spending limit is chosen, shown with what is spent, and taken away', async () => {
    await panel.root().createKey({ name: 'Limited' });
    const page = await openAt('/keys', 'API keys');
    await page.getByRole('link', { name: 'Limited', exact: true }).click();
    await heading(page, 'Limited').waitFor();
    await page.getByLabel('Period', { exact: true }).selectOption('month');
    await field(page, 'US dollars').fill('0');
    const form = page.getByRole('region', { name: 'Permissions and limits' });
    await form.getByRole('button', { name: 'Save' }).click();
    await waitForText(page, 'Enter an amount above zero.');
    await field(page, 'US dollars').fill('12.5');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/of \$12\.50 spent or reserved\. Resets on/).waitFor();
    await page.getByLabel('Period', { exact: true }).selectOption('');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('spent or reserved').waitFor({ state: 'detached' });
  });

  testInFullRun('people see the spending limit of their account on their usage page', async () => {
    const root = panel.root();
    const id = await root.createUser({ username: 'frugal' });
    await root.call('PUT', '/api/user', { id, budget: { amount: 2_500_000, period: 'week' } });
    const { page } = await panel.openAs({ username: 'frugal', password }, '/usage', { viewport: screens.desktop });
    await page.getByText(/\$0\.00 of \$5\.00 spent or reserved/).waitFor();
    const { page: settings } = await panel.openAs(ROOT, '/settings/billing', { viewport: screens.desktop });
    await button(settings, 'Add spending limit').waitFor();
    expect(await button(settings, 'Add a group').count()).toBe(1);
  });

  testInFullRun('fields that the server rejects keep the input and show the reason', async () => {
    const page = await openAt('/keys/new', 'New API key');
    await field(page, 'Name').fill('Office');
    await page.getByRole('button', { name: /^Restrictions/ }).click();
    await page.getByRole('combobox', { name: 'Allowed IP addresses' }).fill('10.1');
    await page.keyboard.press('Enter');
    await button(page, 'Create key').click();
    await waitForText(page, 'Enter at most 500 IP addresses or CIDR ranges.');
    expect(await field(page, 'Name').inputValue()).toBe('Office');
    await page.getByText('10.1', { exact: true }).waitFor();
  });

  test('is changed, disabled, enabled and, after a confirmation, deleted', async () => {
    const key = await panel.root().createKey({ name: 'Nightly' });
    const page = await openAt('/keys', 'API keys');
    await page.getByRole('link', { name: 'Nightly', exact: true }).click();
    await heading(page, 'Nightly').waitFor();
    expect(await button(page, 'Save').first().isDisabled()).toBe(true);
    await field(page, 'Name').fill('Nightly renders');
    await page.getByRole('button', { name: /^Restrictions/ }).click();
    await page.getByRole('combobox', { name: 'Models' }).fill('demo-video-pro');
    await page.keyboard.press('Enter');
    await button(page, 'Save').first().click();
    await heading(page, 'Nightly renders').waitFor();
    expect((await submit(key)).status).toBe(403);

    await button(page, 'Disable').click();
    await waitForNotice(page, '“Nightly renders” was disabled.');
    expect((await submit(key, { model: 'demo-video-pro' })).status).toBe(401);
    await button(page, 'Enable').click();
    await waitForNotice(page, '“Nightly renders” was enabled.');
    await button(page, 'Delete key').click();
    await dialog(page).getByText('are rejected immediately').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    await dialog(page).waitFor({ state: 'detached' });
    await button(page, 'Delete key').click();
    await dialog(page).getByRole('button', { name: 'Delete key' }).click();
    await heading(page, 'API keys').waitFor();
    await page.getByRole('link', { name: 'Nightly renders', exact: true }).waitFor({ state: 'detached' });
    expect((await submit(key)).status).toBe(401);
  });

  test('is rotated in three clicks; the old key works on and can be stopped', async () => {
    const key = await panel.root().createKey({ name: 'Rotated' });
    const { page } = await panel.openAs(ROOT, '/', { viewport: screens.desktop });
    await page.getByRole('link', { name: 'API keys', exact: true }).click();
    await page.getByRole('link', { name: 'Rotate key: Rotated' }).click();
    await button(page, 'Rotate key').click();
    await heading(page, '“Rotated” was rotated').waitFor();
    const next = await page.getByRole('status').locator('code').innerText();
    expect(next).toMatch(/^sk-\w{48}$/);
    await page.getByRole('tabpanel').getByText(`Authorization: Bearer ${next}`).waitFor();
    for (const either of [key, next]) expect((await submit(either)).status).toBe(200);
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Rotated', exact: true }).click();
    await button(page, 'Stop old key now').click();
    await waitForNotice(page, 'The old key no longer works.');
    expect((await submit(key)).status).toBe(401);
    expect((await submit(next)).status).toBe(200);
    expect(await page.content()).not.toContain(next);
  });

  testInFullRun('whose new key never arrived is rotated again, and the key that programs use works on', async () => {
    const key = await panel.root().createKey({ name: 'Lost' });
    const page = await openAt('/keys', 'API keys');
    await page.getByRole('link', { name: 'Rotate key: Lost' }).click();
    let isLost = true;
    await page.route('**/api/token/*/rotate', async (route) => {
      if (!isLost) return route.continue();
      isLost = false;
      await route.fetch();
      await route.abort();
    });
    await button(page, 'Rotate key').click();
    await page.getByRole('radio', { name: /^The previous key/ }).check();
    await page.getByText('Choose this if you never received it.').waitFor();
    await button(page, 'Rotate key').click();
    await heading(page, '“Lost” was rotated').waitFor();
    const next = await page.getByRole('status').locator('code').innerText();
    for (const either of [key, next]) expect((await submit(either)).status).toBe(200);
  });

  testInFullRun(
    'the first webhook address creates the secret; a rotated secret is shown once and the old one still signs',
    async () => {
      await panel.root().createKey({ name: 'Hooked' });
      const page = await openAt('/keys', 'API keys');
      await page.getByRole('link', { name: 'Hooked', exact: true }).click();
      const area = page.getByRole('region', { name: 'Webhook' });
      await area.getByText('No secret yet.').waitFor();
      await field(page, 'Webhook URL').fill('https://hooks.example.org/taskgate');
      await area.getByRole('button', { name: 'Save' }).click();
      const first = await area.locator('code').innerText();
      expect(first).toMatch(/^whsec_/);
      await page.reload();
      await area.getByText('Webhooks are signed with the secret').waitFor();
      expect(await field(page, 'Webhook URL').inputValue()).toBe('https://hooks.example.org/taskgate');
      await area.getByRole('button', { name: 'Rotate secret' }).click();
      await dialog(page).getByText('stays valid for 24 hours').waitFor();
      await dialog(page).getByRole('button', { name: 'Rotate secret' }).click();
      await area.getByText('webhooks are also signed with the previous secret').waitFor();
      expect(await area.locator('code').innerText()).not.toBe(first);
    },
  );

  test('lost update: only the changed name is sent, whatever others changed since', async () => {
    const hook = 'https://hooks.example.org/renamed';
    await panel.root().createKey({ name: 'Old name', unlimited_quota: false, quota: 5_000_000 });
    const page = await openAt('/keys', 'API keys');
    await page.getByRole('link', { name: 'Old name', exact: true }).click();
    await heading(page, 'Old name').waitFor();
    const path = new URL(page.url()).pathname.replace('/keys', '/api/token');
    const area = page.getByRole('region', { name: 'Webhook' });
    await field(page, 'Webhook URL').fill(hook);
    // Tasks spend from the budget in the meantime.
    await panel.root().call('PUT', path, { quota: 1_000_000 });
    await area.getByRole('button', { name: 'Save' }).click();
    await area.locator('code').waitFor();
    await field(page, 'Name').fill('New name');
    await page.getByRole('region', { name: 'Permissions and limits' }).getByRole('button', { name: 'Save' }).click();
    await heading(page, 'New name').waitFor();
    expect(await panel.root().call('GET', path)).toMatchObject({
      name: 'New name',
      quota: 1_000_000,
      webhook_url: hook,
    });
  });

  testInFullRun('another user’s key is not found', async () => {
    const page = await openAt('/keys/999', 'API key');
    await alert(page).getByText('API key not found').waitFor();
    await alert(page).getByRole('link', { name: 'All API keys' }).click();
    await heading(page, 'API keys').waitFor();
  });

  testInFullRun(
    'a key beyond the first hundred is named in the filter of usage; deleting the last one of a page goes back',
    async () => {
      const collector = { username: 'collector', password };
      await panel.root().createUser(collector);
      const { body } = await ask(`${panel.origin()}/api/user/login`, { body: collector });
      const token = (body.data as { access_token: string }).access_token;
      for (let count = 1; count <= 101; count += 1) {
        await ask(`${panel.origin()}/api/token`, { token, body: { name: `Key ${count}` } });
      }
      const list = await ask(`${panel.origin()}/api/token?page=6`, { token });
      const [last] = (list.body.data as { items: { id: number; name: string }[] }).items;
      const { page } = await panel.openAs(collector, `/usage?key=${last?.id}`, { viewport: screens.desktop });
      await button(page, `API key ${last?.name} Remove filter`).waitFor();

      await page.goto(`${panel.origin()}/keys?page=6`);
      await button(page, `Actions for ${last?.name}`).click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      await dialog(page).getByRole('button', { name: 'Delete key' }).click();
      await page.waitForURL(/page=5/);
      await until('twenty keys', async () => (await page.getByRole('row').count()) === 21);
    },
  );

  testInFullRun('the limits stay open while the last one is removed', async () => {
    const { id } = await panel
      .root()
      .call<{ id: number }>('POST', '/api/token', { name: 'Fenced', allow_ips: ['10.0.0.1'] });
    const page = await openAt(`/keys/${id}`, 'Fenced');
    const addresses = page.getByRole('combobox', { name: 'Allowed IP addresses' });
    await addresses.press('Backspace');
    await page.getByText('10.0.0.1', { exact: true }).waitFor({ state: 'detached' });
    expect(await page.getByRole('button', { name: /^Restrictions/ }).getAttribute('aria-expanded')).toBe('true');
  });
});

describe('usage', () => {
  test('shows spending by day and model, and explains each bill', async () => {
    const key = await panel.root().createKey({ name: 'Billed' });
    const { body } = await submit(key);
    const id = String(body.id);
    await until('the task has ended', async () => {
      const { items } = await panel.root().call<{ items: { task_id: string }[] }>('GET', '/api/log');
      return items.some((row) => row.task_id === id);
    });
    const page = await openAt('/usage', 'Usage');
    await page.getByRole('img', { name: /^Bar chart: / }).waitFor();
    await page.locator('.recharts-bar-rectangle').last().waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByText('Table', { exact: true }).click();
    const days = page.getByRole('table', { name: 'Spend by day' });
    expect(await days.getByRole('row').last().innerText()).toContain('$');
    await page.getByRole('combobox', { name: 'Period' }).click();
    await page.getByRole('option', { name: 'Last 30 days' }).click();
    await page.waitForURL(/period=30d/);

    const bills = page.getByRole('table', { name: 'Charges' });
    await page.getByText('API key', { exact: true }).first().click();
    await page.getByRole('table', { name: 'Spend by API key' }).getByRole('button', { name: 'Billed' }).click();
    await page.waitForURL(/key=\d+/);
    // Below the columns' names and its day.
    await until('one charge is left', async () => (await bills.getByRole('row').count()) === 3);
    await bills.getByRole('rowheader', { name: /\$0\.20$/ }).waitFor();
    await bills.getByRole('button', { name: 'a boat' }).click();
    await dialog(page).getByRole('heading', { name: 'Charge', exact: true }).waitFor();
    await dialog(page).getByText('4 sec × $0.05 / second = $0.20').waitFor();
    await dialog(page).getByRole('button', { name: 'Formula' }).click();
    await dialog(page).getByText('u("seconds") * 0.05').first().waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await button(page, 'API key Billed Remove filter').click();
    await page.getByRole('table', { name: 'Spend by model' }).getByText('demo-video').waitFor();
    expect(page.url()).toContain('period=30d');

    await page.getByRole('combobox', { name: 'Period' }).click();
    await page.getByRole('option', { name: 'Custom dates' }).click();
    await page.waitForURL(/from=\d{4}-/);
    await field(page, 'To').fill('2020-01-01');
    await page.waitForURL(/to=2020-01-01/);
    await field(page, 'From').fill('2019-01-01');
    await waitForText(page, 'No spending in this period');
    await field(page, 'From').click({ position: { x: 16, y: 16 } });
    await page.keyboard.type('11052020');
    await page.waitForURL(/from=2020-11-05/);
    expect(await field(page, 'From').inputValue()).toBe('2020-11-05');
  });
});

testInFullRun('pages fit and are accessible on a phone in dark mode', async () => {
  await panel.root().createKey({ name: 'A key with a remarkably long name for one phone' });
  const page = await openAt('/keys', 'API keys', { viewport: screens.phone, colorScheme: 'dark' });
  for (const [path, name] of [
    ['/keys', 'API keys'],
    ['/keys/new', 'New API key'],
    ['/usage', 'Usage'],
  ] as const) {
    await page.goto(`${panel.origin()}${path}`);
    await heading(page, name).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await findOverflow(page)).toBe(0);
    expect(await findAxeViolations(page)).toEqual([]);
  }
});
