/**
 * The worker that delivers notices: what counts as delivered, when it retries, which addresses it
 * never calls, and how receivers and users share it.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  AppError,
  type Clock,
  createSecretBox,
  type Logger,
  newMessageId,
  newTaskId,
  newUuid,
  randomBase64,
  silentLogger,
  systemClock,
  systemRandom,
} from '../../src/kernel/index.ts';
import type { AttachArtifacts } from '../../src/notifications/attach-artifacts.ts';
import { createCallbackUrls } from '../../src/notifications/callback-urls.ts';
import { deliverMail } from '../../src/notifications/deliver-webhook.ts';
import { createOutboxWorker, type OutboxWorker } from '../../src/notifications/outbox-worker.ts';
import type { AllowedReceivers, GatewayDelivery } from '../../src/notifications/types.ts';
import { openStore } from '../../src/store/index.ts';
import { MAIL, NO_API_KEY, type Store, type WebhookDelivery, type WebhookRecord } from '../../src/store/ports/index.ts';
import { createUpstream, type UpstreamOptions } from '../../src/upstream/index.ts';
import { createTestClock } from '../auth/test-clock.ts';
import { addKey, addRunningTask, newTask } from '../contract/each-store.ts';
import { recordingLogger } from '../http/kit-harness.ts';
import { addUser } from '../support/add-user.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver, verified } from '../support/webhook-receiver.ts';

const DAY = 86_400_000;
const LOOPBACK: AllowedReceivers = { names: [], ranges: ['127.0.0.0/8'] };
const secretBox = createSecretBox(['crypto-secret-of-the-tests']);
const secret = `whsec_${randomBase64(32)}`;

let folder: string;
let receiver: Receiver;
beforeAll(async () => {
  folder = temporaryFolder();
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});
beforeEach(() => {
  receiver.received.length = 0;
  receiver.answer((_, response) => void response.writeHead(204).end());
});

type Node = Awaited<ReturnType<typeof openNode>>;

/** A node with its own database and an API key that has a secret. */
async function openNode(
  options: {
    clock?: Clock;
    logger?: Logger;
    allowed?: AllowedReceivers;
    upstream?: Partial<UpstreamOptions>;
    hostConcurrency?: number;
    attemptMs?: number;
    attachArtifacts?: AttachArtifacts;
    sendMail?: GatewayDelivery['sendMail'];
  } = {},
) {
  // The clock stands still, so no retry happens during a test.
  const { clock = createTestClock(), allowed = LOOPBACK } = options;
  const dataDir = join(folder, newUuid());
  const store = await openStore({ databaseUrl: '', dataDir, synchronous: 'NORMAL', clock, logger: silentLogger });
  stops.push(() => store.close());
  const user = await addUser(store);
  const { id } = await addKey(store, user.id);
  const key = await store.apiKeys.rotateWebhookSecret(id, user.id, {
    ...{ present: null, sealed: secretBox.seal(secret), formers: [] },
  });
  if (!key) throw new Error('the key is gone');
  const upstream = createUpstream({
    ...{ allowPrivate: false, privateRanges: allowed.ranges, clock: systemClock, logger: silentLogger },
    ...options.upstream,
  });
  stops.push(() => upstream.close());
  const workers: OutboxWorker[] = [];
  const startWorker = (over: Store = store): OutboxWorker => {
    const worker = createOutboxWorker({
      ...{
        store: over,
        clock,
        random: systemRandom,
        upstream,
        logger: options.logger ?? silentLogger,
        nodeId: newUuid(),
      },
      attachArtifacts: options.attachArtifacts ?? (async () => ({})),
      webhooks: {
        ...(options.sendMail ? { gateway: { signingKeys: async () => undefined, sendMail: options.sendMail } } : {}),
        ...{ upstream, secretBox, urls: createCallbackUrls(allowed) },
        ...{
          keptDays: () => 7,
          updateEveryMs: 0,
          hostConcurrency: options.hostConcurrency ?? 8,
          attemptMs: options.attemptMs ?? 15_000,
        },
      },
    });
    worker.start();
    workers.push(worker);
    stops.push(() => worker.stop(0));
    return worker;
  };
  /** As after each write of a notice. */
  const wake = () => {
    for (const worker of workers) worker.wake();
  };
  return { store, user, key, clock, startWorker, wake };
}

