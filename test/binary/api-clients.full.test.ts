/**
 * What docs/api.md promises API clients, on the executable: the guide word for word, repeats on two
 * nodes, streams, a node that dies.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import {
  type Administrator,
  ask,
  type Gateway,
  letNothingWait,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { readBlocks, Terminal } from '../support/guide-terminal.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const GUIDE = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
const PRICE = { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' };
const BILL = 5 * 0.02 * 500_000;
const ENV = { TASK_POLL_INTERVAL_SECONDS: '1', TASK_PLUGIN_PROTOCOL_TICK_MILLISECONDS: '100' };
const ORDER = { model: 'demo-video', prompt: 'a boat [duration=0.3]', seconds: 5 };

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor?.stop());

type TaskEvent = { id: string; event: string; data: Record<string, unknown> };

/** Reads a stream of events; `events` grows while it runs. */
async function openStream(url: string, key: string) {
  const leaving = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${key}`, 'last-event-id': '7-IN_PROGRESS' },
    signal: leaving.signal,
  });
  const events: TaskEvent[] = [];
  let comments = 0;
  const done = (async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const frame = text.slice(0, end);
        text = text.slice(end + 2);
        if (frame.startsWith(':')) {
          comments += 1;
          continue;
        }
        const [, id = '', event = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(frame) ?? [];
        events.push({ id, event, data: JSON.parse(data) as Record<string, unknown> });
      }
    }
  })();
  return { response, events, done, comments: () => comments, leave: () => leaving.abort() };
}

describe('two nodes on PostgreSQL', () => {
  let nodes: [Gateway, Gateway];
  let proxy: HoldingProxy;
  let admin: Administrator;
  let key: string;

  beforeAll(async () => {
    const databaseUrl = await migratedDatabaseUrl();
    const env = { ...ENV, TASK_PLUGIN_PROTOCOL_HEARTBEAT_SECONDS: '1' };
    proxy = await startHoldingProxy({ host: '127.0.0.1', port: vendor.port });
    const first = await startGateway({ databaseUrl, env });
    admin = await setUp(first);
    await letNothingWait(admin);
    await admin.createChannel(proxy.url);
    await admin.call('PUT', '/api/price', PRICE);
    key = await admin.createKey();
    nodes = [first, await startGateway({ databaseUrl, env: { ...env, UPDATE_TASK: 'false' } })];
  });
  afterAll(async () => {
    for (const node of nodes ?? []) await node.stop();
    await proxy?.stop();
  });

  test('docs/api.md works word for word', async () => {
    const env = { GATE: nodes[0].url, KEY: key, ACCESS_TOKEN: admin.token };
    const terminal = new Terminal(temporaryFolder(), process.env.PATH ?? '', env);
    const commands = readBlocks(GUIDE).flatMap((block) => block.commands);
    expect(commands.length).toBeGreaterThan(10);
    // The guide's task runs until its stream has begun, however slow the machine is.
    Object.assign(proxy, { mode: 'hold_answers', match: 'GET /v1/jobs/' });
    for (const command of commands) {
      const ended = terminal.run(command);
      if (proxy.mode !== 'pass' && command.line.includes('/events')) {
        await terminal.shows('event: task.updated');
        proxy.release();
      }
      await ended;
    }
    expect(proxy.mode).toBe('pass');
    terminal.close();
  });

  test('50 concurrent requests with one Idempotency-Key on both nodes make one task, one bill and one order', async () => {
    const quota = await admin.quota();
    const { creates } = await vendor.stats();
    const send = (i: number) =>
      ask(`${nodes[i % 2]?.url}/v1/tasks/demo`, {
        token: key,
        body: ORDER,
        headers: { 'idempotency-key': 'fifty at once' },
      });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => send(i)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    const [body, ...others] = new Set(answers.map((answer) => JSON.stringify(answer.body)));
    expect(others).toEqual([]);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    const { id } = JSON.parse(body ?? '{}') as { id: string };
    expect((await waitForEnd(nodes[1].url, key, id)).status).toBe('SUCCESS');
    expect((await vendor.stats()).creates).toBe((creates as number) + 1);
    expect(await admin.quota()).toBe(quota - BILL);
  });

  test('every submit surface honours an Idempotency-Key and refuses one that is misused', async () => {
    const post = (
      path: string,
      body: unknown,
      { idempotencyKey, node = 0 }: { idempotencyKey: string; node?: number },
    ) => ask(`${nodes[node]?.url}${path}`, { token: key, body, headers: { 'idempotency-key': idempotencyKey } });
    const video = await post('/v1/videos', ORDER, { idempotencyKey: 'a video' });
    const again = await post('/v1/videos', ORDER, { idempotencyKey: 'a video', node: 1 });
    expect([again.status, again.body.id]).toEqual([200, video.body.id]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const response = { model: 'demo-video', input: 'a boat [duration=0.3]', background: true };
    const [made, repeated] = [
      await post('/v1/responses', response, { idempotencyKey: 'a response' }),
      await post('/v1/responses', response, { idempotencyKey: 'a response', node: 1 }),
    ];
    expect([made.status, repeated.status, repeated.body.id]).toEqual([200, 200, made.body.id]);
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    const native = await post('/demo/v1/videos', ORDER, { idempotencyKey: "the vendor's own" });
    const nativeAgain = await post('/demo/v1/videos', ORDER, { idempotencyKey: "the vendor's own", node: 1 });
    expect([native.status, nativeAgain.status]).toEqual([200, 200]);
    expect(nativeAgain.headers.get('idempotent-replayed')).toBe('true');
    const elsewhere = await post('/v1/tasks/demo', ORDER, { idempotencyKey: 'a video', node: 1 });
    expect([elsewhere.status, elsewhere.body.error]).toMatchObject([409, { code: 'idempotency_key_reused' }]);
    const refused = await post('/v1/tasks/demo', { ...ORDER, prompt: 'a [submit=400]' }, { idempotencyKey: 'refused' });
    const refusedAgain = await post(
      '/v1/tasks/demo',
      { ...ORDER, prompt: 'a [submit=400]' },
      { idempotencyKey: 'refused', node: 1 },
    );
    expect([refusedAgain.status, refusedAgain.body]).toEqual([refused.status, refused.body]);
    expect(refused.status).toBe(400);
    expect(refusedAgain.headers.get('idempotent-replayed')).toBe('true');
    const long = await post('/v1/tasks/demo', ORDER, { idempotencyKey: 'k'.repeat(256) });
    expect([long.status, long.body.error]).toMatchObject([400, { code: 'invalid_idempotency_key' }]);
    const unknown = { ...ORDER, model: 'nobody-has-it' };
    expect((await post('/v1/videos', unknown, { idempotencyKey: 'a mistake' })).status).toBe(404);
    expect((await post('/v1/videos', ORDER, { idempotencyKey: 'a mistake' })).status).toBe(200);
  });

  test('a stream on one node follows a task that the other node polls, to its end', async () => {
    const { body } = await submit(nodes[0].url, key, { prompt: 'a [duration=6]' });
    const stream = await openStream(`${nodes[1].url}/v1/tasks/${body.id}/events`, key);
    expect(stream.response.status).toBe(200);
    expect(stream.response.headers.get('content-type')).toStartWith('text/event-stream');
    expect(stream.response.headers.get('access-control-allow-origin')).toBe('*');
    await stream.done;
    const kinds = stream.events.map(({ event }) => event);
    expect(kinds.slice(0, -1).every((kind) => kind === 'task.updated')).toBe(true);
    expect(kinds.at(-1)).toBe('task.finished');
    expect(kinds.length).toBeGreaterThan(2);
    expect(stream.comments()).toBeGreaterThan(0);
    const read = await ask(`${nodes[1].url}/v1/tasks/${body.id}`, { token: key });
    expect(stream.events.at(-1)?.data).toEqual(read.body);
    const late = await openStream(`${nodes[0].url}/v1/tasks/${body.id}/events`, key);
    await late.done;
    expect(late.events).toEqual([expect.objectContaining({ event: 'task.finished', data: read.body })]);
  });

  test('a key may hold two streams; a client that leaves frees its slot, and HEAD takes none', async () => {
    const { body } = await submit(nodes[0].url, key, { prompt: 'a [duration=600]' });
    const url = `${nodes[1].url}/v1/tasks/${body.id}/events`;
    for (let i = 0; i < 5; i += 1) {
      const head = await ask(url, { method: 'HEAD', token: key });
      expect(head.status).toBe(200);
    }
    const [first, second] = [await openStream(url, key), await openStream(url, key)];
    const third = await ask(url, { token: key });
    expect([third.status, third.body.error]).toMatchObject([429, { code: 'rate_limit_exceeded' }]);
    first.leave();
    await first.done.catch(() => undefined);
    const room = await until('a slot is free again', async () => {
      const stream = await openStream(url, key);
      if (stream.response.status === 200) return stream;
      stream.leave();
      await stream.done.catch(() => undefined);
      return undefined;
    });
    for (const stream of [second, room]) {
      stream.leave();
      await stream.done.catch(() => undefined);
    }
    // The task goes on.
    expect((await ask(`${nodes[0].url}/v1/tasks/${body.id}`, { token: key })).body.status).not.toBe('FAILURE');
  });

  test('another user can neither follow nor cancel a task, and a running task cannot be cancelled', async () => {
    const { body } = await submit(nodes[0].url, key, { prompt: 'a [duration=600]' });
    const path = `${nodes[0].url}/v1/tasks/${body.id}`;
    for (const [method, url, status] of [
      ['GET', `${path}/events`, 401],
      ['POST', `${path}/cancel`, 401],
    ] as const) {
      expect((await ask(url, { method })).status).toBe(status);
    }
    expect((await ask(`${nodes[0].url}/v1/tasks/task_x/events`, { token: key })).status).toBe(404);
    const cancel = await ask(`${path}/cancel`, { method: 'POST', token: key });
    expect([cancel.status, cancel.body.error]).toMatchObject([409, { code: 'cancel_unsupported' }]);
    const inPanel = await ask(`${nodes[0].url}/api/task/${body.id}/cancel`, { method: 'POST', token: admin.token });
    expect([inPanel.status, inPanel.body.code]).toEqual([409, 'CANCEL_UNSUPPORTED']);
  });

  test('a node that stops does not wait for its streams', async () => {
    const { body } = await submit(nodes[0].url, key, { prompt: 'a [duration=600]' });
    const stream = await openStream(`${nodes[1].url}/v1/tasks/${body.id}/events`, key);
    await until('the stream has begun', () => stream.events.length > 0);
    const lived = startLivedTime();
    expect(await nodes[1].stop()).toBe(0);
    expect(lived.stop()).toBeLessThan(5000);
    await stream.done.catch(() => undefined);
  });
});

test('a node dies while the vendor has the order: the repeat reports it, and nothing is ordered twice', async () => {
  const dataDir = temporaryFolder();
  const first = await startGateway({ dataDir, env: ENV });
  let second: Gateway | undefined;
  try {
    const admin = await setUp(first);
    await letNothingWait(admin);
    await admin.createChannel(vendor.url);
    await admin.call('PUT', '/api/price', PRICE);
    const key = await admin.createKey();
    const quota = await admin.quota();
    const { creates } = await vendor.stats();
    const headers = { 'idempotency-key': 'before the crash' };
    const body = { ...ORDER, prompt: 'a boat [delay=30]' };
    const cut = ask(`${first.url}/v1/tasks/demo`, { token: key, body, headers }).catch(() => undefined);
    await until('the vendor has the order', async () => (await vendor.stats()).creates === (creates as number) + 1);
    await first.kill();
    await cut;
    second = await startGateway({ dataDir, port: first.port, env: ENV });
    const repeat = await ask(`${second.url}/v1/tasks/demo`, { token: key, body, headers });
    expect([repeat.status, repeat.body.error]).toMatchObject([503, { code: 'submission_interrupted' }]);
    expect(repeat.headers.get('x-should-retry')).toBe('false');
    expect((await vendor.stats()).creates).toBe((creates as number) + 1);
    const back = (
      await ask(`${second.url}/api/user/login`, { body: { username: 'root', password: 'correct horse battery' } })
    ).body.data as { user: { quota: number } };
    expect(back.user.quota).toBe(quota);
  } finally {
    await first.kill();
    await second?.stop();
  }
});
