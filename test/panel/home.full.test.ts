/** The home page in the browser, with the compiled binary and the demo vendor. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { testInFullRun } from '../support/full-run.ts';
import { startVendor, type VendorProcess } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { until } from '../support/until.ts';
import {
  accountMenu,
  findAxeViolations,
  findOverflow,
  heading,
  password,
  screens,
  usePanel,
  waitForCount,
  waitForFocus,
  waitForNotice,
  waitForText,
} from './harness.ts';

let vendor: VendorProcess;

const panel = usePanel(
  async (root) => {
    vendor = await startVendor();
    await root.createUser({ username: 'nina' });
  },
  { TASK_POLL_INTERVAL_SECONDS: '1' },
);
afterAll(() => vendor?.stop());

async function open(username: string, options: Parameters<typeof panel.openAs>[2] = {}): Promise<Page> {
  const { page } = await panel.openAs({ username, password }, '/', options);
  await accountMenu(page, username).waitFor();
  await heading(page, 'Home').waitFor();
  return page;
}

const steps = (page: Page) => page.getByRole('region', { name: 'Get started' });

describe('an empty gateway', () => {
  testInFullRun('guides a new user to a first result', async () => {
    const page = await open('nina');
    expect(await page.title()).toBe('Home · Taskgate');
    await steps(page).getByRole('link', { name: 'Open playground' }).waitFor();
    await steps(page)
      .getByText(`curl ${panel.gateway().url.replace('127.0.0.1', 'localhost')}/v1/models`)
      .waitFor();
    await waitForText(page, '$0.00');
    // Users see nothing about the gateway itself.
    for (const name of ['Add channel', 'Everyone', 'Needs attention']) {
      expect(await page.getByText(name).count()).toBe(0);
    }
    expect(await findAxeViolations(page)).toEqual([]);
    await steps(page).getByRole('link', { name: 'Create key' }).click();
    await page.waitForURL(`${panel.origin()}/keys/new`);
  });

  test('shows administrators the channel as the first step, and unsafe settings', async () => {
    const page = await open('root', { viewport: screens.phone, colorScheme: 'dark' });
    await steps(page).getByRole('link', { name: 'Add channel' }).waitFor();
    const attention = page.getByRole('region', { name: 'Needs attention' });
    // Only this machine reaches it, until a proxy forwards a request.
    expect(await attention.count()).toBe(0);
    await fetch(`${panel.gateway().url}/livez`, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    await page.reload();
    await attention.getByText(/issues need attention/).waitFor();
    await attention.getByRole('heading', { name: /^TRUSTED_PROXIES is not set, so others/ }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    expect(await findOverflow(page)).toBe(0);
    // A button that moves between press and release is not clicked, so wait until the page has
    // loaded.
    await attention.getByRole('link', { name: 'Set address: No public address set' }).press('Enter');
    await page.waitForURL(`${panel.origin()}/settings/gateway#option-ServerAddress`);

    await page.goto(panel.origin());
    await steps(page).getByRole('button', { name: 'Use the built-in demo' }).click();
    await waitForNotice(page, 'The demo channel is ready. Try one of its models.');
    await steps(page).getByRole('link', { name: 'Add channel' }).waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Hide getting started' }).click();
    await steps(page).waitFor({ state: 'detached' });
    await page.reload();
    await waitForText(page, 'No tasks in this period');
    expect(await steps(page).count()).toBe(0);
  });
});

describe('a gateway with tasks', () => {
  test('shows figures, charts with tables, and what needs attention', async () => {
    const root = panel.root();
    const [demo] = (await root.call<{ items: { id: number }[] }>('GET', '/api/channel')).items;
    if (demo) await root.call('DELETE', `/api/channel/${demo.id}`);
    await root.createChannel(vendor.url);
    const price = { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' };
    await root.call('PUT', '/api/price', price);
    const key = await root.createKey();
    for (const prompt of ['one', 'two', 'three [fail]']) {
      const { body } = await submit(panel.gateway().url, key, { prompt: `${prompt} [duration=0.2]`, seconds: 5 });
      await waitForEnd(panel.gateway().url, key, String(body.id));
    }
    await submit(panel.gateway().url, key, { prompt: 'four [duration=600]' });
    await until('the figures are read again', async () => {
      const { totals } = await root.call<{ totals: { running: number } }>('GET', '/api/stats');
      return totals.running === 1;
    });

    const page = await open('root');
    await waitForText(page, '2 succeeded');
    expect(await steps(page).count()).toBe(0);
    await waitForText(page, '66.7%');
    await waitForText(page, '$0.20');
    const attention = page.getByRole('region', { name: 'Needs attention' });
    // Data and who gets in come first.
    await attention.getByRole('button', { name: /^Show \d+ more$/ }).click();
    await attention.getByText('Models without a price').waitFor();
    const results = page.getByRole('region', { name: 'Latest results' });
    await waitForCount(results.getByRole('listitem'), 2);
    // Administrators see everyone until they choose otherwise.
    const spenders = page.getByRole('table', { name: 'Top spenders' });
    expect(await spenders.getByRole('link', { name: 'root' }).getAttribute('href')).toBe(
      '/users/1?tab=spend&period=30d',
    );
    await page.getByText('Mine', { exact: true }).click();
    await spenders.waitFor({ state: 'detached' });
    await page.goto(panel.origin());
    await page.locator('dl').getByText('Balance').waitFor();

    await page.getByRole('img', { name: /^Stacked bars: 2 succeeded and 1 failed tasks in 30 days/ }).waitFor();
    await page.locator('.recharts-bar-rectangle path').first().waitFor();
    const activity = page.getByRole('region', { name: 'Activity' });
    // A part of the chart alone.
    await activity.getByRole('button', { name: /^Failed/ }).click();
    await activity.getByRole('button', { name: /^Failed/, pressed: true }).waitFor();
    await activity.getByText('Spent', { exact: true }).click();
    await activity.getByRole('button', { name: /^demo-video\s*\$0\.20$/ }).waitFor();
    // A chosen model is that of the whole page, and of its address.
    await activity.getByRole('button', { name: /^demo-video/ }).click();
    await activity.getByRole('button', { name: /^demo-video/, pressed: true }).waitFor();
    const only = page.getByRole('list', { name: 'Filters' }).getByRole('button', { name: /^Model\s*demo-video/ });
    await only.waitFor();
    expect(new URL(page.url()).searchParams.get('model')).toBe('demo-video');
    await waitForText(page, '2 succeeded');
    await only.click();
    await only.waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.has('model')).toBe(false);
    await activity.getByText('Table', { exact: true }).click();
    await activity.getByRole('cell', { name: '$0.20' }).waitFor();
    // Summed over all days: a test may start on one day and end on the next.
    const cells = await activity.getByRole('table').getByRole('cell').allTextContents();
    const addUp = (column: number) =>
      cells.filter((_, at) => at % 4 === column).reduce((sum, count) => sum + Number(count), 0);
    expect([1, 2].map(addUp)).toEqual([2, 1]);
    await page.getByRole('table', { name: 'Model speed' }).getByRole('cell', { name: 'demo-video' }).waitFor();

    // One failure of one's own says nothing of a model.
    const failing = page.getByRole('table', { name: 'Failures' });
    expect(await failing.count()).toBe(0);

    await page.getByText('7 days', { exact: true }).click();
    await page.getByText('Everyone', { exact: true }).click();
    await failing.getByRole('link', { name: 'demo-video' }).waitFor();
    // Beside the spenders there is room for a line below each name; below them for columns.
    // Reasons are read once the table is looked at, which charts above may push down until then.
    await until('the reason is read', async () => {
      await failing.scrollIntoViewIfNeeded();
      return failing.getByText('The video could not be generated.').isVisible();
    });
    await page.setViewportSize({ width: 1100, height: 900 });
    const reason = failing.getByRole('link', { name: 'The video could not be generated.' });
    expect(new URL((await reason.getAttribute('href')) ?? '', panel.origin()).searchParams.get('model')).toBe(
      'demo-video',
    );
    await page.getByRole('radiogroup', { name: 'Failures' }).getByText('Channels', { exact: true }).click();
    await failing.getByRole('columnheader', { name: 'Channel' }).waitFor();
    expect(await failing.getByRole('link').first().getAttribute('href')).toMatch(/^\/channels\/\d+$/);
    expect(new URL(page.url()).search).toBe('?days=7&scope=all');
    // The reader's own balance is not among everybody's figures.
    await page.locator('dl').getByText('Balance').waitFor({ state: 'detached' });
    await spenders.waitFor();
    await page.getByRole('link', { name: 'View', exact: true }).click();
    await page.waitForURL(`${panel.origin()}/tasks?scope=all`);
  });

  testInFullRun('a focused button keeps the focus while figures change', async () => {
    const page = await open('root');
    let message = '20 tasks are overdue';
    await page.route('**/api/attention', (route) => {
      const item = { code: 'tasks_overdue', severity: 'error', target: { kind: 'system', id: null }, message };
      return route.fulfill({ json: { success: true, data: [item] } });
    });
    await page.clock.install();
    await page.reload();
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await attention.getByText(message).waitFor();
    await attention.getByRole('link').focus();
    message = '21 tasks are overdue';
    await page.clock.runFor(61_000);
    await attention.getByText(message).waitFor();
    await waitForFocus(attention.getByRole('link'));
  });

  testInFullRun(
    'has no accessibility violation and no overflow on desktop and phone, in both colour schemes',
    async () => {
      const page = await open('root');
      for (const [viewport, colorScheme] of [
        [screens.desktop, 'light'],
        [screens.phone, 'dark'],
      ] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await page.reload();
        await page.locator('.recharts-bar-rectangle path').first().waitFor();
        expect(await findAxeViolations(page)).toEqual([]);
        expect(await findOverflow(page)).toBe(0);
      }
    },
  );
});
