/** Lists of many tasks: choices, bulk actions, views, the gallery, and how fast they are. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { arrangeTiles, moveFocus, visibleRows } from '../../src/panel/pages/tasks/gallery/arrange-tiles.ts';
import { readListPreferences } from '../../src/panel/pages/tasks/list-preferences.ts';
import { readPeriod } from '../../src/panel/pages/tasks/read-period.ts';
import { compareBodies, readTaskBody } from '../../src/panel/pages/tasks/read-task-body.ts';
import { readViews } from '../../src/panel/pages/tasks/saved-views.tsx';
import { testInFullRun } from '../support/full-run.ts';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { until } from '../support/until.ts';
import { findPageIssues, screens, usePanel } from './harness.ts';

const TASKS = 100_000;

let vendor: VendorProcess;
const panel = usePanel(
  async (root, gateway) => {
    vendor = await startVendor();
    await root.createChannel(vendor.url, { name: 'First channel' });
    await root.call('PUT', '/api/price', {
      plugin_key: 'demo',
      model: 'demo-video',
      expression: '0.02 * u("seconds")',
    });
    const { key } = await root.call<{ key: string }>('POST', '/api/token', { name: 'tests', unlimited_quota: true });
    for (const prompt of ['a boat', 'a lost one [fail]']) {
      const { body } = await submit(gateway.url, key, { prompt: `${prompt} [duration=0.2]`, seconds: 5 });
      await waitForEnd(gateway.url, key, String(body.id));
    }
    fillWithCopies(join(gateway.dataDir, 'taskgate.db'));
  },
  { TASK_POLL_INTERVAL_SECONDS: '1' },
);
afterAll(() => vendor?.stop());

function fillWithCopies(path: string): void {
  const file = new Database(path);
  const columns = (file.query("select name from pragma_table_info('tasks')").all() as { name: string }[])
    .map(({ name }) => `"${name}"`)
    .filter((name) => name !== '"id"' && name !== '"task_id"');
  file.run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${TASKS / 2})
     insert into tasks (task_id, ${columns}) select 'task_copy' || n.i || 'of' || id, ${columns} from n, tasks`,
  );
  file.close();
}

testInFullRun('100,000 tasks paint in less than 200 ms after the answer, whatever the filter', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?scope=all');
  await page
    .getByRole('link', { name: /a boat/ })
    .first()
    .waitFor();
  const paint = (search: string) =>
    page.evaluate(async (query) => {
      const table = () => document.querySelector('table[aria-label="Tasks"]');
      const answered = new Promise<number>((resolve) => {
        new PerformanceObserver((list, observer) => {
          const entry = list.getEntries().find(({ name }) => name.includes('/api/task?')) as PerformanceResourceTiming;
          if (!entry) return;
          observer.disconnect();
          resolve(entry.responseEnd);
        }).observe({ type: 'resource' });
      });
      history.pushState({}, '', `/tasks?${query}`);
      dispatchEvent(new PopStateEvent('popstate'));
      const at = await answered;
      while (!table() || table()?.closest('[data-stale]')) await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      return performance.now() - at;
    }, search);
  const times: number[] = [];
  for (const query of ['scope=all', 'scope=all&status=SUCCESS', 'scope=all&status=FAILURE', 'scope=all&sort=cost']) {
    // The best of three pages: other work on this machine must not count.
    const rounds: number[] = [];
    for (const page of [2, 3, 4]) rounds.push(await paint(`${query}&page=${page}`));
    times.push(Math.min(...rounds));
  }
  console.info(`painted after ${times.map(Math.round).join(', ')} ms`);
  expect(Math.max(...times)).toBeLessThan(200);
});

testInFullRun('tasks are chosen and run again after their sum was confirmed, and what fails is reported', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?q=boat&status=SUCCESS');
  const choices = page.getByRole('checkbox', { name: /^Select: / });
  await choices.first().check();
  await choices.nth(1).check();
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.getByText('These runs cost $0.20 last time.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
  await page.getByText('Done: 2 of 2.').waitFor();
  await page.getByRole('button', { name: 'Close', exact: true }).last().click();

  await choices.first().check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.route('**/api/task/task_*', (route) =>
    route.fulfill({ status: 404, json: { success: false, code: 'TASK_NOT_FOUND', message: 'gone' } }),
  );
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1 of 1 processed, 1 failed:').waitFor();
  await page.unroute('**/api/task/task_*');
  await page.getByRole('button', { name: 'Retry failed' }).click();
  await page.getByText('Done: 1 of 1.').waitFor();
});

