/**
 * The list of tasks and a task's page in the browser, against the compiled binary and the demo
 * vendor.
 */
import { Database } from 'bun:sqlite';
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { parsePercent } from '../../src/panel/pages/tasks/parse-percent.ts';
import { readServerSentEvents } from '../../src/panel/pages/tasks/server-sent-events.ts';
import { testInFullRun } from '../support/full-run.ts';
import { Administrator, ask, ROOT, startVendor, until, type VendorProcess } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';
import { accountMenu, findFlaws, giveSession, heading, password, see, told, useOnePanel } from './harness.ts';
import { startVendorDoor, type VendorDoor } from './vendor-door.ts';

let vendor: VendorProcess;
let door: VendorDoor;
let receiver: Receiver;
let key: string;

const one = useOnePanel(
  async (root, gateway) => {
    vendor = await startVendor();
    door = startVendorDoor(vendor);
    receiver = await startReceiver();
    await root.createChannel(door.url, { name: 'First channel' });
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
  await door?.stop();
  await vendor?.stop();
  await receiver?.stop();
});

afterEach(() => door?.open());

const ids = new Map<string, string>();

async function createKey(root: Administrator): Promise<string> {
  const made = await root.call<{ id: number; key: string }>('POST', '/api/token', {
    name: 'tests',
    unlimited_quota: true,
  });
  await root.call('POST', `/api/token/${made.id}/webhook-secret`);
  return made.key;
}

const open = (path: string) => one.openAs(ROOT, path);