/** Writes a notice for `url` and returns its task's id. */
async function notify(
  { store, user, key, wake }: Node,
  url = receiver.url,
  before: (taskId: string) => void = () => {},
): Promise<string> {
  const taskId = newTaskId(Date.now());
  before(taskId);
  await store.webhooks.putFinish(
    {
      ...{ eventId: newMessageId(), taskId, userId: user.id, apiKeyId: key.id, event: 'task.finished', url },
      host: new URL(url).host,
      payload: { type: 'task.finished', timestamp: '2026-01-01T00:00:00.000Z', data: { id: taskId } },
      createdAt: systemClock.unix(),
    },
    DAY,
  );
  wake();
  return taskId;
}

type Seen = WebhookRecord & { deliveries: WebhookDelivery[] };
async function look(store: Store, taskId: string): Promise<Seen> {
  const [notice] = (await store.webhooks.listOfTask(taskId, { page: 1, pageSize: 1 })).items;
  if (!notice) throw new Error('there is no such notice');
  return notice;
}
/** The notice once `attempts` have ended. */
async function after(store: Store, taskId: string, attempts = 1): Promise<Seen> {
  await until(async () => (await look(store, taskId)).attempts >= attempts);
  return look(store, taskId);
}

test('poison message: an email that cannot be written is an attempt that failed, and ends like others', async () => {
  const { logger, lines } = recordingLogger();
  const unknown = async () => {
    throw new TypeError('undefined is not an object');
  };
  const webhooks = { gateway: { sendMail: unknown } } as unknown as Parameters<typeof deliverMail>[0]['webhooks'];
  const notice = { eventId: 'msg_new', retries: 0 } as WebhookRecord;
  const { outcome, delivery } = await deliverMail(
    { clock: createTestClock(), random: systemRandom, logger, webhooks },
    notice,
  );
  expect([outcome.status, delivery.error]).toEqual(['retry', 'mail_failed']);
  expect(lines).toHaveLength(1);
});

