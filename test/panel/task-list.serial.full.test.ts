/** Lists of many tasks: choices, bulk actions, views, filters, and the gallery. */
import { afterAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { countChannels, countReasons } from '../../src/panel/pages/tasks/failure-reasons.tsx';
import { arrangeTiles, moveFocus, visibleRows } from '../../src/panel/pages/tasks/gallery/arrange-tiles.ts';
import { compareBodies, readTaskBody } from '../../src/panel/pages/tasks/read-task.ts';
import { readListPreferences, readLocalViews } from '../../src/panel/pages/tasks/use-saved-views.ts';
import { readPeriod } from '../../src/panel/pages/tasks/use-task-query.ts';
import { fillLargeGateway } from '../support/fill-large-gateway.ts';
import { testInFullRun } from '../support/full-run.ts';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { submit } from '../support/main-job.ts';
import { until } from '../support/until.ts';
import { addSessionCookies, findPageIssues, screens, usePanel } from './harness.ts';
import { measureFrames, usualFrame } from './measure-frames.ts';

let vendor: VendorProcess;
let key = '';
const panel = usePanel(
  async (root, gateway) => {
    vendor = await startVendor();
    ({ key } = await fillLargeGateway(gateway, root, vendor));
  },
  { TASK_POLL_INTERVAL_SECONDS: '1' },
);
afterAll(() => vendor?.stop());

testInFullRun('tasks are chosen and run again after their sum was confirmed, and what fails is reported', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?q=boat&status=SUCCESS');
  const choices = page.getByRole('checkbox', { name: /^Select: / });
  await choices.nth(1).check();
  await choices.nth(4).click({ modifiers: ['Shift'] });
  await page.getByText('4 selected').waitFor();
  await page.getByRole('button', { name: 'Clear selection' }).click();
  await choices.first().check();
  await choices.nth(1).check();
  await page.getByRole('button', { name: 'Run again (2)' }).click();
  await page.getByText(/^About \$0\.20 at current prices, charged to your balance/).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Run 2 tasks again · ≈$0.20' }).click();
  await page.getByText('Done: 2 of 2.').waitFor();
  await page.getByRole('button', { name: 'Close', exact: true }).last().click();

  await choices.first().check();
  await page.getByRole('button', { name: 'Delete (1)' }).click();
  await page.route('**/api/task/task_*', (route) =>
    route.fulfill({ status: 404, json: { success: false, code: 'TASK_NOT_FOUND', message: 'gone' } }),
  );
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 task' }).click();
  await page.getByText('1 of 1 processed, 1 failed:').waitFor();
  await page.unroute('**/api/task/task_*');
  await page.getByRole('button', { name: 'Retry failed' }).click();
  await page.getByText('Done: 1 of 1.').waitFor();
});

