/** Several keys of a channel: one that its vendor refuses is nobody's trouble but its own. */
import { afterAll, expect, test } from 'bun:test';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { addCaller, billFor, type Engine, endedByTest, HELD, jsonRequest, NO_WAITING, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const VENDOR_KEY = 'vendor-key-0123456789';
const KEYS = ['bad-key-0123456789', 'good-key-a-0123456789', 'good-key-b-0123456789'] as const;
const LIMITS = { waiting: () => ({ ...NO_WAITING, maxWaitMs: 3_600_000 }), tickMs: 50 };

/** A vendor that refuses one of three keys, and forgets a job that is asked for by another key. */
function startVendor(engine: () => Engine) {
  const made = new Map<string, string>();
  const submissions: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const key = (request.headers.get('authorization') ?? '').replace('Bearer ', '');
      if (request.method === 'POST') submissions.push(key);
      if (!key.startsWith('good')) return Response.json({ error: { message: `no such key: ${key}` } }, { status: 401 });
      const owner = [...made].find(([job]) => pathname.includes(job))?.[1];
      if (owner !== undefined && owner !== key) return Response.json({}, { status: 404 });
      const headers = { authorization: `Bearer ${VENDOR_KEY}`, 'content-type': 'application/json' };
      const body = request.method === 'POST' ? { body: await request.text() } : {};
      const answer = await fetch(`${engine().vendorUrl}${pathname}${search}`, {
        method: request.method,
        headers,
        ...body,
      });
      const text = await answer.text();
      const job = /"id":\s*"([^"]+)"/.exec(text)?.[1];
      if (request.method === 'POST' && job !== undefined) made.set(job, key);
      return new Response(text, { status: answer.status, headers: { 'content-type': 'application/json' } });
    },
  });
  return { url: server.url.origin, submissions, stop: () => server.stop(true) };
}

describeEachStore(
  'credentials in use',
  (opened) => {
    test('no client sees that one of three keys is dead, and tasks end by the key that began them, also a removed one', async () => {
      const { store } = opened();
      const engine = await startEngine(store, sandbox, LIMITS);
      const vendor = startVendor(() => engine);
      try {
        const id = await engine.addChannel({
          baseUrl: vendor.url,
          key: undefined,
          credentials: KEYS.map((key, index) => ({ key, label: `key ${index}` })),
        });
        await engine.start();
        const caller = await addCaller(store);
        const submit = () =>
          engine.surfaces.submitGeneric(caller, {
            requestId: 'request',
            pluginKey: 'demo',
            request: jsonRequest({ model: 'demo-video', prompt: `a ${HELD}`, seconds: 5 }),
          });
        const [bad, a, b] = (await store.credentials.ofChannel(id)).map((one) => one.id) as [number, number, number];
        const begun = [];
        for (let turn = 0; turn < 6; turn += 1) begun.push((await submit()).taskId);
        const stored = await Promise.all(begun.map((taskId) => store.tasks.byTaskId(taskId)));
        expect(new Set(stored.map((task) => task?.credentialId))).toEqual(new Set([a, b]));
        // What runs least goes first, so both have the same.
        expect(stored.filter((task) => task?.credentialId === a)).toHaveLength(3);
        // It rests after its first refusal.
        expect(vendor.submissions.filter((key) => key === KEYS[0]).length).toBeLessThanOrEqual(1);
        if (vendor.submissions.includes(KEYS[0])) {
          const noted = await store.credentials.byId(bad);
          expect(noted?.lastError).not.toBe('');
          expect(noted?.lastError).not.toContain(KEYS[0]);
        }
        await engine.channels.credentials.remove(id, a);
        await engine.channels.credentials.update(id, b, { status: 2 });
        for (const taskId of begun) expect((await endedByTest(engine, taskId)).status).toBe('SUCCESS');
        const spent = (await store.credentials.ofChannel(id)).map(({ usedQuota }) => usedQuota);
        expect(spent).toEqual([0, 3 * billFor(5), 3 * billFor(5)]);
        expect((await store.channels.byId(id))?.usedQuota).toBe(6 * billFor(5));
        await engine.channels.credentials.update(id, b, { status: 1 });
        expect((await store.tasks.byTaskId((await submit()).taskId))?.credentialId).toBe(b);
      } finally {
        await engine.stop();
        await vendor.stop();
      }
    });
  },
  { databases: RULE_DATABASES },
);