describe('answers of a receiver', () => {
  let node: Node;
  const { logger, lines } = recordingLogger();
  beforeEach(async () => {
    node = await openNode({ logger });
    node.startWorker();
  });

  /** Answers each notice by the query of its URL; returns the outcomes in order. */
  async function answered(cases: { status: number; headers?: Record<string, string> }[]): Promise<Seen[]> {
    const answers = new Map<string, (typeof cases)[number]>();
    receiver.answer(({ payload }, response) => {
      const { status, headers } = answers.get(payload.data.id) ?? { status: 500, headers: {} };
      response.writeHead(status, headers).end(status < 300 ? undefined : 'an answer that nobody keeps');
    });
    const shown = cases.map((one) => notify(node, undefined, (id) => answers.set(id, one)));
    return Promise.all(shown.map(async (taskId) => after(node.store, await taskId)));
  }
  const pause = ({ nextAttemptAtMs, lastAttemptAtMs }: Seen) => nextAttemptAtMs - lastAttemptAtMs;

  test('2xx means delivered', async () => {
    const statuses = [200, 201, 202, 204, 299];
    for (const [i, seen] of (await answered(statuses.map((status) => ({ status })))).entries()) {
      expect(seen).toMatchObject({ status: 'delivered', deliveries: [{ httpStatus: statuses[i], error: '' }] });
    }
    expect(receiver.received.map((one) => verified(one, secret))).toEqual([1, 1, 1, 1, 1]);
  });

  test('410 ends the notice at once', async () => {
    const [seen] = await answered([{ status: 410 }]);
    expect(seen).toMatchObject({ status: 'failed', attempts: 1, deliveries: [{ httpStatus: 410 }] });
  });

  test('the line about a notice that is given up leads to the task and to the request that made it', async () => {
    const { store, user } = node;
    receiver.answer((_, response) => void response.writeHead(410).end());
    const execution = { ...newTask().execution, requestId: 'request-of-the-task' };
    // Written before the notice, by the same writer.
    const taskId = await notify(node, undefined, (id) => {
      void addRunningTask(store, { taskId: id, userId: user.id, execution });
    });
    const line = await until(() => lines.find(({ fields }) => (fields as { task_id?: string }).task_id === taskId));
    expect(line).toMatchObject({
      ...{ level: 'info', message: 'webhook notice failed; it is not retried' },
      fields: { request_id: 'request-of-the-task', webhook_id: expect.stringMatching(/^msg_/) },
    });
  });

  test('everything else is retried after 5 s, and no redirect is followed', async () => {
    const statuses = [300, 301, 302, 303, 307, 308, 400, 401, 404, 409, 429, 500, 502, 503];
    const headers = { location: receiver.url };
    for (const [i, seen] of (await answered(statuses.map((status) => ({ status, headers })))).entries()) {
      const { durationMs, ...delivery } = seen.deliveries[0] ?? { durationMs: -1 };
      expect(delivery).toEqual({ at: expect.any(Number), httpStatus: statuses[i] ?? 0, error: '' });
      expect(durationMs).toBeGreaterThanOrEqual(0);
      expect(seen).toMatchObject({ status: 'pending', attempts: 1, retries: 1 });
      expect(pause(seen)).toBeGreaterThan(4400);
      expect(pause(seen)).toBeLessThan(8000);
    }
    expect(receiver.received).toHaveLength(statuses.length);
  });

  test('Retry-After is obeyed up to an hour, and never shortens the pause', async () => {
    const cases: [retryAfter: string, least: number, most: number][] = [
      ['120', 119_000, 125_000],
      ['1', 4400, 8000],
      ['100000', 3_599_000, 3_605_000],
      [new Date(node.clock.nowMs() + 600_000).toUTCString(), 580_000, 605_000],
      ['soon', 4400, 8000],
    ];
    const all = await answered(cases.map(([retryAfter]) => ({ status: 503, headers: { 'retry-after': retryAfter } })));
    for (const [i, seen] of all.entries()) {
      expect(pause(seen)).toBeGreaterThan(cases[i]?.[1] ?? 0);
      expect(pause(seen)).toBeLessThan(cases[i]?.[2] ?? 0);
    }
  });

  test('a flood in the answer: its status counts, at most 64 KiB is read, and nothing is stored', async () => {
    let sent = 0;
    receiver.answer((_, response) => {
      response.writeHead(200);
      const pour = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 'flood'))) sent += 1;
      };
      response.on('drain', pour);
      pour();
    });
    const seen = await after(node.store, await notify(node));
    expect(seen.status).toBe('delivered');
    expect(JSON.stringify(seen)).not.toContain('flood');
    // Plus what the sockets buffer.
    expect(sent).toBeLessThan(200);
  });

  test('a broken connection and a closed port are retried, and the attempt says which it was', async () => {
    receiver.answer((_, response) => void response.socket?.destroy());
    expect(await after(node.store, await notify(node))).toMatchObject({
      status: 'pending',
      deliveries: [{ httpStatus: 0, error: 'broken' }],
    });
    const closed = `http://127.0.0.1:${await freePort()}/`;
    expect(await after(node.store, await notify(node, closed))).toMatchObject({
      status: 'pending',
      deliveries: [{ httpStatus: 0, error: 'connect' }],
    });
  });
});

describe('an API key', () => {
  test('that was deleted ends its notices; with an unreadable secret they are retried', async () => {
    const node = await openNode();
    const { store, key, user } = node;
    const foreign = createSecretBox(['another-secret']).seal(secret);
    await store.apiKeys.rotateWebhookSecret(key.id, user.id, {
      ...{ present: key.webhookSecretSealed, sealed: foreign, formers: [] },
    });
    const unreadable = await notify(node);
    node.startWorker();
    expect(await after(store, unreadable)).toMatchObject({
      status: 'pending',
      deliveries: [{ httpStatus: 0, error: 'secret_unreadable' }],
    });
    await store.apiKeys.delete(key.id, user.id);
    expect(await after(store, await notify(node))).toMatchObject({
      status: 'failed',
      deliveries: [{ httpStatus: 0, error: 'key_deleted' }],
    });
    expect(receiver.received).toEqual([]);
  });
});