testInFullRun('chosen tasks are downloaded, and waiting ones cancelled, in one go', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?q=boat&status=SUCCESS&sort=oldest');
  const choices = page.getByRole('checkbox', { name: /^Select: / });
  const saved: string[] = [];
  page.on('download', (download) => saved.push(download.suggestedFilename()));
  await choices.first().check();
  await choices.nth(1).check();
  await page.getByRole('button', { name: 'Download' }).click();
  await page.getByText('Done: 2 of 2.').waitFor();
  await until('both files were saved', () => saved.length === 2);
  expect(saved.every((name) => name.endsWith('.mp4'))).toBe(true);

  const { items } = await panel.root().call<{ items: { id: number }[] }>('GET', '/api/channel');
  for (const { id } of items) await panel.root().call('PUT', `/api/channel/${id}`, { limits: { max_running: 1 } });
  for (const prompt of ['a slow one', 'a slow one too']) {
    const { status } = await submit(panel.gateway().url, key, { prompt: `${prompt} [duration=3600]`, seconds: 5 });
    expect(status).toBe(200);
  }
  await page.goto(`${panel.origin()}/tasks`);
  await page.getByRole('checkbox', { name: 'Select: a slow one too' }).check();
  await choices.nth(2).check();
  await page.getByRole('button', { name: 'Run again (1)' }).click();
  await page.getByText('1 task is still running and will be skipped.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.goto(`${panel.origin()}/tasks?q=slow`);
  await choices.nth(1).waitFor();
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  // The vendor has the first one, so that only the one that waits can be cancelled.
  await page.getByRole('toolbar').getByRole('button', { name: 'Cancel (1)' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel 1 task' }).click();
  await page.getByText('Done: 1 of 1.').waitFor();
});

testInFullRun('a view is saved with the account, found on another device, loaded and deleted', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?status=FAILURE&scope=all');
  const views = (on: Page) => on.getByRole('button', { name: 'Views', exact: true });
  await views(page).click();
  await page.getByLabel('View name').fill('Everybody’s failures');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByLabel('View name').waitFor({ state: 'detached' });

  // Another profile, in which an older panel has stored a view.
  const { page: other } = await panel.open();
  const { id } = await panel.root().call<{ id: number }>('GET', '/api/user/self');
  await other.goto(`${panel.origin()}/sign-in`);
  const key = `taskgate.task-views.${id}`;
  await other.evaluate((name) => localStorage.setItem(name, '[{"name":"Kept here","query":"q=boat"}]'), key);
  await addSessionCookies(other, panel.origin(), ROOT);
  await other.goto(`${panel.origin()}/tasks`);
  await until('the local view was moved', () => other.evaluate((name) => localStorage.getItem(name) === null, key));
  await views(other).click();
  await other.getByRole('button', { name: 'Kept here', exact: true }).waitFor();
  await other.getByRole('button', { name: 'Everybody’s failures', exact: true }).click();
  await other.waitForURL(/status=FAILURE&scope=all/);
  await other.getByText('a lost one').first().waitFor();

  await views(other).click();
  await other.getByRole('button', { name: 'Rename view “Everybody’s failures”' }).click();
  await other.getByLabel('New name of “Everybody’s failures”').fill('Kept here');
  await other.getByText('Already in the list.').waitFor();
  await other.getByLabel('New name of “Everybody’s failures”').fill('Failures of all');
  await other.getByRole('button', { name: 'Save', exact: true }).click();
  await other.getByRole('button', { name: 'Failures of all', exact: true }).waitFor();
  await other.getByRole('button', { name: 'Everybody’s failures', exact: true }).waitFor({ state: 'detached' });
  const renamed = await panel.root().call<{ query: string }[]>('GET', '/api/user/self/views');
  expect(renamed).toContainEqual(
    expect.objectContaining({ name: 'Failures of all', query: 'status=FAILURE&scope=all' }),
  );
  await other.getByRole('button', { name: 'Delete view “Failures of all”' }).click();
  await other.getByRole('button', { name: 'Failures of all', exact: true }).waitFor({ state: 'detached' });
  const kept = await panel.root().call<{ name: string }[]>('GET', '/api/user/self/views');
  expect(kept.map(({ name }) => name)).toEqual(['Kept here']);
});

testInFullRun('any of 1,000 users, 500 keys and 500 channels is found as one types, and filters the list', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?scope=all');
  await page.getByRole('button', { name: 'Filters', exact: true }).click();
  const choose = async (field: string, typed: string, name: string): Promise<void> => {
    const option = page.getByRole('option', { name, exact: true });
    // The panel of filters takes the focus once it is open, and with it what was typed before.
    await until('the name is offered', async () => {
      await page.getByRole('combobox', { name: field }).fill(typed);
      return option.isVisible();
    });
    await option.click();
  };
  await choose('User', 'user-987', 'user-987');
  await page.waitForURL(/user=\d+/);
  // What one types next goes to the same field, although the chosen name is read once more.
  const user = page.getByRole('combobox', { name: 'User' });
  await until('the user is named', async () => (await user.inputValue()) === 'user-987');
  expect(await user.evaluate((field) => field === document.activeElement)).toBe(true);
  await choose('Channel', 'channel 477', 'Channel 477');
  await page.waitForURL(/channel=\d+/);
  await page.goto(`${panel.origin()}/tasks?scope=all`);
  await page.getByRole('button', { name: 'Filters', exact: true }).click();
  await choose('API key', 'key 432', 'Key 432 · user-433');
  await page.waitForURL(/key=\d+/);
  await until('only tasks of that key are listed', async () => {
    const cells = await page.getByRole('table', { name: 'Tasks' }).getByRole('row').allTextContents();
    return cells.length > 2 && cells.slice(1).every((text) => text.includes('Key 432'));
  });
  // The chosen names are shown after a reload too.
  await page.reload();
  await page.getByRole('button', { name: 'Filters', exact: true }).click();
  await until('the key is named', async () =>
    (await page.getByRole('combobox', { name: 'API key' }).inputValue()).startsWith('Key 432'),
  );
});

/** As if every task had a preview. */
async function givePosters(page: Page): Promise<void> {
  await page.route('**/api/task/feed?*', async (route) => {
    const answer = (await (await route.fetch()).json()) as { data: { items: { id: string; poster?: object }[] } };
    for (const item of answer.data.items) item.poster = { url: `/icons/icon-192.png?of=${item.id}` };
    await route.fulfill({ json: answer });
  });
}

const readTiles = (page: Page) => page.locator('ul[aria-label=Tasks] button');

type TileSize = { width: number; height: number; columns: number };

const measureTile = (page: Page): Promise<TileSize> =>
  page.evaluate(() => {
    const list = document.querySelector('ul[aria-label=Tasks]') as HTMLElement;
    const { width, height } = (list.querySelector('li') as HTMLElement).getBoundingClientRect();
    return { width, height, columns: Math.round(list.clientWidth / width) };
  });

