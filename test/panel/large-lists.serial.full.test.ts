/**
 * The panel over 100,000 tasks, 1,000 users, 500 keys and 500 channels: how quickly pages are
 * drawn, the search, and exports.
 */
import { afterAll, expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { fillLargeGateway, LARGE } from '../support/fill-large-gateway.ts';
import { testInFullRun } from '../support/full-run.ts';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { accountMenu, screens, usePanel } from './harness.ts';
import { measureFrames } from './measure-frames.ts';

let vendor: VendorProcess;
const panel = usePanel(async (root, gateway) => {
  vendor = await startVendor();
  await fillLargeGateway(gateway, root, vendor);
});
afterAll(() => vendor?.stop());

/** A page that has loaded what it loads while one looks at the first one. */
async function openSettled(): Promise<Page> {
  const { page } = await panel.openAs(ROOT, '/profile', { viewport: screens.desktop });
  await accountMenu(page).waitFor();
  await waitForPreload(page);
  return page;
}

const waitForPreload = (page: Page) =>
  page.waitForFunction(() => {
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
    return ['account', 'admin', 'figure', 'marketplace', 'settings', 'signedIn'].every((part) =>
      loaded.some((name) => name.includes(`/assets/${part}Pages-`)),
    );
  });

/** Goes there as a link does, and resolves in the frame in which `selector` is drawn. */
const visit = (page: Page, path: string, selector: string) =>
  page.evaluate(
    async ([to, wanted]) => {
      const began = performance.now();
      let hadLoader = false;
      history.pushState({}, '', to);
      dispatchEvent(new PopStateEvent('popstate'));
      const isDrawn = (): boolean =>
        document.querySelector(wanted) !== null && document.querySelector('[data-stale]') === null;
      do {
        await new Promise(requestAnimationFrame);
        hadLoader ||= document.querySelector('main .mantine-Loader-root') !== null;
      } while (!isDrawn() && performance.now() - began < 20_000);
      const shown = performance.now();
      const answers = performance
        .getEntriesByType('resource')
        .filter(({ name, startTime }) => name.includes('/api/') && startTime >= began) as PerformanceResourceTiming[];
      const lastAnswer = Math.max(began, ...answers.map(({ responseEnd }) => responseEnd).filter((at) => at < shown));
      return { ms: shown - began, sinceAnswer: shown - lastAnswer, hadLoader };
    },
    [path, selector] as const,
  );

const sum = (frames: readonly number[]): number => frames.reduce((total, ms) => total + ms, 0);

const drawn: [name: string, path: string, selector: string][] = [
  ['home', '/', 'main:has(dl[aria-label="Overview"]) svg.recharts-surface'],
  ['tasks', '/tasks?scope=all&page=2', 'table[aria-label="Tasks"] tbody tr:nth-child(20)'],
  ['tasks of a filter', '/tasks?scope=all&status=SUCCESS', 'table[aria-label="Tasks"] tbody tr:nth-child(20)'],
  ['failures', '/tasks?scope=all&status=FAILURE', 'table[aria-label="Tasks"] tbody tr:nth-child(20)'],
  ['the dearest tasks', '/tasks?scope=all&sort=cost', 'table[aria-label="Tasks"] tbody tr:nth-child(20)'],
  ['gallery', '/tasks?scope=all&layout=gallery', 'ul[aria-label="Tasks"] [data-index="12"]'],
  ['usage', '/usage?scope=all&period=30d', 'main table tbody tr:nth-child(10)'],
  ['users', '/users', 'main table tbody tr:nth-child(20)'],
  ['keys of a user', '/users/77?tab=keys', 'main table tbody tr'],
  ['keys', '/keys', 'main table tbody tr'],
  ['audit log', '/audit', 'main table tbody tr:nth-child(20)'],
  ['channels', '/channels', 'main table tbody tr:nth-child(20)'],
];

testInFullRun('every large list is drawn with less than 200 ms of work after its answer', async () => {
  const page = await openSettled();
  const slow: string[] = [];
  for (const [name, path, selector] of drawn) {
    let [work, onClock] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // The least of three: other work on this machine must not count.
    for (let round = 0; round < 3; round += 1) {
      await page.goto(`${panel.origin()}/profile`);
      await accountMenu(page).waitFor();
      await waitForPreload(page);
      let found = { ms: 0, sinceAnswer: 0, hadLoader: false };
      const frames = await measureFrames(page, async () => {
        found = await visit(page, path, selector);
      });
      expect(found.ms, `${name} is drawn`).toBeLessThan(20_000);
      // All that the page did from the click on; less of it came after the answer.
      work = Math.min(work, sum(frames));
      onClock = Math.min(onClock, found.sinceAnswer);
    }
    console.info(`${name}: ${Math.round(work)} ms of work, ${Math.round(onClock)} ms after the last answer`);
    if (Math.min(work, onClock) >= 200) slow.push(`${name}: ${Math.round(work)} ms`);
  }
  expect(slow).toEqual([]);
});

const pages: [path: string, heading: string][] = [
  ['/tasks', 'Tasks'],
  ['/models', 'Models'],
  ['/playground', 'Playground'],
  ['/keys', 'API keys'],
  ['/keys/new', 'New API key'],
  ['/usage', 'Usage'],
  ['/security', 'Security'],
  ['/channels', 'Channels'],
  ['/channels/new', 'Add channel'],
  ['/plugins', 'Plugins'],
  ['/marketplace', 'Marketplace'],
  ['/prices', 'Prices'],
  ['/users', 'Users'],
  ['/settings', 'Settings'],
  ['/audit', 'Audit log'],
  ['/system', 'System'],
  ['/reference', 'API reference'],
  ['/', 'Home'],
];

testInFullRun('the first visit of each page after sign-in takes less than 100 ms, and shows no spinner', async () => {
  const page = await openSettled();
  const slow: string[] = [];
  const times: string[] = [];
  for (const [path, heading] of pages) {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 4 && best >= 100; round += 1) {
      await page.goto(`${panel.origin()}/profile`);
      await accountMenu(page).waitFor();
      await waitForPreload(page);
      let began = { ms: 0, hadLoader: false };
      const frames = await measureFrames(page, async () => {
        began = await page.evaluate(
          async ([to, text]) => {
            const start = performance.now();
            history.pushState({}, '', to);
            dispatchEvent(new PopStateEvent('popstate'));
            let hadLoader = false;
            do {
              await new Promise(requestAnimationFrame);
              hadLoader ||= document.querySelector('main [role="status"] .mantine-Loader-root') !== null;
            } while (document.querySelector('main h1')?.textContent !== text && performance.now() - start < 10_000);
            return { ms: performance.now() - start, hadLoader };
          },
          [path, heading] as const,
        );
      });
      expect([path, began.hadLoader]).toEqual([path, false]);
      // On the clock, or in work of the page where others hold the processors.
      best = Math.min(best, began.ms, sum(frames));
    }
    times.push(`${path} ${Math.round(best)}`);
    if (best >= 100) slow.push(`${path}: ${Math.round(best)} ms`);
  }
  console.info(`first visits in ms: ${times.join(', ')}`);
  expect(slow).toEqual([]);
});