describe('server-side request forgery', () => {
  /** Expects that `url` is never connected to, although it was once accepted. */
  async function neverCalled(url: string, options: Parameters<typeof openNode>[0], error: string): Promise<void> {
    const node = await openNode(options);
    node.startWorker();
    const seen = await after(node.store, await notify(node, url));
    expect(seen).toMatchObject({ status: 'pending', deliveries: [{ httpStatus: 0, error }] });
    expect(receiver.received).toEqual([]);
  }
  const nobody: AllowedReceivers = { names: [], ranges: [] };
  const resolving = (...addresses: string[]) => ({
    resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  });
  const port = () => receiver.port;

  test('a name that resolves to loopback', () =>
    neverCalled(`https://hooks.example:${port()}/`, { allowed: nobody, upstream: resolving('127.0.0.1') }, 'refused'));
  test('a name that resolves to a public and a private address (rebinding)', () =>
    neverCalled(
      `https://hooks.example:${port()}/`,
      { allowed: nobody, upstream: resolving('8.8.8.8', '10.0.0.1') },
      'refused',
    ));
  test.each(['169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254', '64:ff9b::a9fe:a9fe', 'fe80::1'])(
    'a name that is allowed and resolves to %s',
    (address) =>
      neverCalled(
        'http://hooks.lan/',
        { allowed: { names: ['hooks.lan'], ranges: ['10.0.0.0/8'] }, upstream: resolving(address) },
        'refused',
      ),
  );
  test('a name of an allowed range that resolves to another private network', () =>
    neverCalled(
      'https://hooks.example/',
      { allowed: { names: [], ranges: ['10.0.0.0/8'] }, upstream: resolving('192.168.0.1') },
      'refused',
    ));
  test('a private network in NAT64 form, where its IPv4 range is allowed', () =>
    neverCalled(
      'https://hooks.example/',
      { allowed: { names: [], ranges: ['10.0.0.0/8'] }, upstream: resolving('64:ff9b::10.0.0.1') },
      'refused',
    ));
  test('plain http to a receiver that was allowed when the task was submitted', () =>
    neverCalled(receiver.url, { allowed: nobody }, 'not_allowed'));

  test('mail injection: a receiver with the name of the mail queue is called, its notice never mailed', async () => {
    const node = await openNode({ upstream: { resolve: async () => [{ address: '192.168.0.1', family: 4 }] } });
    node.startWorker();
    const { host, deliveries } = await after(node.store, await notify(node, 'https://mailto/'));
    // Emails have a queue that no receiver can fill.
    expect(host).not.toBe(MAIL);
    expect(deliveries).toMatchObject([{ error: 'refused' }]);
  });

  test('a redirect to the metadata service is not followed', async () => {
    const node = await openNode();
    node.startWorker();
    const location = 'http://169.254.169.254/latest/meta-data/';
    receiver.answer((_, response) => void response.writeHead(307, { location }).end());
    expect(await after(node.store, await notify(node))).toMatchObject({
      status: 'pending',
      deliveries: [{ httpStatus: 307, error: '' }],
    });
  });

  test('UPSTREAM_ALLOW_PRIVATE or not: a host allowed by name is called, at its private address', async () => {
    const node = await openNode({ allowed: { names: ['hooks.lan'], ranges: [] }, upstream: resolving('127.0.0.1') });
    node.startWorker();
    expect((await after(node.store, await notify(node, `http://hooks.lan:${port()}/`))).status).toBe('delivered');
  });
});

test('the list of results takes none of the time that a receiver has', async () => {
  // As long as plugins may take after they have failed a few times.
  const attachArtifacts: AttachArtifacts = async (_, signal) => {
    await systemClock.sleep(3000, signal);
    return {};
  };
  const node = await openNode({ attemptMs: 2500, attachArtifacts });
  node.startWorker();
  const { status, deliveries } = await after(node.store, await notify(node));
  expect([status, deliveries[0]?.error]).toEqual(['delivered', '']);
  expect(deliveries[0]?.durationMs).toBeLessThan(2500);
});

