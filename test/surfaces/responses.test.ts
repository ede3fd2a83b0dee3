/**
 * Responses on real parts, on both databases, with two nodes. Clients are on the node that does not
 * poll, so all progress that they see comes from the other node through the database.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, type Json, type JsonObject, systemClock } from '../../src/kernel/index.ts';
import { clearContent } from '../../src/operations/retention/strip-content.ts';
import type { Store } from '../../src/store/ports/index.ts';
import type { Caller, ClientRequest } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/response-shapes.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  billFor,
  type Engine,
  ended,
  HELD,
  jsonRequest,
  PRICE,
  readBalance,
  startEngine,
} from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const SOURCE = readFileSync(join(import.meta.dir, '../fixtures/responder.js'), 'utf8');
const variant = (key: string, supports: string[]): string =>
  SOURCE.replaceAll("'responder'", `'${key}'`).replace(
    "const SUPPORTS = ['stream', 'sync', 'background'];",
    `const SUPPORTS = ${JSON.stringify(supports)};`,
  );
const MODELS = { responder: ['stream', 'sync', 'background'], streamer: ['stream'], waiter: ['sync'] };

/** Nothing else takes exactly this long. */
const LONGEST_WAIT_MS = 45_000;

type Event = { type: string; sequence_number: number; response?: JsonObject; [name: string]: unknown };
type Body = { [name: string]: Json };

