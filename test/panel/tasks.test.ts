/** The task list and the task page in the browser, with the compiled binary and the demo vendor. */
import { Database } from 'bun:sqlite';
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { newTaskId } from '../../src/kernel/index.ts';
import { findPictures, parsePercent, tookSeconds, wholeSeconds } from '../../src/panel/pages/tasks/read-task.ts';
import { readServerSentEvents } from '../../src/panel/pages/tasks/task/use-task.ts';
import { testInFullRun } from '../support/full-run.ts';
import { Administrator, ask, ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { makePng } from '../support/still-images.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';
import {
  accountMenu,
  addSessionCookies,
  findPageIssues,
  heading,
  password,
  screens,
  usePanel,
  waitForCount,
  waitForNotice,
  waitForText,
  waitForValue,
} from './harness.ts';
import { type PausableVendor, startPausableVendor } from './pausable-vendor.ts';

let vendor: VendorProcess;
let pausable: PausableVendor;
let receiver: Receiver;
let key: string;

const panel = usePanel(
  async (root, gateway) => {
    vendor = await startVendor();
    pausable = startPausableVendor(vendor);
    receiver = await startReceiver();
    await root.createChannel(pausable.url, { name: 'First channel' });
    for (const model of ['demo-video', 'demo-video-pro']) {
      await root.call('PUT', '/api/price', { plugin_key: 'demo', model, expression: '0.02 * u("seconds")' });
    }
    key = await createKey(root);
    for (const prompt of ['a paper boat [seconds=3]', 'a lost one [fail]', 'a lighthouse']) {
      const { body } = await submit(gateway.url, key, { prompt: `${prompt} [duration=0.2]`, seconds: 5 });
      ids.set(prompt, String(body.id));
      await waitForEnd(gateway.url, key, String(body.id));
    }
  },
  { TASK_POLL_INTERVAL_SECONDS: '1', WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' },
);
afterAll(async () => {
  await pausable?.stop();
  await vendor?.stop();
  await receiver?.stop();
});

afterEach(() => pausable?.resume());

const ids = new Map<string, string>();

async function createKey(root: Administrator): Promise<string> {
  const created = await root.call<{ id: number; key: string }>('POST', '/api/token', {
    name: 'tests',
    unlimited_quota: true,
  });
  await root.call('POST', `/api/token/${created.id}/webhook-secret`);
  return created.key;
}

const open = (path: string) => panel.openAs(ROOT, path);

const rows = (page: Page) => page.getByRole('table', { name: 'Tasks' }).getByRole('row');
const taskFor = (prompt: string): string => `/tasks/${ids.get(prompt)}`;
const lefts = (cells: Element[]) => cells.map((cell) => cell.getBoundingClientRect().left);
const choose = async (page: Page, field: string, option: string): Promise<void> => {
  await page.getByRole('combobox', { name: field }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
};

describe('the list', () => {
  testInFullRun('is searched and filtered, with the filters in the URL', async () => {
    const { page } = await open('/tasks');
    await page.getByRole('link', { name: /a paper boat/ }).waitFor();

    await page.getByLabel('Search', { exact: true }).fill('LIGHTHOUSE');
    await page.getByRole('link', { name: /a paper boat/ }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('q')).toBe('LIGHTHOUSE');
    await waitForCount(rows(page), 2);

    await page.getByLabel('Search', { exact: true }).fill('');
    await page.getByRole('link', { name: /a paper boat/ }).waitFor();
    await choose(page, 'Status', 'Failed');
    await page.getByRole('link', { name: /a paper boat/ }).waitFor({ state: 'detached' });
    expect(await rows(page).nth(1).textContent()).toContain('a lost one');
    // Why it failed is one click from the home page, and the reasons are counted.
    const reasons = page.getByRole('region', { name: 'Why tasks failed' });
    const [reason = ''] = (await reasons.getByRole('button').first().innerText()).split('\n');
    expect(await rows(page).nth(1).textContent()).toContain(reason);
    // Anywhere in the row.
    await rows(page)
      .nth(1)
      .click({ position: { x: 600, y: 20 } });
    await page.waitForURL(`**${taskFor('a lost one [fail]')}`);
    // Back to the list as it was left.
    await page.getByRole('link', { name: 'All tasks' }).click();
    await page.waitForURL('**/tasks?status=FAILURE');

    await page.goto(`${panel.origin()}/tasks?scope=all&platform=demo&channel=1&status=SUCCESS`);
    await page.getByRole('link', { name: /a lighthouse/ }).waitFor();
    await page.getByRole('columnheader', { name: 'User' }).waitFor();
    await page.getByRole('cell', { name: 'First channel' }).first().waitFor();
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await waitForValue(page.getByRole('combobox', { name: 'Channel' }), 'First channel');
    await page.keyboard.press('Escape');
    const chips = page.getByRole('list', { name: 'Filters' });
    await chips.getByRole('button', { name: 'Clear all' }).click();
    await page.waitForURL('**/tasks?scope=all&status=SUCCESS');
    // One chip is removed by itself.
    await page.goto(`${panel.origin()}/tasks?channel=1`);
    await chips.getByRole('button', { name: 'Channel First channel' }).waitFor();
    expect(await chips.getByRole('button').count()).toBe(1);
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Clear all' }).click();
    await page.waitForURL('**/tasks');
    await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await page.goto(`${panel.origin()}/tasks?q=lighthouse`);
    await page.getByRole('link', { name: /a lighthouse/ }).waitFor();
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'JSON lines' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^tasks-\d{4}-\d\d-\d\d\.jsonl$/);
    expect(await Bun.file(await download.path()).text()).toMatch(/^\{"id":"task_\w+".*"a lighthouse.*\}\n$/);

    await page.goto(`${panel.origin()}/tasks?q=${encodeURIComponent('no such thing')}`);
    await waitForText(page, 'No matches');
  });

  testInFullRun('says on a phone in one row what can be done with chosen tasks', async () => {
    const { page } = await panel.openAs(ROOT, '/tasks', { viewport: screens.phone });
    for (const title of ['a paper boat', 'a lost one'])
      await page.getByRole('checkbox', { name: `Select: ${title}` }).check();
    const bar = page.getByRole('toolbar');
    await bar.getByText('2 selected').waitFor();
    expect((await bar.boundingBox())?.height).toBeLessThan(70);
    await bar.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Delete (2)' }).click();
    await page.getByRole('dialog').getByText('Delete 2 tasks?').waitFor();
  });

  testInFullRun('tells why a task failed one click from the home page', async () => {
    const { page } = await open('/');
    await page.getByRole('navigation').getByRole('link', { name: 'Tasks', exact: true }).click();
    const row = page.getByRole('row', { name: /a lost one/ });
    await row.waitFor();
    const { fail_reason: reason } = await panel
      .root()
      .call<{ fail_reason: string }>('GET', `/api${taskFor('a lost one [fail]').replace('tasks', 'task')}`);
    expect(reason).not.toBe('');
    await row.getByText(reason).waitFor();
  });

  test('a wide screen has a column for why tasks failed, where one has; a narrower one says it below', async () => {
    const { page } = await panel.openAs(ROOT, '/tasks', { viewport: screens.desktop });
    const row = page.getByRole('row', { name: /a lost one/ });
    const cell = (index: number) => row.getByRole('cell').nth(index).innerText();
    const column = page.getByRole('columnheader', { name: 'Reason', exact: true });
    await row.waitFor();
    await column.waitFor();
    const reason = 'The video could not be generated.';
    expect([await cell(2), await cell(3)]).toEqual(['Failed', reason]);
    expect(await row.getByTitle(`“${reason}”`, { exact: true }).count()).toBe(1);
    expect((await row.boundingBox())?.height).toBeLessThan(42);
    const cells = await row.getByRole('cell').evaluateAll(lefts);
    await row.hover();
    expect(await row.getByRole('cell').evaluateAll(lefts)).toEqual(cells);
    await page.setViewportSize({ width: 1199, height: 900 });
    await column.waitFor({ state: 'detached' });
    expect((await cell(2)).split('\n').filter(Boolean)).toEqual(['Failed', reason]);
    await page.setViewportSize(screens.desktop);
    await column.waitFor();
    await page.goto(`${panel.origin()}/tasks?status=SUCCESS`);
    await page.getByRole('link', { name: /a paper boat/ }).waitFor();
    await row.waitFor({ state: 'detached' });
    expect(await column.count()).toBe(0);
  });

  testInFullRun('refreshes running tasks by itself', async () => {
    const { page, apiCalls } = await open('/tasks');
    pausable.pause('results');
    await submit(panel.gateway().url, key, { prompt: 'a slow train [duration=0.2]' });
    await page.goto(`${panel.origin()}/tasks?q=slow%20train`);
    const row = page.getByRole('row', { name: /a slow train/ });
    await row.getByRole('progressbar').waitFor();
    pausable.resume();
    await row.getByText('Succeeded').waitFor();
    expect(apiCalls.filter((call) => call === 'GET /api/task').length).toBeGreaterThan(1);
    expect(await row.getByRole('progressbar').count()).toBe(0);
  });
});

describe('previews', () => {
  testInFullRun('a result that is first seen in the list gets a poster, drawn once and in its place', async () => {
    const { page } = await open('/tasks');
    const row = page.getByRole('row', { name: /a paper boat/ });
    const picture = row.locator('img[loading=lazy]');
    await picture.waitFor();
    await until('it is shown', () => picture.evaluate((image: HTMLImageElement) => image.naturalWidth > 0));
    expect(await picture.evaluate((image: HTMLImageElement) => [image.width, image.height])).toEqual([48, 30]);
    expect(
      await page
        .getByRole('row', { name: /a lost one/ })
        .locator('img')
        .count(),
    ).toBe(0);

    await page.goto(`${panel.origin()}${taskFor('a paper boat [seconds=3]')}`);
    const poster = await page.locator('video').getAttribute('poster');
    expect(poster).toMatch(/^\/v1\/tasks\/task_\w+\/artifacts\/preview%3Avideo\/content\?access=/);
    const shown = await ask(`${panel.gateway().url}${poster}`);
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/webp']);
  });
});

describe('a task', () => {
  test('that has finished plays its video, explains its bill and shows its timeline', async () => {
    const { page } = await open(taskFor('a paper boat [seconds=3]'));
    await waitForText(page, /^Finished in/);
    const video = page.locator('video');
    await video.evaluate((element: HTMLVideoElement) => {
      if (element.readyState >= 1) return undefined;
      return new Promise((resolve) => element.addEventListener('loadedmetadata', resolve, { once: true }));
    });
    expect(await video.evaluate((element: HTMLVideoElement) => element.duration)).toBeGreaterThan(0);
    expect(await video.evaluate((element: HTMLVideoElement) => new URL(element.src).origin)).toBe(panel.origin());
    await page.evaluate(
      async (path) => {
        const { status } = await fetch(path, { headers: { range: 'bytes=0-9' } });
        if (status !== 206) throw new Error(`a range was answered ${status}`);
      },
      await video.evaluate((element: HTMLVideoElement) => element.src),
    );
    expect(await page.getByRole('link', { name: 'Download' }).getAttribute('download')).toMatch(/^task_.*-video\.mp4$/);

    await waitForText(page, 'Estimated at $0.10; $0.04 was refunded.');
    const quantities = page.getByRole('table', { name: 'Billed quantities' });
    expect(await quantities.getByRole('row', { name: /Duration/ }).textContent()).toBe('Duration5\u00a0sec3\u00a0sec');
    expect(await quantities.getByRole('row', { name: /Resolution/ }).textContent()).toBe('Resolution720p720p');
    await page.getByText('3 sec × $0.02 / second = $0.06').waitFor();
    await page.getByRole('button', { name: 'Formula' }).click();
    await page.getByRole('region', { name: 'Cost' }).getByText('0.02 * 3 = 0.06 USD').waitFor();
    await page.getByRole('button', { name: 'Balance changes' }).click();
    await waitForText(page, 'Unused, refunded');
    await waitForText(page, '+$0.04');
    await waitForText(page, 'Submitted · $0.10 reserved');
    await waitForText(page, 'Charged $0.06');

    await page.getByRole('button', { name: 'Request', exact: true }).click();
    const raw = page.getByRole('region', { name: 'Request' });
    expect(JSON.parse(String(await raw.textContent()))).toMatchObject({ seconds: 5 });
  });

  testInFullRun('folds its details and raw data on a phone', async () => {
    const { page } = await panel.openAs(ROOT, taskFor('a lighthouse'), { viewport: screens.phone });
    const id = page.getByText('Task ID', { exact: true });
    await page.getByRole('heading', { name: 'Details' }).waitFor();
    expect(await id.isVisible()).toBe(false);
    await page.getByRole('heading', { name: 'Details' }).click();
    await id.waitFor();
  });

  testInFullRun('is retried as a new task, which is followed to its end', async () => {
    const { page, apiCalls } = await open(taskFor('a lighthouse'));
    await page.getByRole('button', { name: 'Run again · $0.10', exact: true }).click();
    await waitForNotice(page, 'A new task with the same request was started.');
    await page.waitForURL((url) => url.pathname !== taskFor('a lighthouse'));
    expect(page.url()).toMatch(/\/tasks\/task_/);
    await page.locator('video').waitFor();
    await waitForText(page, /^Finished in/);
    expect(apiCalls.filter((call) => call.endsWith('/retry'))).toHaveLength(1);
    // It stands beside the run that it repeats.
    const comparison = page.getByRole('region', { name: 'Compared with the earlier run' });
    await comparison.getByText('Both runs had the same input.').waitFor();
    expect(await comparison.getByRole('link', { name: 'Earlier run' }).getAttribute('href')).toBe(
      taskFor('a lighthouse'),
    );

    await page.evaluate(() => {
      Object.defineProperty(navigator, 'clipboard', {
        value: { writeText: async (text: string) => void Object.assign(globalThis, { copied: text }) },
      });
    });
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'As curl' }).click();
    await waitForNotice(page, 'Copied');
    const code = await page.evaluate(() => String((globalThis as { copied?: unknown }).copied));
    expect(code).toMatch(/^curl '.*\/v1\/tasks\/demo'[\s\S]*Bearer YOUR_API_KEY[\s\S]*a lighthouse/);

    await page.getByRole('button', { name: 'Vendor’s response' }).click();
    await waitForText(page, 'The vendor’s last response; keys are redacted.');
    for (const path of ['/users/1', '/channels/1', '/plugins/demo'])
      await page.locator(`dd a[href="${path}"]`).waitFor();
  });

  testInFullRun('is offered again at the price of today', async () => {
    const price = (expression: string) =>
      panel.root().call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression });
    await price('0.03 * u("seconds")');
    try {
      const { page } = await open(taskFor('a lighthouse'));
      await page.getByRole('button', { name: 'Run again · $0.15', exact: true }).waitFor();
      await page.goto(`${panel.origin()}/tasks?layout=gallery&q=a%20lighthouse`);
      await page.locator('[data-index="0"]').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Run again · $0.15', exact: true }).waitFor();
    } finally {
      await price('0.02 * u("seconds")');
    }
  });

  testInFullRun('shows the pictures it was given, and loads none of another site', async () => {
    const result = `${panel.origin()}/v1/tasks/${ids.get('a lighthouse')}/artifacts/gone/content`;
    const frames = ['https://pictures.example.org/frame.png', result];
    const image = `data:image/png;base64,${makePng().toString('base64')}`;
    const { body } = await submit(panel.gateway().url, key, { prompt: 'a framed one [duration=0.2]', image, frames });
    const { page } = await open(`/tasks/${body.id}`);
    const inputs = page.getByRole('region', { name: 'Inputs' });
    const picture = inputs.getByRole('img', { name: 'Image', exact: true });
    await picture.waitFor();
    expect(await picture.evaluate((shown: HTMLImageElement) => shown.decode().then(() => shown.naturalWidth))).toBe(32);
    await inputs.getByText(/^PNG · \d+\sbytes$/).waitFor();
    // What cannot be loaded is said.
    await waitForCount(inputs.getByRole('img'), 1);
    await inputs.getByText(/pictures\.example\.org.*\/artifacts\/gone\/content/).waitFor();
  });

  test('that runs is updated by a stream, and shows why it cannot be cancelled', async () => {
    const { page, apiCalls } = await open('/tasks');
    pausable.pause('results');
    const { body } = await submit(panel.gateway().url, key, { prompt: 'a long walk [duration=0.2]' });
    await page.goto(`${panel.origin()}/tasks/${body.id}`);
    await page.getByRole('progressbar').waitFor();
    await waitForText(page, /Once the vendor has accepted a task, it can’t be canceled/);
    // The second text stands on a machine that took more than ten seconds to get here.
    await waitForText(page, /^Usually finishes in .*\ssec\.$|^Taking longer than usual: .*\ssec\.$/);
    await page.getByRole('link', { name: 'Edit in playground' }).waitFor();
    const bill = page.getByRole('region', { name: 'Cost' });
    await bill.getByText('$0.08 reserved', { exact: true }).waitFor();
    await bill.getByRole('columnheader', { name: 'Estimate' }).waitFor();
    expect(await page.getByRole('button', { name: 'Cancel task' }).count()).toBe(0);
    await until('the stream is asked for', () => apiCalls.includes(`GET /api/task/${body.id}/events`));
    pausable.resume();
    await page.locator('video').waitFor();
    expect(apiCalls).toContain(`GET /api/task/${body.id}/events`);
    await waitForText(page, 'Exactly as estimated.');
  });

  testInFullRun(
    'that failed shows why, what to do and that it is free; its request opens in the playground',
    async () => {
      const { page } = await open(taskFor('a lost one [fail]'));
      await waitForText(page, 'Why it failed');
      await page.getByRole('alert').getByText('The video could not be generated.').waitFor();
      await waitForText(page, 'Failed tasks are free: the reserved $0.10 was refunded.');
      const bill = page.getByRole('region', { name: 'Cost' });
      await bill.getByRole('columnheader', { name: 'Estimate' }).waitFor();
      await bill.getByText('5 sec × $0.02 / second = $0.10 (refunded)').waitFor();
      await page.getByRole('link', { name: 'Edit in playground' }).click();
      await heading(page, 'Playground').waitFor();
      await page.waitForFunction(() => document.querySelector('textarea')?.value.startsWith('a lost one'));
    },
  );

  testInFullRun('whose file is gone shows an error, and requests fresh links', async () => {
    const { page } = await panel.openPooled();
    await addSessionCookies(page, panel.origin(), ROOT);
    await page.route('**/artifacts/video/content*', (route) =>
      route.fulfill({ status: 410, json: { error: { code: 'artifact_gone', message: 'gone' } } }),
    );
    await page.goto(`${panel.origin()}${taskFor('a lighthouse')}`);
    await page.getByRole('alert').getByText('The vendor no longer has this file.').waitFor();
    await page.unroute('**/artifacts/video/content*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('video').waitFor();
  });

  testInFullRun('with a webhook lists its deliveries, which can be repeated', async () => {
    const { body, status } = await ask(`${panel.gateway().url}/v1/tasks/demo`, {
      token: key,
      headers: { 'x-callback-url': receiver.url },
      body: { model: 'demo-video', prompt: 'a bell [duration=0.2]' },
    });
    expect([status, body.error]).toEqual([200, undefined]);
    await waitForEnd(panel.gateway().url, key, String(body.id));
    const { page } = await open(`/tasks/${body.id}`);
    const section = page.getByRole('region', { name: 'Webhooks' });
    await section.getByText('Delivered').first().waitFor();
    await section.getByText('task.finished').first().waitFor();
    expect(await section.textContent()).not.toContain('of-the-receiver');
    const before = receiver.received.length;
    await section.getByRole('button', { name: 'Redeliver: task.finished' }).click();
    await waitForNotice(page, 'Redelivering now.');
    await until('the receiver is told again', () => receiver.received.length > before);
  });

  testInFullRun('is cancelled before the vendor has it, but not during submission', async () => {
    pausable.pause('submissions');
    void submit(panel.gateway().url, key, { prompt: 'a hesitation' }).catch(() => {});
    const live = await until('the submission is known', async () => {
      const query = new URLSearchParams({ q: 'a hesitation' });
      const { items } = await panel.root().call<{ items: { id: string }[] }>('GET', `/api/task?${query}`);
      return items[0]?.id;
    });
    const { page } = await open(`/tasks/${live}`);
    const dialog = page.getByRole('dialog', { name: 'Cancel this task?' });
    const beginToCancel = async () => {
      await page.getByRole('button', { name: 'Cancel task' }).click();
      await dialog.waitFor();
    };
    await beginToCancel();
    await dialog.getByRole('button', { name: 'Cancel task' }).click();
    await page
      .getByRole('alert')
      .getByText(/being sent to the vendor or is already there/)
      .waitFor();

    // Every few seconds the gateway looks for submissions whose process has died: right after such
    // a pass there is time until the next.
    const abandoned = leaveBehind(live);
    await page.goto(`${panel.origin()}/tasks/${abandoned}`);
    const decoy = leaveBehind(live);
    endLease(decoy);
    await waitForEnd(panel.gateway().url, key, decoy);
    await beginToCancel();
    await page.route('**/api/task/*/cancel', (route) => {
      endLease(abandoned);
      return route.continue();
    });
    await dialog.getByRole('button', { name: 'Cancel task' }).click();
    await waitForNotice(page, 'Task canceled.');
    await waitForText(page, 'It was canceled before it reached the vendor.');
    await waitForText(page, /Failed tasks are free/);
    // The dialog has such a button too, while it closes.
    await waitForCount(page.getByRole('button', { name: 'Cancel task' }), 0);
  });

  function change(work: (database: Database) => void): void {
    const database = new Database(join(panel.gateway().dataDir, 'taskgate.db'));
    database.run('PRAGMA busy_timeout = 30000');
    work(database);
    database.close();
  }

  /** The submission of another process: a free copy of `live`, which this process does not hold. */
  function leaveBehind(live: string): string {
    const id = newTaskId(Date.now());
    change((database) => {
      const names = database.query<{ name: string }, []>("select name from pragma_table_info('tasks')").all();
      const given: Record<string, string> = {
        task_id: `'${id}'`,
        quota: '0',
        lease_owner: "'gone'",
        lease_until: String(Date.now() + 60_000),
      };
      const columns = names.map(({ name }) => name).filter((name) => name !== 'id');
      const values = columns.map((name) => given[name] ?? `"${name}"`);
      const into = columns.map((name) => `"${name}"`).join(', ');
      database.run(`insert into tasks (${into}) select ${values.join(', ')} from tasks where task_id = '${live}'`);
    });
    return id;
  }

  /** Acts as if that process had died long ago. */
  const endLease = (id: string): void =>
    change((database) => void database.run('UPDATE tasks SET lease_until = 1 WHERE task_id = ?', [id]));

  testInFullRun('of another user is not found; an administrator sees it without the owner’s buttons', async () => {
    const id = await panel.root().createUser({ username: 'anna' });
    await panel.root().call('POST', '/api/user/manage', { action: 'add_quota', id, mode: 'add', value: 1_000_000 });
    const { page } = await panel.openAs({ username: 'anna', password }, taskFor('a lighthouse'));
    await page.getByRole('alert').getByText('Task not found').waitFor();
    expect(await findPageIssues(page)).toEqual([]);
    await page.getByRole('link', { name: 'All tasks' }).last().click();
    await waitForText(page, 'No tasks yet');
    await page.goto(`${panel.origin()}/tasks?scope=all`);
    await waitForText(page, 'No tasks yet');
    expect(await page.getByText('Everyone').count()).toBe(0);

    const login = await ask(`${panel.gateway().url}/api/user/login`, { body: { username: 'anna', password } });
    const anna = new Administrator(panel.gateway().url, (login.body.data as { access_token: string }).access_token);
    const body = { model: 'demo-video', prompt: 'of anna [duration=0.2]' };
    const task = await anna.call<{ id: string }>('POST', '/api/task', { plugin_key: 'demo', body });
    await addSessionCookies(page, panel.origin(), ROOT);
    await page.goto(`${panel.origin()}/tasks?q=of%20anna`);
    await page.getByRole('button', { name: 'Search everyone’s tasks' }).click();
    await page.waitForURL('**/tasks?q=of+anna&scope=all');
    await page.getByRole('link', { name: /of anna/ }).waitFor();
    await page.goto(`${panel.origin()}/tasks/${task.id}`);
    await accountMenu(page).waitFor();
    await waitForText(page, /^Finished in/);
    await page.getByRole('definition').getByText('anna', { exact: true }).waitFor();
    for (const name of ['Run again', 'Edit in playground']) expect(await page.getByText(name).count()).toBe(0);
  });
});

testInFullRun(
  'the pages have no accessibility violation and no overflow on desktop and phone, in both colour schemes',
  async () => {
    const { page } = await panel.openPooled();
    await addSessionCookies(page, panel.origin(), ROOT);
    for (const path of ['/tasks?scope=all', taskFor('a paper boat [seconds=3]'), taskFor('a lost one [fail]')]) {
      await page.goto(`${panel.origin()}${path}`);
      await waitForText(page, path.startsWith('/tasks?') ? 'a lighthouse' : 'Timeline');
      const folded = page.locator('main').getByRole('button', { name: /^(How|Book|Request|Task)/, expanded: false });
      while ((await folded.count()) > 0) await folded.first().click();
      expect([path, await findPageIssues(page)]).toEqual([path, []]);
    }
  },
);

describe('parsing', () => {
  const stream = (...chunks: string[]): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        controller.close();
      },
    });

  test('server-sent events, however they are split, without comments and an incomplete end', async () => {
    const events = [];
    const body = stream(
      ': PING\n\nid: 1\neve',
      'nt: task.updated\r\ndata: {"a":1}\r\n',
      '\r\n: x\n\ndata: 1\ndata: 2\n\ndata: lost',
    );
    for await (const event of readServerSentEvents(body)) events.push(event);
    expect(events).toEqual([
      { event: 'task.updated', data: '{"a":1}' },
      { event: 'message', data: '1\n2' },
    ]);
  });

  const data = 'data:image/webp;base64,AAAA';
  const result = '/v1/tasks/task_1/artifacts/image/content?access=a';
  test.each<[unknown, string[]]>([
    [data, [data]],
    [{ parts: [{ url: data }, { url: data }, 'data:audio/mpeg;base64,AAAA'] }, [data]],
    [`https://gate.example.org${result}`, [`${result}&redirect=false`]],
    ['https://gate.example.org/api/user/logout', []],
    [`https://elsewhere.example.org${result}`, []],
    [7, []],
  ])('the pictures of the input %p are %p', (input, pictures) =>
    expect(findPictures(input, ['https://gate.example.org/', ''])).toEqual(pictures),
  );

  test.each<[string, number | null]>([
    ['42%', 42],
    ['120%', 100],
    ['', null],
    ['soon', null],
  ])('progress %p is %p', (text, share) => expect(parsePercent(text)).toBe(share));

  test('a finished task took the vendor less than the whole time since the request', () => {
    const task = { status: 'SUCCESS', created_at: 100, submit_time: 103, finish_time: 110 } as const;
    expect([tookSeconds(task), wholeSeconds(task)]).toEqual([7, 10]);
    const refused = { ...task, status: 'FAILURE', submit_time: 0 } as const;
    expect([tookSeconds(refused), wholeSeconds(refused)]).toEqual([null, null]);
    expect(wholeSeconds({ ...task, status: 'IN_PROGRESS', finish_time: 0 })).toBeNull();
  });
});