/**
 * A page of nothing but such tiles, of which those on the screen are in the document: the least
 * work that a browser on this machine has with them.
 */
async function openPlainList(page: Page, origin: string, size: TileSize) {
  await page.setViewportSize(screens.desktop);
  await page.goto('about:blank');
  await page.evaluate(
    ([from, { width, height, columns }]) => {
      const gap = 12;
      document.body.innerHTML = `<style>
        ul { position: relative; margin: 0; height: ${Math.ceil(2200 / columns) * (height + gap)}px; list-style: none }
        li { position: absolute; top: 0; width: ${width}px; height: ${height}px; contain: strict }
        button { display: flex; flex-direction: column; width: 100%; height: 100%; padding: 0; overflow: hidden }
        div { position: relative; flex: 1; width: 100%; min-height: 0 }
        img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover }
        p { height: 20px; margin: 0; overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
      </style><ul></ul>`;
      const list = document.querySelector('ul') as HTMLElement;
      const drawn = new Map<number, HTMLElement>();
      Object.assign(window, {
        drawPlainList() {
          const first = (Math.floor(scrollY / (height + gap)) - 2) * columns;
          const last = (Math.ceil((scrollY + innerHeight) / (height + gap)) + 2) * columns;
          for (const [index, tile] of drawn) {
            if (index >= first && index < last) continue;
            tile.remove();
            drawn.delete(index);
          }
          for (let index = Math.max(0, first); index < Math.min(2200, last); index += 1) {
            if (drawn.has(index)) continue;
            const tile = document.createElement('li');
            tile.innerHTML = `<button><div><img src="${from}/icons/icon-192.png?plain=${index}" loading="lazy"
              decoding="async" alt=""></div><p>a boat ${index}</p><p>demo-video</p><p>$0.10</p></button>`;
            tile.style.transform = `translate(${(index % columns) * (width + gap)}px,
              ${Math.floor(index / columns) * (height + gap)}px)`;
            list.append(tile);
            drawn.set(index, tile);
          }
          return drawn;
        },
      });
    },
    [origin, size] as const,
  );
  const scrollTo = (index: number, step: number) =>
    page.evaluate(
      async ([wanted, by]) => {
        const { drawPlainList } = window as unknown as { drawPlainList(): Map<number, HTMLElement> };
        for (let frame = 0; !drawPlainList().has(wanted) && frame < 3000; frame += 1) {
          scrollBy(0, by);
          await new Promise(requestAnimationFrame);
        }
      },
      [index, step] as const,
    );
  await scrollTo(2000, 400);
  return { page, scrollTo };
}

testInFullRun('the gallery scrolls 2,000 pictures with less than twice the work of a plain list', async () => {
  const { page } = await panel.openAs(ROOT, '/keys', { viewport: screens.desktop });
  await givePosters(page);
  await page.goto(`${panel.origin()}/tasks?layout=gallery&scope=all`);
  await readTiles(page).first().waitFor();
  const scrollTo = (index: number, step: number) =>
    page.evaluate(
      async ([wanted, by]) => {
        const find = () => document.querySelector(`ul[aria-label=Tasks] [data-index="${wanted}"]`);
        for (let frame = 0; find() === null && frame < 3000; frame += 1) {
          scrollBy(0, by);
          await new Promise(requestAnimationFrame);
        }
        return document.querySelectorAll('ul[aria-label=Tasks] button').length;
      },
      [index, step] as const,
    );
  // Loads them: what is measured then is scrolling.
  expect(await scrollTo(2000, 400)).toBeLessThan(80);
  const plain = await openPlainList(await page.context().newPage(), panel.origin(), await measureTile(page));
  const rounds: { own: number; bare: number }[] = [];
  for (const [index, step] of [
    [1200, -120],
    [2000, 120],
    [1200, -120],
  ] as const) {
    await page.bringToFront();
    const own = usualFrame(await measureFrames(page, () => scrollTo(index, step)));
    await plain.page.bringToFront();
    const bare = usualFrame(await measureFrames(plain.page, () => plain.scrollTo(index, step)));
    rounds.push({ own, bare });
  }
  const measured = rounds.map(({ own, bare }) => `${own.toFixed(1)} ms instead of ${bare.toFixed(1)}`).join(', ');
  console.log(measured);
  expect(Math.min(...rounds.map(({ own, bare }) => own / bare)), measured).toBeLessThanOrEqual(2);
  const shift = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries() as (PerformanceEntry & { value: number })[]) sum += entry.value;
        }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => resolve(sum), 100);
      }),
  );
  expect(shift).toBeLessThan(0.05);
});

