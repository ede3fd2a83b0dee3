/**
 * Webhooks of the executable: after a SIGKILL at the two points where a notice could be lost, from
 * two nodes, and after a change of CRYPTO_SECRET.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sha256Hex } from '../../src/kernel/index.ts';
import { freePort } from '../support/free-port.ts';
import { testInFullRun } from '../support/full-run.ts';
import {
  type Administrator,
  ask,
  type Gateway,
  type GatewayOptions,
  setUp,
  signIn,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { runBeside } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver, verified } from '../support/webhook-receiver.ts';

const ENV = {
  TASK_POLL_INTERVAL_SECONDS: '1',
  WEBHOOK_ALLOWED_HOSTS: '127.0.0.0/8',
  LOG_LEVEL: 'warn',
  RESULTS_MIN_FREE_MB: '0',
};

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

type Key = { id: number; key: string; secret: string };

/** A key with a webhook secret and `webhook_url` as its default. */
async function createKey(admin: Administrator, webhookUrl: string): Promise<Key> {
  const made = await admin.call<{ id: number; key: string; new_webhook_secret: string }>('POST', '/api/token', {
    ...{ name: 'hooked', unlimited_quota: true, webhook_url: webhookUrl },
  });
  return { id: made.id, key: made.key, secret: made.new_webhook_secret };
}

const readFinished = ({ received }: Receiver, taskId: string) =>
  received.filter(({ payload }) => payload.type === 'task.finished' && payload.data.id === taskId);