test('an email server that takes half a minute gets the email of one node alone', async () => {
  const clock = createTestClock();
  const { promise: taken, resolve: take } = Promise.withResolvers<void>();
  const sent: string[] = [];
  const sendMail = async ({ eventId }: WebhookRecord) => {
    sent.push(eventId);
    await taken;
    return 'sent' as const;
  };
  const node = await openNode({ clock, sendMail, attemptMs: 1000 });
  const { store, user } = node;
  const taskId = `balance:${user.id}`;
  const given = { eventId: newMessageId(), taskId, userId: user.id, apiKeyId: NO_API_KEY, url: MAIL, host: MAIL };
  await store.webhooks.putGatewayNotice({ ...given, event: 'balance.low', payload: {}, createdAt: clock.unix() }, DAY);
  node.startWorker();
  await until(() => sent.length === 1);
  clock.advance(50);
  const another = { owner: newUuid(), limit: 9, leaseForMs: 1000, exclude: { hosts: [], users: [], userHosts: [] } };
  expect(await store.webhooks.claim(another)).toEqual([]);
  take();
  expect((await after(store, taskId)).status).toBe('delivered');
});

test('a notice that failed is repeated when it is due, not when the sleep of the loop ends', async () => {
  const sleeps: number[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      sleeps.push(ms);
      return systemClock.sleep(ms, signal);
    },
  };
  const node = await openNode({ clock });
  receiver.answer((_, response) => void setTimeout(() => response.writeHead(500).end(), 600));
  node.startWorker();
  const taskId = await notify(node);
  // The answer comes when the loop knows nothing that is due.
  await until(() => (sleeps.at(-1) ?? 0) > 9000);
  await after(node.store, taskId);
  await until(() => (sleeps.at(-1) ?? Number.NaN) < 9000);
});