const describeResponses = (opened: () => OpenedStore) => {
  /** Answers clients and polls nothing. */
  let near: Engine;
  /** Polls; its own clients wait until the test ends their deadline. */
  let far: Engine;
  const longEnough = Promise.withResolvers<void>();
  /** SQLite has one node, which hears of its own tasks only: this one learns of the other's. */
  let hearing: Timer;
  let store: Store;

  beforeAll(async () => {
    store = opened().store;
    near = await startEngine(store, sandbox, { tickMs: 40, submitTimeoutMs: LONGEST_WAIT_MS });
    for (const [key, supports] of Object.entries(MODELS)) {
      await near.plugins.upload({ source: variant(key, supports) });
      await near.addChannel({ name: key, models: [key], taskPluginKey: key });
      await near.billing.prices.save({ pluginKey: '*', model: key, expression: PRICE });
    }
    await near.addChannel({
      name: 'alias',
      models: ['renamed'],
      modelMapping: { renamed: 'responder' },
      taskPluginKey: 'responder',
    });
    await near.billing.prices.save({ pluginKey: '*', model: 'renamed', expression: PRICE });
    const sleep: Clock['sleep'] = async (ms, signal) => {
      const slept = systemClock.sleep(ms, signal);
      await (ms === LONGEST_WAIT_MS ? Promise.race([slept, longEnough.promise]) : slept);
    };
    const limits = { tickMs: 40, submitTimeoutMs: LONGEST_WAIT_MS };
    far = await startEngine(await opened().openAnother(), sandbox, { ...limits, clock: { ...systemClock, sleep } });
    await far.start();
    hearing = setInterval(() => far.tasks.taskWritten(), 50);
  });
  afterAll(async () => {
    clearInterval(hearing);
    await near.stop();
    await far.stop();
    // After all tests the ledger must add up.
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  const request = (body: Body, change: Partial<ClientRequest> = {}): ClientRequest => ({
    ...jsonRequest({ model: 'responder', ...body }),
    path: '/v1/responses',
    ...change,
  });
  const create = (
    caller: Caller,
    body: Body,
    { engine = near, ...change }: Partial<ClientRequest> & { engine?: Engine } = {},
  ) => engine.surfaces.createResponse(caller, 'request', request(body, change));
  async function object(caller: Caller, body: Body, engine = near): Promise<JsonObject> {
    const answer = await create(caller, body, { engine });
    if (answer.kind !== 'object') throw new Error('expected an object');
    expect(faultsOfResponse(answer.response)).toEqual([]);
    return answer.response;
  }
  async function stream(caller: Caller, body: Body, engine = near): Promise<AsyncIterable<Event>> {
    const answer = await create(caller, { ...body, stream: true }, { engine });
    if (answer.kind !== 'stream') throw new Error('expected a stream');
    return answer.events;
  }
  async function all(events: AsyncIterable<Event>, hear: (event: Event) => void = () => {}): Promise<Event[]> {
    const seen: Event[] = [];
    for await (const event of events) {
      seen.push(event);
      hear(event);
    }
    expect(seen.flatMap(faultsOfEvent)).toEqual([]);
    return seen;
  }
  const retrieve = (caller: Caller, id: unknown, engine = near) =>
    engine.surfaces.retrieveResponse(caller.user.id, String(id), {
      ...request({}),
      method: 'GET',
      path: `/v1/responses/${id}`,
      params: { response_id: String(id) },
      body: { kind: 'none' },
    });
  const readTask = (response: unknown) => String((response as JsonObject).id).replace('resp_', 'task_');
  const readText = (response: JsonObject = {}): (string | undefined)[] =>
    (response.output as { content: { text: string }[] }[]).map(({ content }) => content[0]?.text);
  async function refusal(promise: Promise<unknown>): Promise<unknown> {
    return promise.then(
      () => undefined,
      (error: unknown) => error,
    );
  }
  const UNOBSERVED = { status: 'failed', error: { code: 'server_error', message: 'The task could not be observed.' } };

  describe('what renderers see', () => {
    test('in a stream: no background, the plugin’s own protocol name, its state, and artifacts at the end', async () => {
      const caller = await addCaller(store);
      const body = { model: 'renamed', input: 'a #seen [duration=3600]', background: true, note: 1 };
      const events = await all(await stream(caller, body), ({ type }) => {
        if (type === 'response.output_text.done') near.finishJobs();
      });
      const [first, last] = events
        .filter(({ type }) => type === 'response.output_text.done')
        .map(({ text }) => JSON.parse(String(text)));
      const id = readTask(events[0]?.response);
      const ctx = {
        path: '/v1/responses',
        method: 'POST',
        params: {},
        query: {},
        body: { kind: 'json', value: { model: 'renamed', input: body.input, note: 1, stream: true } },
        protocol: 'openai_responses',
        operation: 'create',
        model: 'renamed',
        upstreamModel: 'responder',
        stream: true,
      };
      expect(first).toMatchObject({ ctx, previous: 'none', task: { task_id: id, platform: 'responder' } });
      expect(first.ctx).toEqual(ctx);
      const url = (key: string) =>
        expect.stringMatching(
          new RegExp(`^http://gateway\\.example/v1/tasks/${id}/artifacts/${key}/content\\?access=[\\w-]{43}$`),
        );
      expect(last.ctx).toEqual({
        ...ctx,
        artifacts: {
          video: { key: 'video', type: 'video', mimeType: 'video/mp4', url: url('video') },
          log: { key: 'log', type: 'file', url: url('log') },
        },
      });
      expect(last.previous.calls).toBeGreaterThan(0);
      expect(last.task).toMatchObject({ task_id: id, status: 'SUCCESS', model: 'renamed', data: { id } });
      expect(events.at(-1)?.type).toBe('response.completed');
      expect((await store.tasks.byTaskId(id))?.execution.background).toBeTrue();
    });

    test('for a waiting client, and on retrieval', async () => {
      const caller = await addCaller(store);
      const made = await object(caller, { input: 'a #seen [duration=0.2]' });
      const seen = JSON.parse(readText(made)[0] ?? '');
      expect(seen.ctx).toMatchObject({ operation: 'create', stream: false, body: { kind: 'json' }, params: {} });
      expect(Object.keys(seen.ctx.artifacts)).toEqual(['video', 'log']);
      const read = JSON.parse(readText(await retrieve(caller, made.id))[0] ?? '');
      expect(read.ctx).toEqual({
        path: `/v1/responses/${made.id}`,
        method: 'GET',
        params: { response_id: made.id },
        query: {},
        body: { kind: 'none' },
        protocol: 'openai_responses',
        operation: 'retrieve',
        model: 'responder',
        stream: false,
        artifacts: seen.ctx.artifacts,
      });
    });
  });

  describe('a failing renderer fails the observation and nothing else', () => {
    /** In parallel: each takes as long as its tasks do. */
    test('in every way that it can fail', async () => {
      await Promise.all(['throws', 'garbage', 'huge', 'late', 'unlisted'].map(look));
    });

    async function look(quirk: string): Promise<void> {
      const caller = await addCaller(store);
      const input = `a #${quirk} [duration=0.2]`;
      const [waited, events] = await Promise.all([
        object(caller, { input }),
        stream(caller, { input }).then((found) => all(found)),
      ]);
      expect({ quirk, waited }).toMatchObject({ quirk, waited: UNOBSERVED });
      expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: UNOBSERVED });
      const unobserved = { ...UNOBSERVED, metadata: { task_status: 'completed' } };
      for (const response of [waited, events[0]?.response]) {
        expect(await ended(store, readTask(response))).toMatchObject({ status: 'SUCCESS', quota: billFor(4) });
        expect(await retrieve(caller, response?.id)).toMatchObject(unobserved);
      }
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE - 2 * billFor(4));
      expect(JSON.stringify([waited, events])).not.toContain('words of');
      expect(near.warnings.filter((warning) => warning.includes(readTask(waited)))).not.toEqual([]);
    }

    test('one that says done ends its stream, not the task', async () => {
      const caller = await addCaller(store);
      const events = await all(await stream(caller, { input: 'a #enough [duration=3600]' }));
      expect(events.at(-1)?.type).toBe('response.incomplete');
      near.finishJobs();
      const task = await ended(store, readTask(events[0]?.response));
      expect(task.status).toBe('SUCCESS');
    });
  });

  test('a stream goes on with the next number after each event, on another node as well', async () => {
    const caller = await addCaller(store);
    const events = await all(await stream(caller, { input: 'a #stages [duration=0.3]' }));
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    expect(events.length).toBeGreaterThan(9);
    const id = String(events[0]?.response?.id);
    const read = request({}, { method: 'GET', path: `/v1/responses/${id}`, params: { response_id: id } });
    for (const startingAfter of [undefined, ...events.slice(0, -1).map((_, index) => index)]) {
      const resumed = { id, startingAfter, request: { ...read, body: { kind: 'none' } as const } };
      const rest = await all(await far.surfaces.resumeResponse(caller, resumed));
      const lacking = events.slice((startingAfter ?? -1) + 1);
      const shape = ({ type, sequence_number: number }: Event) => [number, type];
      expect(rest.map(shape)).toEqual(lacking.map(shape));
    }
  });

  describe('a task that fails', () => {
    test('is refunded, and is a failed response in every form', async () => {
      const caller = await addCaller(store);
      const input = 'a #late [fail] [duration=0.2]';
      const failed = { status: 'failed', error: { code: 'server_error', message: 'The task failed.' } };
      const waited = await object(caller, { input });
      expect(waited).toMatchObject(failed);
      expect(await retrieve(caller, waited.id)).toEqual(waited);
      const events = await all(await stream(caller, { input }));
      expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: failed });
      expect(JSON.stringify([waited, events])).not.toContain('words of');
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
    });
  });

  describe('a plugin that only streams', () => {
    test('renders its events once when a response is retrieved', async () => {
      const caller = await addCaller(store);
      const events = await all(await stream(caller, { model: 'streamer', input: 'a cat [duration=0.2]' }));
      const completed = events.at(-1)?.response;
      const read = await retrieve(caller, completed?.id);
      expect(faultsOfResponse(read)).toEqual([]);
      expect(readText(read)).toEqual([`made ${readTask(read)}`]);
    });

    test.each(['whole', 'unfinished', 'stages'])('is retrieved as it was streamed: #%s', async (quirk) => {
      const caller = await addCaller(store);
      const events = await all(await stream(caller, { model: 'streamer', input: `a #${quirk} [duration=0.2]` }));
      const last = events.at(-1);
      expect(last?.type).toBe('response.completed');
      expect(await retrieve(caller, last?.response?.id)).toEqual(last?.response as JsonObject);
    });

    test.each([
      ['error', 'The task failed.'],
      ['throws', 'The task could not be observed.'],
    ])('is retrieved as one that nobody could observe once it has succeeded: #%s', async (quirk, message) => {
      const caller = await addCaller(store);
      const events = await all(await stream(caller, { model: 'streamer', input: `a #${quirk} [duration=0.1]` }));
      const streamed = events.at(-1)?.response;
      await ended(store, readTask(streamed));
      expect(streamed).toMatchObject({ status: 'failed', error: { code: 'server_error', message } });
      const error = { code: 'server_error', message: 'The task could not be observed.' };
      const metadata = { task_status: 'completed' };
      expect(await retrieve(caller, streamed?.id)).toMatchObject({ status: 'failed', error, metadata });
    });
  });

  describe('refusals cost nothing', () => {
    test.each<[name: string, body: Body, code: string, status: string]>([
      ['streaming', { model: 'waiter', stream: true }, 'tasks.response_form_unsupported', 'invalid'],
      ['the background', { model: 'waiter', background: true }, 'tasks.response_form_unsupported', 'invalid'],
      ['waiting', { model: 'streamer' }, 'tasks.response_form_unsupported', 'invalid'],
      ['both', { model: 'streamer', stream: true, background: true }, 'tasks.response_form_unsupported', 'invalid'],
      ['a stream that is not a flag', { stream: 'yes' }, 'tasks.response_form_invalid', 'invalid'],
      ['an unknown model', { model: 'nobody' }, 'tasks.model_not_found', 'not_found'],
      ['what the decoder refuses', { input: '' }, 'tasks.plugin_request_invalid', 'invalid'],
    ])('%s', async (_, body, code, kind) => {
      const caller = await addCaller(store);
      expect(await refusal(create(caller, { input: 'a cat', ...body }))).toMatchObject({ code, kind });
      expect((await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 })).total).toBe(0);
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
      // Nor does it take a slot.
      const client = new AbortController();
      for (let i = 0; i < 2; i += 1) {
        await create(caller, { input: 'a cat [instant]', stream: true }, { signal: client.signal });
      }
      client.abort();
    });

    test('a third concurrent observation with one key, until a client leaves', async () => {
      const caller = await addCaller(store);
      const client = new AbortController();
      const body = { input: `a cat ${HELD}`, stream: true };
      await create(caller, body, { signal: client.signal });
      const held = await create(caller, body);
      const refused = refusal(create(caller, { input: 'a cat', background: true }));
      expect(await refused).toMatchObject({ code: 'tasks.rate_limit_exceeded', kind: 'rate_limited' });
      expect((await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 })).total).toBe(2);
      client.abort();
      near.finishJobs();
      const pending = await object(caller, { input: `a cat ${HELD}`, background: true });
      expect(pending).toMatchObject({ status: 'queued', background: true });
      // A background request releases its slot with its answer.
      await object(caller, { input: 'a cat [duration=0.1]', background: true });
      if (held.kind === 'stream') expect((await all(held.events)).at(-1)?.type).toBe('response.completed');
      await object(caller, { input: 'a cat [instant]' });
    });
  });

  describe('ownership of responses', () => {
    test('only its owner reads a response, and tasks of other surfaces are not responses', async () => {
      const [owner, stranger] = [await addCaller(store), await addCaller(store)];
      const made = await object(owner, { input: 'a cat [instant]' });
      const video = await near.surfaces.submitGeneric(owner, {
        requestId: 'r',
        pluginKey: 'responder',
        request: jsonRequest({ model: 'responder', prompt: 'x' }),
      });
      const none = { code: 'tasks.not_found', kind: 'not_found' };
      expect(await refusal(retrieve(stranger, made.id))).toMatchObject(none);
      expect(await refusal(retrieve(owner, video.taskId.replace('task_', 'resp_')))).toMatchObject(none);
      for (const id of ['', 'resp_', readTask(made), `${made.id}x`, 'x'.repeat(10_000)]) {
        expect(await refusal(retrieve(owner, id))).toMatchObject(none);
      }
      expect(await retrieve(owner, made.id)).toMatchObject({ id: made.id, status: 'completed' });
    });

    test('a repeat with the same Idempotency-Key observes the same task', async () => {
      const caller = await addCaller(store);
      const body = { input: 'a cat [duration=0.3]', stream: true };
      const answers = [];
      for (let i = 0; i < 2; i += 1) answers.push(await create(caller, body, { idempotencyKey: 'once' }));
      expect(answers.map(({ replayed }) => replayed)).toEqual([false, true]);
      const streams = await Promise.all(answers.map((answer) => (answer.kind === 'stream' ? all(answer.events) : [])));
      const [first, second] = streams.map((events) => events.at(-1)?.response);
      expect(first).toMatchObject({ status: 'completed' });
      expect(second).toEqual(first);
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(4));
    });
  });

  test('a repeat whose answer was erased since is refused for good', async () => {
    const caller = await addCaller(store);
    const body = { input: 'a cat [instant]' };
    const first = await create(caller, body, { idempotencyKey: 'erased' });
    const { id } = await ended(store, readTask(first.kind === 'object' && first.response));
    await store.transaction((tx) => clearContent(tx, [id], ['answer']));
    const again = await refusal(create(caller, body, { idempotencyKey: 'erased' }));
    expect(again).toMatchObject({ code: 'tasks.idempotency_not_replayable', shouldRetry: false });
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(4));
  });

  describe('an observation that ends before its task', () => {
    test('at the deadline a stream is incomplete, and a waiting client gets the current state', async () => {
      const caller = await addCaller(store);
      const body = { input: 'a cat [duration=3600]' };
      const sent = Promise.all([object(caller, body, far), stream(caller, body, far).then((found) => all(found))]);
      await until('both are submitted', async () => {
        const { items } = await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 });
        return items.filter(({ status }) => status !== 'NOT_START').length === 2;
      });
      longEnough.resolve();
      const [waited, events] = await sent;
      expect(waited).toMatchObject({ status: 'queued', output: [], usage: null });
      expect(['queued', 'in_progress']).toContain((waited.metadata as JsonObject).task_status as string);
      expect(events.at(-1)).toMatchObject({
        type: 'response.incomplete',
        response: { status: 'incomplete', incomplete_details: null, usage: { total_tokens: 0 } },
      });
      const pending = await retrieve(caller, waited.id, far);
      expect(faultsOfResponse(pending)).toEqual([]);
      expect(pending).toMatchObject({ background: false, output: [] });
      near.finishJobs();
      await ended(store, readTask(waited));
      expect(await retrieve(caller, waited.id, far)).toMatchObject({ status: 'completed' });
    });

    test('a client that leaves ends its observation, never its task', async () => {
      const caller = await addCaller(store);
      const client = new AbortController();
      const answer = create(caller, { input: 'a cat [duration=0.4]' }, { signal: client.signal });
      const task = await until('it is submitted', async () => {
        const { items } = await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 1 });
        return items[0]?.status === 'NOT_START' ? undefined : items[0];
      });
      client.abort();
      await answer;
      expect(await ended(store, task.taskId)).toMatchObject({ status: 'SUCCESS', quota: billFor(4) });
    });

    test('a response whose plugin is switched off says when to ask again, unless it needs no plugin', async () => {
      const caller = await addCaller(store);
      const model = 'waiter';
      const done = await object(caller, { model, input: 'a cat [instant]' });
      const failed = await object(caller, { model, input: 'a cat [fail] [instant]' });
      const waiting = create(caller, { model, input: 'a cat [duration=3600]' });
      const { taskId } = await until('it is submitted', async () => {
        const { items } = await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 });
        return items.find(({ status }) => status !== 'NOT_START' && status !== 'SUCCESS' && status !== 'FAILURE');
      });
      await near.plugins.setEnabled('waiter', false, { cascade: true, force: true });
      const away = { code: 'tasks.plugin_unavailable', retryAfterSeconds: 60 };
      expect(await refusal(retrieve(caller, done.id))).toMatchObject(away);
      expect(await retrieve(caller, failed.id)).toEqual(failed);
      const pending = await retrieve(caller, taskId.replace('task_', 'resp_'));
      expect(['queued', 'in_progress']).toContain(pending.status as string);
      await near.plugins.setEnabled('waiter', true);
      expect(await retrieve(caller, done.id)).toEqual(done);
      near.finishJobs();
      // A waiting client gets the rendering of the submission's generation, even if that was
      // replaced.
      expect(await waiting).toMatchObject({ kind: 'object', response: { id: taskId.replace('task_', 'resp_') } });
    });

    // The last test: after it, this node serves no clients.
    test('a stopping node ends its observations; clients continue on another node', async () => {
      const caller = await addCaller(store);
      const events = await stream(caller, { input: 'a cat [duration=3600]' });
      const waiting = object(caller, { input: 'a cat [duration=3600]' });
      const seen: Event[] = [];
      for await (const event of events) {
        seen.push(event);
        near.tasks.endObservations();
      }
      expect(seen.flatMap(faultsOfEvent)).toEqual([]);
      expect(seen.at(-1)?.type).toBe('response.incomplete');
      const waited = await waiting;
      expect(waited.status).toBe('queued');
      near.finishJobs();
      for (const { id } of [waited, { id: seen[0]?.response?.id }]) {
        await ended(store, readTask({ id }));
        expect(await retrieve(caller, id, far)).toMatchObject({ status: 'completed' });
      }
    });
  });
};

describeEachStore('responses', (opened) => describe('on two nodes', () => describeResponses(opened)), {
  databases: RULE_DATABASES,
});