describe('on SQLite', () => {
  let gateway: Gateway;
  let options: GatewayOptions;
  let admin: Administrator;
  let receiver: Receiver;
  let key: Key;

  const restart = async (env: Record<string, string> = {}) => {
    gateway = await startGateway({ ...options, env: { ...options.env, ...env } });
    admin = await signIn(gateway.url);
  };

  beforeAll(async () => {
    options = { port: await freePort(), env: ENV };
    gateway = await startGateway(options);
    options.dataDir = gateway.dataDir;
    receiver = await startReceiver();
    admin = await setUp(gateway);
    await admin.createChannel(vendor.url);
    key = await createKey(admin, receiver.url);
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
  });

  test('killed after a result was kept: its one notice arrives after the start, with the digest of the file', async () => {
    await admin.call('PUT', '/api/option', { key: 'results.keep', value: 'asked' });
    const port = await freePort();
    const headers = { 'x-callback-url': `http://127.0.0.1:${port}/late`, 'x-keep-result': 'true' };
    const submitted = await ask(`${gateway.url}/v1/tasks/demo`, {
      ...{ token: key.key, headers, body: { model: 'demo-video', prompt: 'a cat [duration=0] [bytes=100000]' } },
    });
    const id = String(submitted.body.id);
    await waitForEnd(gateway.url, key.key, id);
    const list = () => ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key.key });
    await until('the result is kept', async () => JSON.stringify((await list()).body).includes('"kept":"kept"'));
    await gateway.kill();
    const late = await startReceiver(port);
    try {
      await restart();
      const readKept = () => late.received.filter(({ payload }) => payload.type === 'task.artifacts_kept');
      await until('both notices arrive', () => readKept().length > 0 && readFinished(late, id).length > 0);
      const notice = readKept()[0] ?? expect.unreachable();
      expect(verified(notice, key.secret)).toBe(1);
      const [artifact] = notice.payload.artifacts as [{ content_url: string; sha256: string; bytes: number }];
      const bytes = Buffer.from(await (await fetch(artifact.content_url)).arrayBuffer());
      expect([artifact.bytes, artifact.sha256]).toEqual([bytes.length, sha256Hex(bytes)]);
      expect(new Set(readKept().map((one) => one.id)).size).toBe(1);
    } finally {
      await late.stop();
    }
  });

  test('killed between the transition and its delivery: the notice arrives after the start', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/late`;
    const submitted = await ask(`${gateway.url}/v1/tasks/demo`, {
      ...{ token: key.key, headers: { 'x-callback-url': url } },
      body: { model: 'demo-video', prompt: 'a cat [duration=0]' },
    });
    const id = String(submitted.body.id);
    // Nobody listens there yet: the notice of the task's end is still to be delivered.
    const done = await waitForEnd(gateway.url, key.key, id);
    await gateway.kill();
    const late = await startReceiver(port);
    try {
      await restart();
      await until('the notice arrives', () => readFinished(late, id).length > 0);
      const [told] = readFinished(late, id);
      expect(told?.payload.data).toEqual({ ...done, fail_reason_sentence: null });
      expect(told && verified(told, key.secret)).toBe(1);
    } finally {
      await late.stop();
    }
  });

  test("killed between the receiver's answer and its row: the notice is sent again, under the same id", async () => {
    let killed: Promise<void> | undefined;
    receiver.answer(async ({ payload }, response) => {
      if (payload.type === 'task.finished' && !killed) {
        killed = gateway.kill();
        await killed;
      }
      response.writeHead(200).end();
    });
    const { body } = await submit(gateway.url, key.key, { prompt: 'a cat [duration=0]' });
    const id = String(body.id);
    await until('the gateway is killed', () => killed !== undefined);
    await killed;
    await restart();
    await until('the notice is sent again', () => readFinished(receiver, id).length > 1);
    const [first, second] = readFinished(receiver, id);
    expect(second?.id).toBe(first?.id ?? '');
    // Artifacts are listed again for each attempt, and left out where that takes long.
    expect({ ...second?.payload, artifacts: null }).toEqual({ ...first?.payload, artifacts: null });
    await until('the attempt is stored', async () => {
      const { items } = await admin.call<{ items: { status: string; attempts: number }[] }>(
        'GET',
        `/api/task/${id}/webhooks`,
      );
      return items[0]?.status === 'delivered' && items[0].attempts === 1;
    });
  });

  test('CRYPTO_SECRET changed without CRYPTO_SECRET_PREVIOUS: doctor names the key, submissions say what to do, a new webhook secret repairs it', async () => {
    await gateway.stop();
    const secrets = { CRYPTO_SECRET: 'a-crypto-secret-that-came-later-0123456789' };
    await restart(secrets);
    // The channel's key is unreadable as well: it is entered again first.
    const [channel] = (await admin.call<{ items: { id: number }[] }>('GET', '/api/channel')).items;
    await admin.call('PUT', `/api/channel/${channel?.id}`, { key: 'demo-vendor-key' });
    const refused = await submit(gateway.url, key.key, { prompt: 'a cat [duration=0]' });
    expect(refused.status).toBe(400);
    expect(refused.body.error).toMatchObject({ code: 'webhook_secret_required' });
    expect(JSON.stringify(refused.body)).toContain(`POST /api/token/${key.id}/webhook-secret`);
    const doctor = await runBeside(gateway, ['doctor'], { env: secrets });
    expect(doctor.out).toContain(`webhook secrets of API keys ${key.id} (hooked)`);

    const { secret } = await admin.call<{ secret: string }>('POST', `/api/token/${key.id}/webhook-secret`);
    const { body } = await submit(gateway.url, key.key, { prompt: 'a cat [duration=0]' });
    await until('the notice arrives', () => readFinished(receiver, String(body.id)).length > 0);
    expect(verified(readFinished(receiver, String(body.id))[0]!, secret)).toBe(1);
  });
});

describe('two nodes on PostgreSQL', () => {
  testInFullRun('deliver each notice once, whichever node the task was submitted to, in order', async () => {
    const databaseUrl = await migratedDatabaseUrl();
    const receiver = await startReceiver();
    const env = { ...ENV, WEBHOOK_UPDATE_INTERVAL_SECONDS: '0' };
    const nodes = [await startGateway({ databaseUrl, env }), await startGateway({ databaseUrl, env })] as const;
    try {
      const admin = await setUp(nodes[0]);
      await admin.createChannel(vendor.url);
      const key = await createKey(admin, receiver.url);
      const ids = await Promise.all(
        Array.from({ length: 30 }, async (_, i) => {
          const { url } = nodes[i % 2] ?? nodes[0];
          const submitted = await until('the other node knows the channel', async () => {
            const answer = await submit(url, key.key, { prompt: 'a cat [duration=0.5]' });
            return answer.status === 200 && answer;
          });
          return String(submitted.body.id);
        }),
      );
      for (const id of ids) await until(`${id} is told`, () => readFinished(receiver, id).length > 0);
      const seen = new Set(receiver.received.map(({ id }) => id));
      expect(seen.size).toBe(receiver.received.length);
      for (const id of ids) {
        const types = receiver.received
          .filter(({ payload }) => payload.data.id === id)
          .map(({ payload }) => payload.type);
        expect(types.at(-1)).toBe('task.finished');
        const before = types[0] === 'task.queued' ? types.slice(1, -1) : types.slice(0, -1);
        expect(before.every((type) => type === 'task.updated')).toBe(true);
      }
      for (const one of receiver.received) expect(verified(one, key.secret)).toBe(1);
      // Both nodes deliver, unless one was held up.
      for (const { url } of nodes) {
        await until('the node has delivered something', async () => {
          const { body } = await ask(`${url}/metrics`);
          if (/taskgate_webhook_attempts\{state="delivered"\} [1-9]/.test(String(body.text))) return true;
          const { body: next } = await submit(url, key.key, { prompt: 'a cat [duration=0]' });
          await until('it is delivered', () => readFinished(receiver, String(next.id)).length > 0);
          return false;
        });
      }
      expect((await runBeside(nodes[0], ['doctor'])).out).toContain("every API key's webhook secret can be read");
    } finally {
      await Promise.all(nodes.map((node) => node.stop()));
      await receiver.stop();
    }
  });
});