testInFullRun(
  'a tile plays under the pointer and the keyboard, opens by Enter, moves by arrows, closes by Esc',
  async () => {
    const { page } = await panel.openAs(ROOT, '/tasks?layout=gallery&status=SUCCESS&sort=oldest', {
      viewport: screens.desktop,
    });
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    const tiles = readTiles(page);
    const videos = page.locator('ul[aria-label=Tasks] video');
    await tiles.nth(2).waitFor();
    expect(await videos.count()).toBe(0);
    await tiles.first().hover();
    await until('it plays', () => videos.first().evaluate((video) => !(video as HTMLVideoElement).paused));
    expect([await videos.count(), await videos.first().evaluate((video) => (video as HTMLVideoElement).muted)]).toEqual(
      [1, true],
    );
    await page.mouse.move(0, 0);
    await videos.first().waitFor({ state: 'detached' });

    await tiles.first().focus();
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-index'));
    await page.keyboard.press('ArrowRight');
    await until('the next has the focus', async () => (await focused()) === '1');
    await videos.first().waitFor();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.locator('video').waitFor();
    const opened = () => dialog.getByRole('link', { name: 'Open task' }).getAttribute('href');
    await dialog.getByText(/^2 of [\d,]+\+?$/).waitFor();
    const first = await opened();
    await page.keyboard.press('ArrowRight');
    await until('the next is shown', async () => (await opened()) !== first);
    await page.keyboard.press('ArrowLeft');
    await until('the first is shown again', async () => (await opened()) === first);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await until('its tile has the focus', async () => (await focused()) === '1');
  },
);

testInFullRun('list and gallery have no barrier; eight tasks fit on a phone', async () => {
  const { page } = await panel.openAs(ROOT, '/tasks?scope=all');
  await page
    .getByRole('link', { name: /a boat/ })
    .first()
    .waitFor();
  const issues = await findPageIssues(page);
  await page.setViewportSize(screens.phone);
  const rows = page.getByRole('table', { name: 'Tasks' }).getByRole('row');
  await rows.nth(16).waitFor();
  // Half of them failed, which takes a line more.
  const heights = await rows.evaluateAll((all) => all.slice(9, 17).map((row) => row.getBoundingClientRect().height));
  expect(heights.reduce((sum, height) => sum + height)).toBeLessThan(844 - 56);
  // The ways to its pages take one row.
  const tops = await page
    .getByRole('button', { name: /^(Page \d+|Previous page|Next page)$/ })
    .evaluateAll((controls) => controls.map((control) => control.getBoundingClientRect().top));
  expect([tops.length > 4, new Set(tops).size]).toEqual([true, 1]);
  await page.setViewportSize(screens.desktop);
  await page.goto(`${panel.origin()}/tasks?layout=gallery`);
  await page.locator('ul[aria-label=Tasks] button').first().waitFor();
  expect([...issues, ...(await findPageIssues(page))]).toEqual([]);
});

test('tiles have one size, arrows end at the edges, and only rows near the screen are drawn', () => {
  const arrangement = arrangeTiles(100_000, 1000);
  expect(arrangement).toMatchObject({ columns: 4, rows: 25_000 });
  // A picture of 241 pixels is sixteen by nine; below it are its words and a gap.
  expect(arrangement.rowHeight).toBe(136 + 78 + 12);
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
  expect(readListPreferences('{"pageSize":50}')).toEqual({ pageSize: 50 });
  for (const text of [null, 'x', 'null', '{"pageSize":7}']) {
    expect(readListPreferences(text)).toEqual({ pageSize: 20 });
  }
  expect(readLocalViews('[{"name":"a","query":"q=1"},{"name":1},null]')).toEqual([{ name: 'a', query: 'q=1' }]);
  expect([readLocalViews('x'), readLocalViews('{}'), readLocalViews(null)]).toEqual([[], [], []]);
});

test('shares of failures by reason and by channel narrow each other', () => {
  const on = (id: number, count: number) => ({ id, name: `Channel ${id}`, count });
  const found = [
    { reason: 'busy', reason_sentence: null, count: 5, channels: [on(1, 2), on(2, 3)] },
    { reason: 'blocked', reason_sentence: null, count: 4, channels: [on(1, 4)] },
  ];
  expect(countReasons(found, '').map(({ count }) => count)).toEqual([5, 4]);
  expect(countReasons(found, '1').map(({ reason, count }) => [reason, count])).toEqual([
    ['blocked', 4],
    ['busy', 2],
  ]);
  expect(countChannels(found, '')).toEqual([on(1, 6), on(2, 3)]);
  expect(countChannels(found, 'blocked')).toEqual([on(1, 4)]);
  // Users are not told which channels served their tasks.
  expect(countChannels([{ reason: 'busy', reason_sentence: null, count: 5 }], '')).toEqual([]);
});