testInFullRun(
  'the search finds any key, user and channel, and drops the answers of what is no longer typed',
  async () => {
    const page = await openSettled();
    const dropped: string[] = [];
    page.on('requestfailed', (request) => dropped.push(new URL(request.url()).search));
    // An answer that is slower than typing.
    await page.route('**/api/channel/names?keyword=channel', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await route.continue().catch(() => undefined);
    });
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Search' });
    await field.fill('channel');
    await page.waitForRequest(/channel\/names\?keyword=channel$/);
    await field.fill('channel 477');
    await page.getByRole('option', { name: 'Channel 477' }).waitFor();
    expect(dropped).toContain('?keyword=channel');
    expect(await page.getByRole('option', { name: /^Channel/ }).count()).toBe(1);
    await field.fill('key 432');
    await page.getByRole('option', { name: /^Key 432\s*user-433/ }).click();
    await page.waitForURL(/\/users\/\d+\?tab=keys/);
    await page.keyboard.press('Control+k');
    await field.fill('user-987');
    await page.getByRole('option', { name: /^user-987/ }).click();
    await page.waitForURL(/\/users\/\d+/);
  },
);

/** Saves what the page lists. */
async function exportAs(page: Page, format: 'CSV for spreadsheets' | 'JSON lines') {
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: format }).click(),
  ]);
  const lines = readFileSync(await download.path(), 'utf8')
    .replace('\uFEFF', '')
    .trimEnd()
    .split(/\r?\n/);
  return { name: download.suggestedFilename(), lines };
}

testInFullRun.each([
  ['tasks', '/tasks?scope=all&status=FAILURE&user=77', /,FAILURE,/, { status: 'FAILURE', user_id: 77 }, 50],
  ['usage', '/usage?scope=all&user=77&period=90d', /,77,/, { user_id: 77 }, 100],
  ['audit', '/audit?action=user.&user=user-77', /,user\.update,/, { action: 'user.update' }, 1],
  ['users', '/users?keyword=user-98', /user-98/, { role: 1 }, 11],
] as const)('the export of %s holds what the list with its filter holds', async (name, path, inLine, fields, rows) => {
  const { page } = await panel.openAs(ROOT, path, { viewport: screens.desktop });
  const csv = await exportAs(page, 'CSV for spreadsheets');
  expect(csv.name).toMatch(new RegExp(`^${name}-\\d{4}-\\d\\d-\\d\\d\\.csv$`));
  const [heading = '', ...found] = csv.lines;
  expect(heading).toStartWith('id,');
  expect(found.length).toBeGreaterThanOrEqual(rows);
  expect(found.length).toBeLessThan(LARGE.audit);
  expect(found.filter((line) => !inLine.test(line))).toEqual([]);
  const json = await exportAs(page, 'JSON lines');
  expect(json.name).toEndWith('.jsonl');
  expect(json.lines).toHaveLength(found.length);
  for (const line of json.lines) expect(JSON.parse(line)).toMatchObject(fields);
});
