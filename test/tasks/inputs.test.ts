/** Files of requests that are kept: tasks with files can be run again, and nothing stays behind. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readClientRequest } from '../../src/http/bodies/read-client-request.ts';
import { createUploadBudget, openUploadFolder } from '../../src/http/bodies/upload-folder.ts';
import { err, quoted, sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { clearContent } from '../../src/operations/retention/strip-content.ts';
import type { FileStore, Store, TaskRecord } from '../../src/store/ports/index.ts';
import { jsonRequest } from '../../src/surfaces/json-request.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { addCaller, type Engine, ended, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const budget = createUploadBudget({ nodeBytes: Number.POSITIVE_INFINITY, userBytes: Number.POSITIVE_INFINITY });
const uploads = openUploadFolder({ folder: join(temporaryFolder(), 'uploads'), budget, logger: silentLogger }).of(null);

const describeInputs = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  const engines: Engine[] = [];
  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox);
    engine.keeping.keepInputs = true;
    await engine.addChannel();
    await engine.start();
  });
  afterEach(async () => {
    Object.assign(engine.keeping, { keepInputs: true, daysFor: () => 0, storageQuotaFor: () => undefined });
    for (const other of engines.splice(0)) await other.stop();
  });
  afterAll(() => engine.stop());

  type Caller = Awaited<ReturnType<typeof addCaller>>;
  async function send(caller: Caller, body: FormData | string, by = engine): Promise<TaskRecord> {
    const headers = new Headers(typeof body === 'string' ? { 'content-type': 'application/json' } : {});
    const request = new Request('http://gateway.local/v1/videos', { method: 'POST', body, headers });
    const client = await readClientRequest(request, {}, { uploads, maxFileBytes: 10_000_000 });
    try {
      const { taskId } = await by.surfaces.submitVideo(caller, 'request', client);
      engine.finishJobs();
      return await ended(store, taskId);
    } finally {
      await client.release();
    }
  }
  function form(fields: Record<string, Uint8Array>): FormData {
    const built = new FormData();
    built.set('model', 'demo-video');
    built.set('prompt', 'a [instant]');
    for (const [field, bytes] of Object.entries(fields)) {
      built.set(field, new File([bytes as Uint8Array<ArrayBuffer>], 'a "cat".png', { type: 'image/png' }));
    }
    return built;
  }
  const again = async ({ user }: Caller, task: TaskRecord, by = engine): Promise<TaskRecord> => {
    const repeated = await by.surfaces.retry(
      { user, key: null, walletId: user.walletId, group: 'default' },
      {
        ...{ requestId: 'again', taskId: task.taskId, options: {} },
      },
    );
    return ended(store, repeated.taskId);
  };
  const readDigest = ({ data }: TaskRecord) => (data as { image?: { sha256?: string } }).image?.sha256;
  const sweep = async ({ results }: Engine) => {
    for (const { deleteBatch } of results.cleanUpSteps) while ((await deleteBatch(100)) > 0);
  };
  const digests = async () => (await engine.files.list('', 1000)).map(({ sha256 }) => sha256);

  test('without the option no file is kept, and a retry says so', async () => {
    engine.keeping.keepInputs = false;
    const caller = await addCaller(store);
    const task = await send(caller, form({ input_reference: randomBytes(1000) }));
    expect(await store.results.listInputs(task.taskId)).toEqual([]);
    expect(await engine.surfaces.retryBlock(task)).toBe('request_not_kept');
    await expect(again(caller, task)).rejects.toMatchObject({ code: 'tasks.request_not_kept' });
  });

  test('a task is run again with the same files, as parts and inside JSON, on any node, and again after that', async () => {
    const base64 = randomBytes(900_000).toString('base64');
    const json = JSON.stringify({
      model: 'demo-video',
      prompt: 'a [instant]',
      image: `data:image/png;base64,${base64}`,
    });
    const small = JSON.stringify({
      ...{ model: 'demo-video', prompt: 'a [instant]' },
      image: `data:image/png;base64,${randomBytes(50_000).toString('base64')}`,
    });
    const bodies = [
      form({ input_reference: randomBytes(300_000) }),
      form({ first_frame: randomBytes(70_000) }),
      json,
      small,
    ];
    const other = await startEngine(store, sandbox, { files: engine.files });
    engines.push(other);
    other.keeping.keepInputs = true;
    for (const body of bodies) {
      const caller = await addCaller(store);
      const first = await send(caller, body);
      const rows = await store.results.listInputs(first.taskId);
      expect(rows.map(({ kind, state, userId }) => ({ kind, state, userId }))).toEqual([
        { kind: 'input', state: 'kept', userId: caller.user.id },
      ]);
      expect(await engine.surfaces.retryBlock(first)).toBeUndefined();
      const second = await again(caller, first, other);
      const third = await again(caller, second);
      expect(readDigest(first)).toBeString();
      expect([second, third].map(readDigest)).toEqual([readDigest(first), readDigest(first)]);
      const [file] = (await store.results.files('', 1000)).filter(({ sha256 }) => sha256 === rows[0]?.sha256);
      expect(file?.refs).toBe(3);
      const usage = await engine.results.usage(caller.user);
      expect(usage).toMatchObject({ results: 3, bytes: 3 * (rows[0]?.bytes ?? 0), isOffered: true });
    }
  });

  test('inputs are not results: they are not listed, served or shown', async () => {
    const task = await send(await addCaller(store), form({ input_reference: randomBytes(1000) }));
    expect(await store.results.ofTasks([task.taskId])).toEqual([]);
    expect(await store.results.find(task.taskId, 'input:0')).toBeUndefined();
    const { artifacts } = await engine.results.artifacts(task);
    expect(artifacts.map(({ key }) => key)).toEqual(['video']);
    const asked = { method: 'GET' as const, headers: {}, signal: new AbortController().signal, requestId: 'r' };
    await expect(engine.results.content(task, { key: 'input:0' }, asked)).rejects.toMatchObject({
      code: 'tasks.artifact_not_found',
    });
  });

  test('files that do not fit are told as the reason; the task is unharmed', async () => {
    const caller = await addCaller(store);
    engine.keeping.storageQuotaFor = () => 500;
    const task = await send(caller, form({ input_reference: randomBytes(1000) }));
    expect([task.status, await engine.surfaces.retryBlock(task)]).toEqual(['SUCCESS', 'inputs_not_kept']);
    await expect(again(caller, task)).rejects.toMatchObject({
      code: 'tasks.inputs_not_kept',
      message: expect.stringContaining('Your storage was full.'),
    });
    const full: FileStore = { ...engine.files, put: async () => err({ kind: 'full', ...quoted('full') }) };
    const broken: FileStore = {
      ...engine.files,
      put: async () => {
        throw new Error('no bucket');
      },
    };
    for (const [files, said] of [
      [full, 'storage was full'],
      [broken, 'not available'],
    ] as const) {
      const node = await startEngine(store, sandbox, { files });
      engines.push(node);
      node.keeping.keepInputs = true;
      const unkept = await send(caller, form({ input_reference: randomBytes(1000) }), node);
      expect(unkept.status).toBe('SUCCESS');
      await expect(again(caller, unkept)).rejects.toMatchObject({ message: expect.stringContaining(said) });
    }
  });

  test('files that no longer fit when their task begins are told as the reason', async () => {
    const caller = await addCaller(store);
    engine.keeping.storageQuotaFor = () => 1500;
    const orders = Array.from({ length: 4 }, () => send(caller, form({ input_reference: randomBytes(1000) })));
    const blocks = await Promise.all((await Promise.all(orders)).map((task) => engine.surfaces.retryBlock(task)));
    expect(blocks.filter((block) => block !== 'inputs_not_kept').length).toBeLessThanOrEqual(1);
    expect((await store.results.usage(caller.user.id)).bytes).toBeLessThanOrEqual(1500);
  });

  test('nothing is stored for those who cannot pay, nor for a request that is refused', async () => {
    const before = await digests();
    const poor = await addCaller(store, 0);
    await expect(send(poor, form({ input_reference: randomBytes(1000) }))).rejects.toMatchObject({
      code: 'billing.insufficient_quota',
    });
    const wrong = form({ input_reference: randomBytes(1000) });
    wrong.set('seconds', '999999');
    await expect(send(await addCaller(store), wrong)).rejects.toThrow();
    expect(await digests()).toEqual(before);
  });

  test('after their days, or with their task, files are gone and a retry says so', async () => {
    const caller = await addCaller(store);
    const deleted = await send(caller, form({ input_reference: randomBytes(2000) }));
    engine.keeping.daysFor = () => 1;
    const expires = await send(caller, form({ input_reference: randomBytes(3000) }));
    const sizes = async (tasks: TaskRecord[]) =>
      (await Promise.all(tasks.map(({ taskId }) => store.results.listInputs(taskId)))).map(({ length }) => length);
    expect(await sizes([deleted, expires])).toEqual([1, 1]);
    await engine.tasks.delete(caller.user.id, deleted.taskId);
    expect((await store.tasks.byTaskId(deleted.taskId))?.execution.inputs).toBeUndefined();
    const stays = await send(caller, form({ input_reference: randomBytes(4000) }));
    engine.keeping.daysFor = () => 0;
    const gone = (await store.results.listInputs(expires.taskId))[0]?.sha256 ?? '';

    // A killed process left a file that no task needs.
    const orphan = randomBytes(100);
    await engine.files.put(
      (async function* () {
        yield orphan;
      })(),
      { maxBytes: 1000, signal: new AbortController().signal },
    );
    for (const days of [2, 4]) {
      const clock = { ...systemClock, unix: () => systemClock.unix() + days * 86_400 };
      const later = await startEngine(store, sandbox, { files: engine.files, clock });
      engines.push(later);
      await sweep(later);
    }
    expect(await sizes([deleted, expires])).toEqual([0, 0]);
    expect(await engine.surfaces.retryBlock(expires)).toBe('inputs_gone');
    await expect(again(caller, expires)).rejects.toMatchObject({ code: 'tasks.inputs_gone' });
    const left = await digests();
    expect([left.includes(gone), left.includes(sha256Hex(orphan))]).toEqual([false, false]);
    // `stays` was kept for a day too.
    expect(await sizes([stays])).toEqual([0]);
  });

  test('files go with their request where retention removes it', async () => {
    const caller = await addCaller(store);
    const task = await send(caller, form({ input_reference: randomBytes(2000) }));
    await store.transaction((tx) => clearContent(tx, [task.id], ['request']));
    expect(await store.results.listInputs(task.taskId)).toEqual([]);
    await expect(again(caller, task)).rejects.toMatchObject({ code: 'tasks.request_not_kept' });
  });

  test('a file that is missing from its place is told, and the vendor is not asked', async () => {
    const caller = await addCaller(store);
    const task = await send(caller, form({ input_reference: randomBytes(5000) }));
    const [row] = await store.results.listInputs(task.taskId);
    await engine.files.delete(row?.sha256 ?? '');
    await expect(again(caller, task)).rejects.toMatchObject({ code: 'tasks.inputs_gone' });
  });

  test('a small JSON request is repeated from its row, with no file', async () => {
    const caller = await addCaller(store);
    const request = await jsonRequest('/v1/tasks/demo', { model: 'demo-video', prompt: 'a [instant]' });
    const { taskId } = await engine.surfaces.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request });
    const task = await ended(store, taskId);
    expect(task.execution).toMatchObject({ request: { model: 'demo-video' } });
    expect(task.execution.inputs).toBeUndefined();
  });
};

describeEachStore(
  'kept files of requests',
  (opened) => describe('with the demo vendor', () => describeInputs(opened)),
  { databases: RULE_DATABASES },
);
