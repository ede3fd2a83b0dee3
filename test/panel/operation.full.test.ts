/** The audit log and the system page in the browser. */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import {
  findPageIssues,
  heading,
  password,
  screens,
  setOptions,
  usePanel,
  waitForRows,
  waitForText,
} from './harness.ts';

const { gateway, origin, openAs, sharedRootPage } = usePanel(async (admin) => {
  const id = await admin.createChannel('http://127.0.0.1:4010', { name: 'A channel' });
  await admin.call('PUT', `/api/channel/${id}`, { weight: 5, name: 'Another name' });
  await setOptions(admin, { SystemName: 'House of films' });
  await admin.createUser({ username: 'ada', role: 10 });
});

async function visit(path: string): Promise<Page> {
  const page = await sharedRootPage();
  await page.goto(`${origin()}${path}`);
  return page;
}

describe('the audit log', () => {
  test('shows who did what, from where, with old and new values', async () => {
    const page = await visit('/audit');
    const row = page.getByRole('row', { name: /root changed a channel/ });
    // The authentication method is shown only where it is not the panel.
    await page
      .getByRole('row', { name: /root signed in/ })
      .getByText('Password', { exact: true })
      .first()
      .waitFor();
    await row.getByText('127.0.0.1', { exact: true }).waitFor();
    // Once a day, however many entries it has.
    const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' }).format(new Date());
    expect(await page.getByRole('rowheader').allInnerTexts()).toContain(day);
    await row.getByText('Name: A channel → Another name · Weight: 1 → 5').waitFor();
    await row.getByRole('button', { name: /^Details of changed a channel/ }).click();
    await row.locator('del').first().waitFor();
    expect((await row.locator('del').allTextContents()).sort()).toEqual(['Before 1', 'Before A channel']);
    expect((await row.locator('ins').allTextContents()).sort()).toEqual(['After 5', 'After Another name']);
    expect(await findPageIssues(page)).toEqual([]);
    await row.getByRole('link', { name: 'Another name' }).click();
    await heading(page, 'Another name').waitFor();
  });

  test('is filtered by user, event, time and object, with the filters in the URL', async () => {
    const page = await visit('/audit');
    await page.getByRole('combobox', { name: 'Event' }).click();
    expect(await page.getByRole('listbox').evaluate((list: HTMLElement) => list.offsetWidth)).toBeGreaterThan(280);
    await page.getByRole('option', { name: 'Created a channel', exact: true }).click();
    await waitForRows(page, 1);
    await page.getByRole('combobox', { name: 'Event' }).click();
    await page.getByRole('option', { name: 'Settings: all events' }).click();
    await waitForRows(page, 1);
    await waitForText(page, 'root changed a setting');
    await page.getByRole('combobox', { name: 'Period' }).click();
    await page.getByRole('option', { name: 'Last 24 hours' }).click();
    await waitForRows(page, 1);
    expect(new URL(page.url()).search).toBe('?action=option.&range=day');
    await page.getByLabel('User').fill('ada');
    await waitForText(page, 'No matches');
    await page.getByRole('button', { name: 'Clear search and filters' }).click();
    await waitForText(page, 'root created a channel');
    const row = page.getByRole('row', { name: /root changed a channel/ });
    await row.hover();
    await row.getByRole('link', { name: 'History' }).click();
    await waitForRows(page, 2);
    expect(new URL(page.url()).search).toBe('?target=channel%3A1');
    await page.getByRole('button', { name: /History.*Another name/ }).click();
    await waitForText(page, 'root changed a setting');
  });
});

describe('the system page', () => {
  test('shows nodes, queues, sandbox, database, ledger and limits', async () => {
    const page = await visit('/system');
    // The same judgement as on the home page.
    await page
      .getByRole('region', { name: 'Needs attention' })
      .getByText(/issues? needs? attention/)
      .waitFor();
    await waitForText(page, 'this node');
    for (const text of ['Unfinished tasks', 'Sandbox processes', 'SQLite', 'TASK_POLL_INTERVAL_SECONDS']) {
      await waitForText(page, text);
    }
    await waitForText(page, 'All balances match their entries.');
    await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Limits' }).click();
    expect(new URL(page.url()).hash).toBe('#limits');
    await until('the limits are in sight', () =>
      page.getByRole('region', { name: 'Limits' }).evaluate((part) => part.getBoundingClientRect().top < innerHeight),
    );
    expect(await findPageIssues(page)).toEqual([]);
  });

  test('takes one node of several out of service, and puts it back', async () => {
    const store = new Database(join(gateway().dataDir, 'taskgate.db'));
    store.run(
      `insert into nodes (id, role, version, started_at, heartbeat_at, fingerprints, host)
        values ('beside', 'worker', '0.1.0', unixepoch(), unixepoch() + 20, '[]', 'gate-2')`,
    );
    store.close();
    const page = await visit('/system');
    const row = page.getByRole('row', { name: /gate-2/ });
    await row.getByRole('button', { name: 'Take out of service' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take out of service' }).click();
    await row.getByText('Out of service').waitFor();
    expect(await findPageIssues(page)).toEqual([]);
    await row.getByRole('button', { name: 'Put back into service' }).click();
    await row.getByText('Up', { exact: true }).waitFor();
  });

  test('is for root only', async () => {
    const { page } = await openAs({ username: 'ada', password }, '/system', { viewport: screens.desktop });
    await heading(page, 'Page not found').waitFor();
  });
});