describe('fair delivery', () => {
  test('a receiver that never answers holds only its slots and delays no other; a stop releases all leases', async () => {
    const node = await openNode({ hostConcurrency: 2, attemptMs: 60_000 });
    const silent = await startReceiver();
    silent.answer(() => {});
    stops.push(() => silent.stop());
    const stuck = await Promise.all(Array.from({ length: 20 }, () => notify(node, silent.url)));
    const worker = node.startWorker();
    await until(() => silent.received.length === 2);
    const others = await Promise.all(Array.from({ length: 20 }, () => notify(node)));
    for (const taskId of others) expect((await after(node.store, taskId)).status).toBe('delivered');
    expect(silent.received).toHaveLength(2);
    expect(worker.stats()).toEqual({ underway: 2, delivered: 20, retried: 0, failed: 0 });

    await worker.stop(50);
    for (const taskId of stuck) {
      const seen = await look(node.store, taskId);
      expect(seen).toMatchObject({ status: 'pending', attempts: 0, leaseOwner: null, deliveries: [] });
    }
    // At least once: the running ones are repeated under the same ids.
    silent.answer((_, response) => void response.writeHead(204).end());
    node.startWorker();
    for (const taskId of stuck) expect((await after(node.store, taskId)).status).toBe('delivered');
    const ids = silent.received.map(({ id }) => id);
    expect([ids.length, new Set(ids).size]).toEqual([22, 20]);
  });

  test('an answer that does not come or never ends is cut off at the timeout', async () => {
    const node = await openNode({ attemptMs: 4000 });
    node.startWorker();
    let drips = '';
    receiver.answer(({ payload }, response) => {
      if (payload.data.id !== drips) return;
      response.writeHead(500);
      const drip = setInterval(() => response.write('.'), 50);
      response.on('close', () => clearInterval(drip));
    });
    await notify(node, undefined, (taskId) => {
      drips = taskId;
    });
    const silent = await after(node.store, await notify(node));
    expect(silent).toMatchObject({ status: 'pending', deliveries: [{ httpStatus: 0, error: 'timeout' }] });
    const dripping = await after(node.store, drips);
    expect(dripping).toMatchObject({ status: 'pending', deliveries: [{ httpStatus: 500, error: '' }] });
    for (const { deliveries } of [dripping, silent]) expect(deliveries[0]?.durationMs).toBeGreaterThanOrEqual(3995);
  });

  test('a user with silent receivers at many hosts leaves capacity for others, and users with many notices take turns', async () => {
    const silent = await startReceiver(0, '0.0.0.0');
    stops.push(() => silent.stop());
    silent.answer(() => {});
    const node = await openNode({ attemptMs: 60_000 });
    const greedy = { ...node, user: await addUser(node.store) };
    await node.store.transaction(async (tx) => {
      const many = { ...greedy, store: { ...node.store, ...tx } };
      for (let host = 2; host < 72; host += 1) {
        for (let nth = 0; nth < 9; nth += 1) await notify(many, `http://127.0.0.${host}:${silent.port}/`);
      }
    });
    node.startWorker();
    await until(() => silent.received.length > 100);
    const taskId = await notify(node);
    expect((await after(node.store, taskId)).status).toBe('delivered');

    const slow = await openNode({ hostConcurrency: 1 });
    const other = { ...slow, user: await addUser(slow.store) };
    receiver.received.length = 0;
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    receiver.answer((_, response) => void answered.then(() => response.writeHead(204).end()));
    for (let nth = 0; nth < 40; nth += 1) await notify(slow);
    slow.startWorker();
    await until(() => receiver.received.length === 1);
    const turn = await notify(other);
    await until(async () => (await look(slow.store, turn)).leaseOwner !== null);
    answer();
    await after(slow.store, turn);
    expect(receiver.received.findIndex(({ payload }) => payload.data.id === turn)).toBeLessThan(5);
  });

  test('an outcome is stored when the database is back, and the attempt is not repeated', async () => {
    const node = await openNode();
    let away = 3;
    const settle: Store['webhooks']['settle'] = async (...ending) => {
      if (away === 0) return node.store.webhooks.settle(...ending);
      away -= 1;
      throw new AppError('store.unavailable', 'unavailable', { message: 'away' });
    };
    node.startWorker({ ...node.store, webhooks: { ...node.store.webhooks, settle } });
    const seen = await after(node.store, await notify(node));
    expect([seen.status, away, receiver.received.length]).toEqual(['delivered', 0, 1]);
  });

  test('three hundred notices to one fast receiver all arrive once', async () => {
    const node = await openNode();
    const taskIds = await Promise.all(Array.from({ length: 300 }, () => notify(node)));
    node.startWorker();
    for (const taskId of taskIds) await after(node.store, taskId);
    expect(receiver.received.map(({ payload }) => payload.data.id).sort()).toEqual(taskIds.sort());
  });
});

test('retries come after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, every 2 h, and a last time after 24 hours', async () => {
  const clock = createTestClock();
  const node = await openNode({ clock });
  const { store } = node;
  receiver.answer((_, response) => void response.writeHead(500).end());
  const taskId = await notify(node);
  const began = clock.nowMs();
  node.startWorker();
  const pauses: number[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const seen = await after(store, taskId, attempt);
    if (seen.status !== 'pending') break;
    pauses.push((seen.nextAttemptAtMs - clock.nowMs()) / 1000);
    clock.advance(Math.ceil((seen.nextAttemptAtMs - clock.nowMs()) / 1000));
  }
  const wanted = [5, 30, 120, 600, 1800, 3600, ...Array.from({ length: 10 }, () => 7200)];
  for (const [i, seconds] of wanted.entries()) {
    expect(pauses[i]).toBeGreaterThanOrEqual(seconds * 0.899);
    expect(pauses[i]).toBeLessThanOrEqual(seconds * 1.101);
  }
  const seen = await look(store, taskId);
  expect(seen).toMatchObject({ status: 'failed', attempts: pauses.length + 1 });
  expect(clock.nowMs() - began).toBeGreaterThanOrEqual(DAY);
  expect(clock.nowMs() - began).toBeLessThan(DAY + 60_000);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  // Each attempt signs its own time.
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(pauses.length + 1);
});
