/** One deadline for all that a client waits for: SDKs that give up before it order again. */
import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAnswerTimes } from '../../src/http/bodies/read-client-request.ts';
import { systemClock } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import type { ClientRequest, TaskLimits } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  type Engine,
  HELD,
  jsonRequest,
  PRICE,
  readBalance,
  startEngine,
  WAITING,
} from '../tasks/harness.ts';

test.each<[Record<string, string>, [number, number] | undefined]>([
  [{}, undefined],
  // Sending the body took 100 seconds, which JavaScript counts and Python does not.
  [{ 'x-stainless-timeout': '600' }, [541_000, 571_000]],
  [{ 'x-stainless-read-timeout': '600.0' }, [641_000, 671_000]],
  [{ 'x-stainless-timeout': '30', 'x-stainless-read-timeout': '600' }, [28_000, 29_500]],
  [{ 'x-stainless-timeout': 'Infinity' }, [77_761_000, 82_081_000]],
  [{ 'x-stainless-timeout': '0' }, undefined],
  [{ 'x-stainless-timeout': '-1' }, undefined],
  [{ 'x-stainless-timeout': 'soon' }, undefined],
])('a client that says %p has its answer in nine tenths of that', (headers, expected) => {
  const times = readAnswerTimes({ headers: new Headers(headers) }, { arrivedMs: 1000, readMs: 101_000 });
  expect(times && [times.answerByMs, times.latestMs]).toEqual(expected);
});

const SOURCE = readFileSync(join(import.meta.dir, '../fixtures/responder.js'), 'utf8');
const sandbox = startSandbox();
afterAll(() => sandbox.close());

describeEachStore(
  'the time of an answer',
  (opened) => {
    const withEngine = async (
      { store }: OpenedStore,
      limits: Partial<TaskLimits>,
      work: (engine: Engine, store: Store) => Promise<void>,
    ) => {
      const engine = await startEngine(store, sandbox, { tickMs: 40, waiting: () => WAITING, ...limits });
      try {
        await engine.plugins.upload({ source: SOURCE });
        await engine.billing.prices.save({ pluginKey: '*', model: 'responder', expression: PRICE });
        await engine.start();
        await work(engine, store);
        expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      } finally {
        await engine.stop();
      }
    };
    type Caller = Awaited<ReturnType<typeof addCaller>>;
    const channel = { models: ['responder'], taskPluginKey: 'responder' };
    const hold = (engine: Engine, caller: Caller) =>
      engine.surfaces.submitGeneric(caller, {
        requestId: 'first',
        pluginKey: 'responder',
        request: jsonRequest({ model: 'responder', prompt: `a ${HELD}` }),
      });
    /** The status of the answer, or the code of its error, and how long it took. */
    async function wait(engine: Engine, caller: Caller, change: Partial<ClientRequest> = {}) {
      const beganMs = systemClock.monotonicMs();
      const request = { ...jsonRequest({ model: 'responder', input: `a ${HELD}` }), path: '/v1/responses', ...change };
      const outcome = await engine.surfaces.createResponse(caller, 'request', request).then(
        (answer) => answer.kind === 'object' && String(answer.response.status),
        (error: { code: string }) => error.code,
      );
      return { outcome, ms: systemClock.monotonicMs() - beganMs };
    }
    const soon = () => ({ answerByMs: systemClock.monotonicMs() + 1000 });

    test('the wait in the queue counts for it', () =>
      withEngine(opened(), { submitTimeoutMs: 4000 }, async (engine, store) => {
        await engine.addChannel({ ...channel, limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await hold(engine, caller);
        const answer = wait(engine, caller);
        await Bun.sleep(2000);
        engine.finishJobs();
        const { outcome, ms } = await answer;
        expect(outcome).toBe('queued');
        expect((await engine.vendorCounts()).creates).toBe(2);
        expect(ms).toBeLessThan(5500);
      }));

    test('it comes before its client gives up', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel(channel);
        expect((await wait(engine, await addCaller(store), soon())).outcome).toBe('queued');
      }));

    test('what still waits in the queue then ends unsent and refunded', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ ...channel, limits: { maxRunning: 1 } });
        const [first, caller] = [await addCaller(store), await addCaller(store)];
        await hold(engine, first);
        expect((await wait(engine, caller, soon())).outcome).toBe('tasks.wait_over');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
        expect((await engine.vendorCounts()).creates).toBe(1);
      }));

    const asks: [string, (engine: Engine, caller: Caller, request: ClientRequest) => Promise<unknown>][] = [
      ['a response', ({ surfaces }, caller, request) => surfaces.createResponse(caller, 'request', request)],
      [
        'images',
        ({ surfaces }, caller, request) =>
          surfaces.createImages(caller, { requestId: 'request', request, operation: 'generate', isAsync: false }),
      ],
      ['speech', ({ surfaces }, caller, request) => surfaces.createSpeech(caller, 'request', request)],
    ];
    test.each(asks)('as many requests for %s as come wait in the queue', (_what, ask) =>
      withEngine(opened(), { observations: { node: 1, plugin: 1, user: 1, key: 1 } }, async (engine, store) => {
        await engine.addChannel({ ...channel, limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await hold(engine, caller);
        const fields = { model: 'responder', input: 'a cat', prompt: 'a cat' };
        const request = { ...jsonRequest(fields), answerByMs: systemClock.monotonicMs() + 5000 };
        const codes: Promise<unknown>[] = [];
        for (let waiting = 1; waiting <= 3; waiting += 1) {
          let refused: unknown;
          const code = ask(engine, caller, request).then(
            () => 'answered',
            (error: { code: string }) => {
              refused = error.code;
              return error.code;
            },
          );
          codes.push(code);
          await until('it waits', async () => {
            if (refused !== undefined) throw new Error(String(refused));
            return (await store.waiting.classes()).some((one) => one.waiting === waiting);
          });
        }
        expect(await Promise.all(codes)).toEqual(Array(3).fill('tasks.wait_over'));
      }),
    );

    test('what is being sent from the queue then goes on, and ends if its vendor refuses it', () =>
      withEngine(opened(), {}, async (engine, store) => {
        const refused = Promise.withResolvers<void>();
        let asked = 0;
        const vendor = Bun.serve({
          port: 0,
          async fetch() {
            asked += 1;
            if (asked === 2) await refused.promise;
            return new Response('{}', { status: 429, headers: { 'retry-after': '1' } });
          },
        });
        await engine.addChannel({ ...channel, baseUrl: vendor.url.origin });
        const caller = await addCaller(store);
        const answer = wait(engine, caller, { answerByMs: systemClock.monotonicMs() + 5000 });
        await until('it is sent again', async () => asked === 2);
        expect((await answer).outcome).toBe('queued');
        refused.resolve();
        await until('it is refunded', async () => (await readBalance(store, caller.user.id)) === BALANCE);
        await Bun.sleep(1500);
        expect(asked).toBe(2);
        await vendor.stop(true);
      }));
  },
  { databases: RULE_DATABASES },
);