testInFullRun('the gallery draws what is on the screen, is walked by keys and scrolls smoothly', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?layout=gallery&scope=all');
  const tiles = page.locator('ul[aria-label=Tasks] button');
  await tiles.first().waitFor();
  await tiles.first().focus();
  await page.keyboard.press('ArrowRight');
  await until(
    'the next has the focus',
    async () => (await page.evaluate(() => document.activeElement?.getAttribute('data-index'))) === '1',
  );
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  const slow = await page.evaluate(async () => {
    let last = performance.now();
    let slowFrames = 0;
    let frames = 0;
    while (document.querySelectorAll('ul[aria-label=Tasks] [data-index="2000"]').length === 0 && frames < 3000) {
      scrollBy(0, 160);
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      if (now - last > 34) slowFrames += 1;
      last = now;
      frames += 1;
    }
    return {
      share: slowFrames / frames,
      frames,
      tiles: document.querySelectorAll('ul[aria-label=Tasks] button').length,
    };
  });
  console.info(`gallery: ${slow.frames} frames, ${(slow.share * 100).toFixed(1)} % of them slow`);
  expect(slow.tiles).toBeLessThan(80);
  expect(slow.share).toBeLessThan(0.1);
});

testInFullRun('list and gallery have no barrier; eight tasks fit on a phone', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?scope=all');
  await page
    .getByRole('link', { name: /a boat/ })
    .first()
    .waitFor();
  const issues = await findPageIssues(page);
  await page.setViewportSize(screens.phone);
  const rows = page.getByRole('table', { name: 'Tasks' }).getByRole('row');
  await rows.nth(9).waitFor();
  const heights = await rows.nth(9).evaluate((row) => row.getBoundingClientRect().height);
  expect(heights * 8).toBeLessThan(844 - 56);
  await page.setViewportSize(screens.desktop);
  await page.goto(`${panel.origin()}/tasks?layout=gallery`);
  await page.locator('ul[aria-label=Tasks] button').first().waitFor();
  expect([...issues, ...(await findPageIssues(page))]).toEqual([]);
});

test('tiles have one size, arrows end at the edges, and only rows near the screen are drawn', () => {
  const arrangement = arrangeTiles(100_000, 1000);
  expect(arrangement).toMatchObject({ columns: 4, rows: 25_000 });
  expect(arrangeTiles(3, 360).columns).toBe(2);
  const { start, end } = visibleRows(arrangement, arrangement.rowHeight * 500, 900);
  expect([start, end - start < 12]).toEqual([498, true]);
  expect(visibleRows(arrangeTiles(0, 1000), 0, 900)).toEqual({ start: 0, end: 0 });
  const size = { count: 10, columns: 4 };
  const moves = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'x'].map((key) =>
    moveFocus(5, key, size),
  );
  expect(moves).toEqual([4, 6, 1, 9, 0, 9, 5]);
  expect([moveFocus(0, 'ArrowLeft', size), moveFocus(9, 'ArrowDown', size)]).toEqual([0, 9]);
});

test('a task’s request is a body for the API, and two of them are compared field by field', () => {
  const request = { model: 'demo-video', action: '', body: { prompt: 'a', size: { w: 1 } } };
  const body = readTaskBody({ request, model: 'other' });
  expect(body).toEqual({ model: 'demo-video', prompt: 'a', size: { w: 1 } });
  for (const none of [null, { ...request, body: 'text' }, { ...request, body: [1] }])
    expect(readTaskBody({ request: none, model: 'm' })).toBeNull();
  expect(compareBodies({ a: 1, b: { c: 'x', d: [1] } }, { a: 1, b: { c: 'y', d: [1] }, e: null })).toEqual([
    { path: 'b.c', before: 'x', after: 'y' },
    { path: 'e', before: '–', after: 'null' },
  ]);
});

test('a period is one of the presets or whole days of the local calendar', () => {
  const now = new Date(2026, 2, 10, 12, 0, 30);
  const minute = Math.floor(now.getTime() / 60_000) * 60;
  expect(readPeriod({ period: '24h', from: '2026-01-01', to: '' }, now)).toEqual({
    since: String(minute - 86_400),
    until: null,
  });
  const day = (date: number) => new Date(2026, 2, date).getTime() / 1000;
  expect(readPeriod({ period: '', from: '2026-03-01', to: '2026-03-02' }, now)).toEqual({
    since: String(day(1)),
    until: String(day(3) - 1),
  });
  expect(readPeriod({ period: 'x', from: 'x', to: '1969-01-01' }, now)).toEqual({ since: null, until: null });
});

test('what a browser has stored is taken only where it is sound', () => {
  expect(readListPreferences('{"pageSize":50,"isCompact":true}')).toEqual({ pageSize: 50, isCompact: true });
  for (const text of [null, 'x', 'null', '{"pageSize":7,"isCompact":"yes"}']) {
    expect(readListPreferences(text)).toEqual({ pageSize: 20, isCompact: false });
  }
  expect(readViews('[{"name":"a","query":"q=1"},{"name":1},null]')).toEqual([{ name: 'a', query: 'q=1' }]);
  expect([readViews('x'), readViews('{}'), readViews(null)]).toEqual([[], [], []]);
});