const rows = (page: Page) => page.getByRole('table', { name: 'Tasks' }).getByRole('row');
const taskOf = (prompt: string): string => `/tasks/${ids.get(prompt)}`;
const choose = async (page: Page, field: string, option: string): Promise<void> => {
  await page.getByRole('combobox', { name: field }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
};

describe('the list', () => {
  test('is searched and narrowed, all of it in the address', async () => {
    const { page } = await open('/tasks');
    await page.getByRole('link', { name: /a paper boat/ }).waitFor();

    await page.getByLabel('Search').fill('LIGHTHOUSE');
    await page.getByRole('link', { name: /a paper boat/ }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('q')).toBe('LIGHTHOUSE');
    expect(await rows(page).count()).toBe(2);

    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('link', { name: /a paper boat/ }).waitFor();
    await choose(page, 'Status', 'Failed');
    await page.getByRole('link', { name: /a paper boat/ }).waitFor({ state: 'detached' });
    expect(await rows(page).nth(1).textContent()).toContain('a lost one');

    await page.goto(`${one.origin()}/tasks?scope=all&platform=demo&channel=1&status=SUCCESS`);
    await page.getByRole('link', { name: /a lighthouse/ }).waitFor();
    await page.getByRole('columnheader', { name: 'User' }).waitFor();
    await page.getByRole('cell', { name: 'First channel' }).first().waitFor();
    expect(await page.getByRole('combobox', { name: 'Channel' }).inputValue()).toBe('First channel');

    await page.goto(`${one.origin()}/tasks?q=${encodeURIComponent('no such thing')}`);
    await see(page, 'No task matches');
  });

  test('keeps what runs up to date by itself', async () => {
    const { page, apiCalls } = await open('/tasks');
    door.shut('results');
    await submit(one.gateway().url, key, { prompt: 'a slow train [duration=0.2]' });
    await page.goto(`${one.origin()}/tasks?q=slow%20train`);
    const row = page.getByRole('row', { name: /a slow train/ });
    await row.getByRole('progressbar').waitFor();
    door.open();
    await row.getByText('Finished').waitFor();
    expect(apiCalls.filter((call) => call === 'GET /api/task').length).toBeGreaterThan(1);
    expect(await row.getByRole('progressbar').count()).toBe(0);
  });
});

describe('a task', () => {
  test('that has finished plays its video, explains its bill and tells what happened', async () => {
    const { page } = await open(taskOf('a paper boat [seconds=3]'));
    await see(page, /^Finished in/);
    const video = page.locator('video');
    await video.evaluate((element: HTMLVideoElement) => {
      if (element.readyState >= 1) return undefined;
      return new Promise((resolve) => element.addEventListener('loadedmetadata', resolve, { once: true }));
    });
    expect(await video.evaluate((element: HTMLVideoElement) => element.duration)).toBeGreaterThan(0);
    expect(await video.evaluate((element: HTMLVideoElement) => new URL(element.src).origin)).toBe(one.origin());
    await page.evaluate(
      async (path) => {
        const { status } = await fetch(path, { headers: { range: 'bytes=0-9' } });
        if (status !== 206) throw new Error(`a range was answered ${status}`);
      },
      await video.evaluate((element: HTMLVideoElement) => element.src),
    );
    expect(await page.getByRole('link', { name: 'Download' }).getAttribute('download')).toMatch(/^task_.*-video\.mp4$/);

    await see(page, 'Estimated at $0.10. The result is worth less, so $0.04 went back to the balance.');
    const quantities = page.getByRole('table', { name: 'What is paid for' });
    expect(await quantities.getByRole('row', { name: /Seconds/ }).textContent()).toBe('Seconds5 sec3 sec');
    await page.getByRole('button', { name: 'How this was worked out' }).click();
    await page.getByRole('region', { name: 'What it cost' }).getByText('0.02 * 3 = 0.06 USD').waitFor();
    await page.getByRole('button', { name: 'Bookings on the balance' }).click();
    await see(page, 'Not needed, given back');
    await see(page, '+$0.04');
    await see(page, 'Accepted; $0.10 reserved');
    await see(page, 'Charged $0.06');

    await page.getByRole('button', { name: 'Request', exact: true }).click();
    const raw = page.getByRole('region', { name: 'Request' });
    expect(JSON.parse(String(await raw.textContent()))).toMatchObject({ seconds: 5 });
  });

  test('is run again as a new one that is followed to its end', async () => {
    const { page, apiCalls } = await open(taskOf('a lighthouse'));
    await page.getByRole('button', { name: 'Run again' }).click();
    await told(page, 'A new task with the same request is on its way.');
    await page.waitForURL((url) => url.pathname !== taskOf('a lighthouse'));
    expect(page.url()).toMatch(/\/tasks\/task_/);
    await page.locator('video').waitFor();
    await see(page, /^Finished in/);
    expect(apiCalls.filter((call) => call.endsWith('/retry'))).toHaveLength(1);
  });

  test('that runs is told of by a stream, and says why it cannot be cancelled', async () => {
    const { page, apiCalls } = await open('/tasks');
    door.shut('results');
    const { body } = await submit(one.gateway().url, key, { prompt: 'a long walk [duration=0.2]' });
    await page.goto(`${one.origin()}/tasks/${body.id}`);
    await page.getByRole('progressbar').waitFor();
    await see(page, /The vendor has it and cannot be told to stop/);
    await see(page, '$0.08 is reserved from the balance while it runs.');
    expect(await page.getByRole('button', { name: 'Cancel task' }).count()).toBe(0);
    await until('the stream is asked for', () => apiCalls.includes(`GET /api/task/${body.id}/events`));
    door.open();
    await page.locator('video').waitFor();
    expect(apiCalls).toContain(`GET /api/task/${body.id}/events`);
    await see(page, 'That is exactly what was estimated beforehand.');
  });

  test('that failed says why, what to do and that it costs nothing; its request is taken to the playground', async () => {
    const { page } = await open(taskOf('a lost one [fail]'));
    await see(page, 'Why it failed');
    await page.getByRole('alert').getByText('The video could not be generated.').waitFor();
    await see(page, 'A failed task costs nothing: the $0.10 that were reserved went back to the balance.');
    await page.getByRole('link', { name: 'Change and run' }).click();
    await heading(page, 'Playground').waitFor();
    await page.waitForFunction(() => document.querySelector('textarea')?.value.startsWith('a lost one'));
  });

  testInFullRun('whose file is gone says so, and asks for its links again', async () => {
    const { page } = await one.openKept();
    await giveSession(page, one.origin(), ROOT);
    await page.route('**/artifacts/video/content*', (route) =>
      route.fulfill({ status: 410, json: { error: { code: 'artifact_gone', message: 'gone' } } }),
    );
    await page.goto(`${one.origin()}${taskOf('a lighthouse')}`);
    await page.getByRole('alert').getByText('The vendor no longer has this file.').waitFor();
    await page.unroute('**/artifacts/video/content*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('video').waitFor();
  });

  test('with a receiver lists its webhooks, which can be sent again', async () => {
    const { body, status } = await ask(`${one.gateway().url}/v1/tasks/demo`, {
      token: key,
      headers: { 'x-callback-url': receiver.url },
      body: { model: 'demo-video', prompt: 'a bell [duration=0.2]' },
    });
    expect([status, body.error]).toEqual([200, undefined]);
    await waitForEnd(one.gateway().url, key, String(body.id));
    const { page } = await open(`/tasks/${body.id}`);
    const section = page.getByRole('region', { name: 'Webhooks' });
    await section.getByText('Delivered').first().waitFor();
    await section.getByText('task.finished').first().waitFor();
    expect(await section.textContent()).not.toContain('of-the-receiver');
    const before = receiver.received.length;
    await section.getByRole('button', { name: 'Send again: task.finished' }).click();
    await told(page, 'It is sent again now.');
    await until('the receiver is told again', () => receiver.received.length > before);
  });

  test('is cancelled while no vendor has it, though not while it is handed over', async () => {
    const prompts = ['a sweep', 'a hesitation'];
    door.shut('orders');
    for (const prompt of prompts) void submit(one.gateway().url, key, { prompt }).catch(() => {});
    const [decoy = '', id = ''] = await Promise.all(
      prompts.map((prompt) =>
        until(`${prompt} is known`, async () => {
          const query = new URLSearchParams({ q: prompt });
          const { items } = await one.root().call<{ items: { id: string }[] }>('GET', `/api/task?${query}`);
          return items[0]?.id;
        }),
      ),
    );
    const { page } = await open(`/tasks/${id}`);
    const dialog = page.getByRole('dialog', { name: 'Cancel this task?' });
    const beginToCancel = async () => {
      await page.getByRole('button', { name: 'Cancel task' }).click();
      await dialog.waitFor();
    };
    await beginToCancel();
    await dialog.getByRole('button', { name: 'Cancel task' }).click();
    await page
      .getByRole('alert')
      .getByText(/being handed to the vendor at this moment, or/)
      .waitFor();

    // The gateway looks every few seconds for orders whose process has gone: right after one look
    // there is time until the next.
    abandon(decoy);
    await waitForEnd(one.gateway().url, key, decoy);
    await beginToCancel();
    await page.route('**/api/task/*/cancel', (route) => {
      abandon(id);
      return route.continue();
    });
    await dialog.getByRole('button', { name: 'Cancel task' }).click();
    await told(page, 'The task is cancelled.');
    await see(page, 'It was cancelled before the vendor took it.');
    await see(page, /A failed task costs nothing/);
    expect(await page.getByRole('button', { name: 'Cancel task' }).count()).toBe(0);
  });

  /** As if the process that handed it to the vendor had died long ago. */
  function abandon(id: string): void {
    const database = new Database(join(one.gateway().dataDir, 'taskgate.db'));
    database.run('PRAGMA busy_timeout = 30000');
    database.run("UPDATE tasks SET lease_owner = 'gone', lease_until = 1 WHERE task_id = ?", [id]);
    database.close();
  }

  test('of somebody else is no task to a user; an administrator sees it without its owner’s buttons', async () => {
    const { id } = await one.root().call<{ id: number }>('POST', '/api/user', { username: 'anna', password });
    await one.root().call('POST', '/api/user/manage', { action: 'add_quota', id, mode: 'add', value: 1_000_000 });
    const { page } = await one.openAs({ username: 'anna', password }, taskOf('a lighthouse'));
    await page.getByRole('alert').getByText('There is no such task').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('link', { name: 'All tasks' }).last().click();
    await see(page, 'No tasks yet');
    await page.goto(`${one.origin()}/tasks?scope=all`);
    await see(page, 'No tasks yet');
    expect(await page.getByText('Everybody’s').count()).toBe(0);

    const login = await ask(`${one.gateway().url}/api/user/login`, { body: { username: 'anna', password } });
    const anna = new Administrator(one.gateway().url, (login.body.data as { access_token: string }).access_token);
    const body = { model: 'demo-video', prompt: 'of anna [duration=0.2]' };
    const task = await anna.call<{ id: string }>('POST', '/api/task', { plugin_key: 'demo', body });
    await giveSession(page, one.origin(), ROOT);
    await page.goto(`${one.origin()}/tasks/${task.id}`);
    await accountMenu(page).waitFor();
    await see(page, /^Finished in/);
    await page.getByRole('definition').getByText('anna', { exact: true }).waitFor();
    for (const name of ['Run again', 'Change and run']) expect(await page.getByText(name).count()).toBe(0);
  });
});

testInFullRun('on desk and phone, by day and night, the pages have no barriers and no sideways scrolling', async () => {
  const { page } = await one.openKept();
  await giveSession(page, one.origin(), ROOT);
  for (const path of ['/tasks?scope=all', taskOf('a paper boat [seconds=3]'), taskOf('a lost one [fail]')]) {
    await page.goto(`${one.origin()}${path}`);
    await see(page, path.startsWith('/tasks?') ? 'a lighthouse' : 'What happened');
    const folded = page.locator('main').getByRole('button', { name: /^(How|Book|Request|Task)/, expanded: false });
    while ((await folded.count()) > 0) await folded.first().click();
    expect([path, await findFlaws(page)]).toEqual([path, []]);
  }
});

describe('what the page reads', () => {
  const stream = (...chunks: string[]): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        controller.close();
      },
    });

  test('events of a stream, however they are cut, without comments and a broken end', async () => {
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

  test.each<[string, number | null]>([
    ['42%', 42],
    ['120%', 100],
    ['', null],
    ['soon', null],
  ])('progress %p is %p', (text, share) => expect(parsePercent(text)).toBe(share));
});
