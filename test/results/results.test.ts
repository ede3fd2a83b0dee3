/** Results that the gateway keeps: wanted with the success, copied once, served, swept. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { createSecretBox, quoted, sha256Hex, systemClock } from '../../src/kernel/index.ts';
import { CONTENT_PARTS, clearContent } from '../../src/operations/retention/strip-content.ts';
import type { Content } from '../../src/results/types.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import { createFolderFiles } from '../../src/store/index.ts';
import type { FileStore, KeptResultRecord, Store, TaskRecord } from '../../src/store/ports/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { changeSealedKey } from '../support/accounts.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const describeKeeping = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  const engines: Engine[] = [];
  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox);
    await engine.addChannel();
    await engine.start();
  });
  afterEach(async () => {
    Object.assign(engine.keeping, {
      keep: 'off',
      daysFor: () => 0,
      storageQuotaFor: () => undefined,
      usdPerGbDayFor: () => 0,
      previewBytes: 1_000_000,
    });
    for (const other of engines.splice(0)) await other.stop();
  });
  afterAll(() => engine.stop());

  type Caller = Awaited<ReturnType<typeof addCaller>>;
  async function make(caller: Caller, { prompt = 'x', metadata = {}, header = '' } = {}): Promise<TaskRecord> {
    const request = { ...jsonRequest({ model: 'demo-video', prompt, metadata }), keepResult: header || null };
    const { task } = {
      task: await engine.surfaces.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request }),
    };
    engine.finishJobs();
    return ended(store, task.taskId);
  }
  const readResults = ({ taskId }: TaskRecord): Promise<KeptResultRecord[]> => store.results.ofTasks([taskId]);
  const kept = (task: TaskRecord, state = 'kept'): Promise<KeptResultRecord> =>
    until(`a result of ${task.taskId} is ${state}`, async () =>
      (await readResults(task)).find((row) => row.state === state && row.artifactKey !== ''),
    );
  const download = (task: TaskRecord, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    engine.results.content(
      task,
      { key: 'video' },
      { method, headers, signal: new AbortController().signal, requestId: 'r', followsRedirect: true },
    );
  const readBytes = async ({ body }: Content): Promise<Buffer> =>
    Buffer.from(await new Response(body as never).bytes());

  test('only what is asked for is kept: by header, by metadata, by key, or all by option', async () => {
    const caller = await addCaller(store);
    const asking = { ...caller, key: { ...caller.key, keepResults: true } };
    const cases = [
      ['off', caller, { header: 'true' }, false],
      ['asked', caller, {}, false],
      ['asked', caller, { header: 'true' }, true],
      ['asked', caller, { metadata: { keep_result: 'true' } }, true],
      ['asked', asking, {}, true],
      ['asked', asking, { header: 'false' }, false],
      ['all', caller, {}, true],
      ['all', caller, { header: 'false' }, false],
    ] as const;
    for (const [keep, by, request, isKept] of cases) {
      engine.keeping.keep = keep;
      const task = await make(by, request);
      if (isKept) expect(await kept(task)).toMatchObject({ state: 'kept', userId: caller.user.id, kind: 'video' });
      else expect([keep, request, await readResults(task)]).toEqual([keep, request, []]);
    }
  });

  test('a kept result equals the vendor’s, has the same link, and outlives the vendor’s channel', async () => {
    const caller = await addCaller(store);
    engine.keeping.keep = 'off';
    const handed = await make(caller, { prompt: 'the vendor’s' });
    expect((await download(handed)).headers.etag).not.toMatch(/^"[0-9a-f]{64}"$/);

    engine.keeping.keep = 'all';
    const id = await engine.addChannel({ name: 'short-lived', priority: 9 });
    const task = await make(caller);
    const row = await kept(task);
    const whole = await download(task);
    const bytes = await readBytes(whole);
    expect(whole).toMatchObject({
      status: 200,
      headers: { 'content-type': 'video/mp4', etag: `"${row.sha256}"`, 'content-length': String(bytes.length) },
    });
    expect([row.sha256, row.bytes]).toEqual([sha256Hex(bytes), bytes.length]);
    await engine.channels.delete(id);
    expect(await readBytes(await download(task))).toEqual(bytes);
    expect((await engine.results.artifacts(task)).artifacts).toMatchObject([
      { key: 'video', kept: 'kept', bytes: bytes.length, sha256: row.sha256 },
    ]);
  });

  test('a kept result outlives the vendor’s answer; without one, an expired task says that its result is gone', async () => {
    const caller = await addCaller(store);
    engine.keeping.keep = 'all';
    const [task, other] = [await make(caller), await make(caller, { header: 'false' })];
    const row = await kept(task);
    const bytes = await readBytes(await download(task));
    const expired = async ({ id, taskId }: TaskRecord) => {
      await store.transaction((tx) => clearContent(tx, [id], CONTENT_PARTS));
      return (await store.tasks.byTaskId(taskId)) as TaskRecord;
    };
    const emptied = await expired(task);
    expect(emptied).toMatchObject({ data: null, properties: { input: '', expired: true } });
    expect(await readBytes(await download(emptied))).toEqual(bytes);
    expect((await engine.results.artifacts(emptied)).artifacts).toMatchObject([{ key: 'video', sha256: row.sha256 }]);
    const gone = await expired(other);
    for (const ask of [() => download(gone), () => engine.results.artifacts(gone)])
      await expect(ask()).rejects.toMatchObject({ code: 'tasks.artifact_gone', kind: 'gone' });
    const video = await engine.surfaces.renderVideo(gone, jsonRequest({}));
    expect(video).toMatchObject({ id: gone.taskId, status: 'completed' });
    expect(video.prompt).toBeUndefined();
    const retried = engine.surfaces.retry(caller, { requestId: 'r', taskId: gone.taskId, options: {} as never });
    await expect(retried).rejects.toMatchObject({ code: 'tasks.request_not_kept' });
  });

  test('a stale link: what ended it counts at the next download of a kept result, however often it was used', async () => {
    const caller = await addCaller(store);
    engine.keeping.keep = 'all';
    const task = await make(caller);
    const row = await kept(task);
    const readLink = async (expiresIn?: string) => {
      const { artifacts } = await engine.results.artifacts(task, expiresIn);
      return new URL(artifacts[0]?.content_url ?? '').searchParams.getAll('access');
    };
    const open = (access: string[], artifact = { taskId: task.taskId, artifactKey: 'video' }) =>
      engine.results.contentByLink(
        { ...artifact, access, address: '203.0.113.1' },
        { method: 'GET', headers: {}, signal: new AbortController().signal, requestId: 'r' },
      );
    const opensAlways = async (access: string[]) => {
      for (let n = 0; n < 3; n += 1) expect((await open(access)).headers.etag).toBe(`"${row.sha256}"`);
    };
    const refused = { code: 'tasks.artifact_not_found' };

    const first = await readLink();
    await opensAlways(first);
    const other = await make(caller);
    await expect(open(first, { taskId: other.taskId, artifactKey: 'video' })).rejects.toMatchObject(refused);
    await expect(open(first, { taskId: task.taskId, artifactKey: 'cover' })).rejects.toMatchObject(refused);
    await engine.results.revokeLinks(task);
    await expect(open(first)).rejects.toMatchObject(refused);

    const current = (await store.tasks.byTaskId(task.taskId)) as TaskRecord;
    Object.assign(task, current);
    const short = await readLink('2');
    await until('the link has ended', () =>
      open(short).then(
        () => false,
        ({ code }) => code === refused.code,
      ),
    );

    const last = await readLink();
    await opensAlways(last);
    await engine.tasks.delete(caller.user.id, task.taskId);
    await expect(open(last)).rejects.toMatchObject(refused);
  });

  test('while the result storage is unavailable the vendor sends the file; once it is gone there, a repeat is advised', async () => {
    engine.keeping.keep = 'all';
    const task = await make(await addCaller(store));
    const row = await kept(task);
    const { open } = engine.files;
    // As a node sees it whose folder is not the one that the others share.
    engine.files.open = async () => Promise.reject(storeErrors.results_unavailable({ retryAfterSeconds: 60 }));
    try {
      const body = await new Response((await download(task)).body as BodyInit).bytes();
      expect(sha256Hex(body)).toBe(row.sha256 ?? '');
      const away = { code: 'store.results_unavailable', retryAfterSeconds: 60 };
      const gone = { ...task, channelId: 9999 };
      const client = { method: 'GET' as const, headers: {}, signal: new AbortController().signal, requestId: 'r' };
      await expect(engine.results.content(gone, { key: 'video' }, client)).rejects.toMatchObject(away);
    } finally {
      engine.files.open = open;
    }
  });

  test('ranges and conditions are answered from the copy', async () => {
    engine.keeping.keep = 'all';
    const task = await make(await addCaller(store));
    const { sha256, bytes: size } = await kept(task);
    const whole = await readBytes(await download(task));
    const cases: [headers: Record<string, string>, status: number, body: Buffer | null, more?: object][] = [
      [{ range: 'bytes=0-9' }, 206, whole.subarray(0, 10), { 'content-range': `bytes 0-9/${size}` }],
      [{ range: 'bytes=-5' }, 206, whole.subarray(-5)],
      [{ range: `bytes=${size - 2}-` }, 206, whole.subarray(-2)],
      [{ range: 'bytes=5-999999999' }, 206, whole.subarray(5)],
      [{ range: `bytes=${size}-` }, 416, null, { 'content-range': `bytes */${size}` }],
      [{ range: 'bytes=9-5' }, 200, whole],
      [{ range: 'lines=1-2' }, 200, whole],
      [{ range: 'bytes=' }, 200, whole],
      [{ range: 'bytes= , ,' }, 200, whole],
      [{ range: 'bytes=0-,0-,0-' }, 200, whole],
      [{ 'if-none-match': `"other", W/"${sha256}"` }, 304, null],
      [{ 'if-none-match': '"other"' }, 200, whole],
      [{ 'if-modified-since': new Date(Date.now() + 60_000).toUTCString() }, 304, null],
      [{ 'if-match': `"other", "${sha256}"` }, 200, whole],
      [{ 'if-match': '*', range: 'bytes=0-1' }, 206, whole.subarray(0, 2)],
      [{ 'if-match': `W/"${sha256}"` }, 412, null],
      [{ 'if-match': '"other"', 'if-none-match': `"${sha256}"` }, 412, null],
      [{ 'if-unmodified-since': new Date(0).toUTCString() }, 412, null],
      [{ 'if-unmodified-since': new Date(Date.now() + 60_000).toUTCString() }, 200, whole],
      [{ range: 'bytes=0-1', 'if-range': `"${sha256}"` }, 206, whole.subarray(0, 2)],
      [{ range: 'bytes=0-1', 'if-range': '"other"' }, 200, whole],
    ];
    for (const [headers, status, body, more = {}] of cases) {
      const content = await download(task, headers);
      expect([headers, content.status]).toEqual([headers, status]);
      expect(content.headers).toMatchObject(more);
      expect(content.body === null ? null : await readBytes(content)).toEqual(body);
    }
    const parts = await download(task, { range: 'bytes=0-3,10-12' });
    expect(parts.status).toBe(206);
    const text = await readBytes(parts);
    expect(parts.headers['content-length']).toBe(String(text.length));
    expect(parts.headers['content-type']).toMatch(/^multipart\/byteranges; boundary=\w{32}$/);
    const head = `content-type: ${(await download(task)).headers['content-type']}\r\ncontent-range: bytes 10-12/${size}\r\n\r\n`;
    expect(text.includes(Buffer.concat([Buffer.from(head), whole.subarray(10, 13)]))).toBe(true);
    // RFC 9110, 14.2: only GET has ranges.
    for (const range of ['', 'bytes=0-9', 'bytes=0-3,10-12', `bytes=${size}-`]) {
      const { status, headers, body } = await download(task, { range }, 'HEAD');
      expect([range, status, body, headers['content-length'], headers['content-range']]).toEqual([
        ...[range, 200, null, String(size), undefined],
      ]);
    }
  });

  test('a link to the place displays only what a browser may display: a page of a vendor is a download', async () => {
    Object.assign(engine.keeping, { keep: 'all', redirects: true });
    const served: [stored: string, mimeType: string, disposition: string][] = [
      ['video/mp4', 'video/mp4', 'inline'],
      ['IMAGE/PNG; x=1', 'image/png; x=1', 'inline'],
      ['text/html', 'application/octet-stream', 'attachment'],
      ['image/svg+xml', 'application/octet-stream', 'attachment'],
      ['video/mp4, text/html', 'application/octet-stream', 'attachment'],
      ['', 'application/octet-stream', 'attachment'],
    ];
    const task = await make(await addCaller(store));
    const row = await kept(task);
    const find = store.results.find;
    const presign = engine.files.presign;
    try {
      for (const [stored, mimeType, disposition] of served) {
        store.results.find = async () => ({ ...row, mimeType: stored });
        engine.files.presign = (sha256, link) => JSON.stringify({ sha256, ...link });
        const { status, headers } = await download(task);
        expect([status, JSON.parse(headers.location ?? '')]).toEqual([
          ...[302, { sha256: row.sha256, seconds: 300, mimeType, disposition }],
        ]);
      }
    } finally {
      store.results.find = find;
      engine.files.presign = presign;
      engine.keeping.redirects = false;
    }
  });

  test('a full account is told to its owner, and the task is unharmed', async () => {
    const caller = await addCaller(store);
    Object.assign(engine.keeping, { keep: 'all', storageQuotaFor: () => 10 });
    const full = await make(caller);
    const waiting = await until('it was tried', async () =>
      (await readResults(full)).find(({ attempts }) => attempts > 0),
    );
    expect(waiting).toMatchObject({ state: 'pending', reason: "It does not fit into the account's storage." });
    expect((await engine.results.artifacts(full)).artifacts).toMatchObject([
      { kept: 'pending', kept_reason: waiting.reason },
    ]);
    expect((await download(full)).status).toBe(200);
    engine.keeping.storageQuotaFor = () => undefined;
    expect(await engine.results.retry(full.taskId)).toBe(1);
    await kept(full);
    expect(await engine.results.usage(caller.user)).toMatchObject({ results: 1, quotaBytes: null });
  });

  test('what a user keeps is charged once a day, also below zero', async () => {
    engine.keeping.keep = 'all';
    const caller = await addCaller(store);
    const { bytes } = await kept(await make(caller));
    const before = (await store.users.byId(caller.user.id))?.quota ?? 0;
    engine.keeping.usdPerGbDayFor = () => 1_000_000;
    const charge = async (days: number) => {
      const clock = { ...systemClock, unix: () => systemClock.unix() + days * 86_400 };
      const node = await startEngine(store, sandbox, { clock });
      engines.push(node);
      node.keeping.usdPerGbDayFor = engine.keeping.usdPerGbDayFor;
      for (const { step, deleteBatch } of node.results.cleanUpSteps)
        if (step === 'storage charges') await deleteBatch(1);
    };
    await charge(0);
    await charge(0);
    const daily = Math.round((bytes / 1e9) * 1_000_000 * 500_000);
    expect((await store.users.byId(caller.user.id))?.quota).toBe(before - daily);
    await charge(1);
    expect((await store.users.byId(caller.user.id))?.quota).toBe(before - 2 * daily);
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  test('a result whose time is over is not charged for another day', async () => {
    Object.assign(engine.keeping, { keep: 'all', daysFor: () => 1 });
    const caller = await addCaller(store);
    await kept(await make(caller));
    const before = (await store.users.byId(caller.user.id))?.quota;
    const clock = { ...systemClock, unix: () => systemClock.unix() + 5 * 86_400 };
    const node = await startEngine(store, sandbox, { clock });
    engines.push(node);
    node.keeping.usdPerGbDayFor = () => 1_000_000;
    for (const { step, deleteBatch } of node.results.cleanUpSteps)
      if (['expired results', 'storage charges'].includes(step)) await deleteBatch(100);
    expect((await store.users.byId(caller.user.id))?.quota).toBe(before);
  });

  /** The demo vendor behind a proxy that may answer downloads otherwise. */
  async function throughProxy(answer: (ask: (headers?: object) => Promise<Response>) => Promise<Response>) {
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        const { host: _host, ...sent } = Object.fromEntries(request.headers);
        const body = request.method === 'GET' ? null : await request.bytes();
        const ask = async (headers = {}) => {
          const init = { method: request.method, headers: { ...sent, ...headers }, body };
          const asked = await fetch(`${engine.vendorUrl}${pathname}${search}`, init);
          return new Response(await asked.bytes(), asked);
        };
        return pathname.endsWith('/content') ? answer(ask) : ask();
      },
    });
    const channel = { name: 'proxy', priority: 99, baseUrl: `http://127.0.0.1:${proxy.port}` };
    const id = await engine.addChannel(channel);
    engine.keeping.keep = 'all';
    const close = async () => {
      await engine.channels.delete(id);
      await proxy.stop(true);
    };
    return { id, [Symbol.asyncDispose]: close };
  }
  const tried = (task: TaskRecord) =>
    until(`${task.taskId} was tried`, async () => (await readResults(task)).find(({ attempts }) => attempts > 0));

  test('truncation: a part of a file is never kept as the whole', async () => {
    let range: object = { range: 'bytes=0-99' };
    await using _ = await throughProxy((ask) => ask(range));
    const task = await make(await addCaller(store));
    expect(await tried(task)).toMatchObject({
      ...{ state: 'pending', reason: 'The vendor did not send the whole file.' },
    });
    range = {};
    await engine.results.retry(task.taskId);
    expect((await kept(task)).bytes).toBeGreaterThan(100);
  });

  test('deleted tasks and expired results leave no file behind; nor does a killed copy', async () => {
    const caller = await addCaller(store);
    engine.keeping.keep = 'all';
    const [stays, deleted] = [await make(caller), await make(caller)];
    // A copy is made after its task has ended, by what holds then.
    const before = { stays: await kept(stays), deleted: await kept(deleted) };
    engine.keeping.daysFor = () => 1;
    const expires = await make(caller);
    const rows = { ...before, expires: await kept(expires) };
    expect(rows.expires.keptUntil).toBe(rows.expires.keptAt + 86_400);
    const orphan = (async function* () {
      yield Buffer.from('orphan');
    })();
    await engine.files.put(orphan, { maxBytes: 100, signal: new AbortController().signal });
    await engine.tasks.delete(caller.user.id, deleted.taskId);
    expect(await readResults(deleted)).toEqual([]);

    const sizes = () =>
      Promise.all(
        [...Object.values(rows).map((row) => row.sha256 ?? ''), sha256Hex('orphan')].map(
          async (sha256) => (await engine.files.size(sha256)) !== undefined,
        ),
      );
    const sweep = async ({ results }: Engine) => {
      for (const { deleteBatch } of results.cleanUpSteps) while ((await deleteBatch(100)) > 0);
    };
    // The orphan may be a copy that is about to be counted.
    await sweep(engine);
    expect(await sizes()).toEqual([true, true, true, true]);
    const clock = { ...systemClock, unix: () => systemClock.unix() + 2 * 86_400 };
    const later = await startEngine(store, sandbox, { files: engine.files, clock });
    engines.push(later);
    await sweep(later);
    expect(await sizes()).toEqual([true, false, false, false]);
    expect(await readBytes(await download(expires))).toHaveLength(rows.expires.bytes);
    const files = await store.results.files('', 1000);
    expect((await engine.files.list('', 1000)).map(({ sha256 }) => sha256)).toEqual(files.map(({ sha256 }) => sha256));
  });

  test('a file that its place does not delete holds up no others', async () => {
    const caller = await addCaller(store);
    engine.keeping.keep = 'all';
    const tasks = [await make(caller, { prompt: '1' }), await make(caller, { prompt: '2' }), await make(caller)];
    const digests = await Promise.all(tasks.map(async (task) => (await kept(task)).sha256 ?? ''));
    for (const { taskId } of tasks) await engine.tasks.delete(caller.user.id, taskId);
    const later = await startEngine(store, sandbox, { files: engine.files, clock: twoDaysLater });
    engines.push(later);
    let locked: string | undefined;
    const remove = engine.files.delete;
    engine.files.delete = async (sha256) => {
      locked ??= sha256;
      if (sha256 === locked) throw storeErrors.results_unavailable();
      await remove(sha256);
    };
    try {
      const sweep = later.results.cleanUpSteps.find(({ step }) => step === 'files of results');
      await sweep?.deleteBatch(100);
    } finally {
      engine.files.delete = remove;
    }
    const left = await Promise.all(digests.map((sha256) => engine.files.size(sha256)));
    expect(digests.filter((sha256, n) => left[n] !== undefined && sha256 !== locked)).toEqual([]);
    expect([new Set(digests).size, locked]).toEqual([3, expect.any(String)]);
  });

  /** Stores a file that no result names. */
  const storeOrphan = async (name: string): Promise<void> => {
    const source = (async function* () {
      yield Buffer.from(name);
    })();
    await engine.files.put(source, { maxBytes: 100, signal: new AbortController().signal });
  };
  const twoDaysLater = { ...systemClock, unix: () => systemClock.unix() + 2 * 86_400 };
  /** What deletes such files in a gateway with this database, two days later. */
  const startSweep = async (database: typeof store) => {
    const later = await startEngine(database, sandbox, { files: engine.files, clock: twoDaysLater });
    engines.push(later);
    return () => later.results.cleanUpSteps.find(({ step }) => step === 'files without results')?.deleteBatch(100);
  };

  test('a place that another gateway fills too loses none of the files of that one', async () => {
    const names = Array.from({ length: 40 }, (_, number) => `theirs ${number}`);
    for (const name of names) await storeOrphan(name);
    const sweep = await startSweep(store);
    expect(await sweep()).toBe(0);
    for (const name of names.splice(3)) await engine.files.delete(sha256Hex(name));
    const unused = { ...store, results: { ...store.results, files: async () => [], knownFiles: async () => [] } };
    const sweepUnused = await startSweep(unused);
    expect(await sweepUnused()).toBe(0);
    for (const name of names) {
      expect(await engine.files.size(sha256Hex(name))).toBe(name.length);
      await engine.files.delete(sha256Hex(name));
    }
  });

  test('files that no result names stay while a database that a copy replaced may come back', async () => {
    const name = 'kept since the copy';
    await storeOrphan(name);
    const sweep = await startSweep(store);
    await store.options.put('results.orphans_stay_until', String(twoDaysLater.unix() + 60));
    expect(await sweep()).toBe(0);
    expect(await engine.files.size(sha256Hex(name))).toBe(name.length);
    await store.options.put('results.orphans_stay_until', String(twoDaysLater.unix() - 1));
    expect(await sweep()).toBe(1);
    expect(await engine.files.size(sha256Hex(name))).toBeUndefined();
  });

  // From here on, the worker of `engine` is stopped.
  test('another node takes over a copy whose node died, and a late one counts nothing', async () => {
    engine.keeping.keep = 'all';
    await engine.results.stop();
    const task = await make(await addCaller(store));
    const [dead] = await store.results.claim({ owner: 'a dead node', limit: 1, leaseForMs: 1 });
    const other = await startEngine(store, sandbox, { files: engine.files });
    engines.push(other);
    other.keeping.keep = 'all';
    await other.results.start();
    const row = await kept(task);
    const lease = { id: dead?.id ?? 0, leaseOwner: 'a dead node', leaseSeq: dead?.leaseSeq ?? 0 };
    const late = { sha256: row.sha256 ?? '', bytes: 1, mimeType: '', keptAt: 1, keptUntil: 0 };
    expect(await store.results.keep(lease, late)).toBe('lost_claim');
    expect((await store.results.files('', 1000)).find(({ sha256 }) => sha256 === row.sha256)?.refs).toBe(1);
  });

  test('a copy whose file another node deletes as an orphan is recreated, never kept without its file', async () => {
    for (const endsBefore of [true, false]) {
      const files = createFolderFiles({ folder: temporaryFolder(), minFreeBytes: 0 });
      let deleted = '';
      // The sweep of another node found an equal orphan, and deletes it while this copy is counted.
      const swept: FileStore = {
        ...files,
        async put(source, limit) {
          const stored = await files.put(source, limit);
          if (deleted !== '' || !stored.ok) return stored;
          deleted = stored.value.sha256;
          expect(await store.results.takeOrphan(deleted, 100)).toBe(true);
          await files.delete(deleted);
          if (endsBefore) await store.results.deleted(deleted);
          return stored;
        },
      };
      const node = await startEngine(store, sandbox, { files: swept });
      engines.push(node);
      engine.keeping.keep = 'all';
      await node.results.start();
      const task = await make(await addCaller(store), { prompt: `swept ${endsBefore}` });
      const wokenMs = Date.now();
      node.results.wake();
      const failed = await tried(task);
      expect(failed).toMatchObject({ state: 'pending', sha256: null });
      // It costs the whole download again, and a dead node's deletion may last an hour.
      expect(failed.nextAttemptAtMs - wokenMs).toBeGreaterThan(3000);
      await store.results.deleted(deleted);
      await node.results.retry(task.taskId);
      expect((await kept(task)).sha256).toBe(deleted);
      expect(await files.size(deleted)).toBeGreaterThan(0);
      await node.results.stop();
    }
  });

  test('a vendor that sends a byte now and then does not hold a copy forever', async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const dripping = () =>
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(Buffer.from('drop'));
          aheadMs += 30_000;
          await Bun.sleep(50);
        },
      });
    await using _ = await throughProxy(async () => new Response(dripping()));
    const node = await startEngine(store, sandbox, { clock });
    engines.push(node);
    await node.results.start();
    const task = await make(await addCaller(store));
    node.results.wake();
    expect(await tried(task)).toMatchObject({ state: 'pending', reason: 'The vendor sends the file too slowly.' });
  });

  test('an error that comes every time counts as an attempt, so that it is not retried forever', async () => {
    await using proxy = await throughProxy((ask) => ask());
    const task = await make(await addCaller(store));
    await changeSealedKey(store, proxy.id, createSecretBox(['another']).seal('a key'));
    const node = await startEngine(store, sandbox);
    engines.push(node);
    await node.results.start();
    expect(await tried(task)).toMatchObject({ state: 'pending', reason: 'It could not be copied.', leaseOwner: null });
  });

  test('a vendor that says once that a result is gone is asked again, however often a disk was full', async () => {
    engine.keeping.keep = 'all';
    await engine.results.stop();
    const id = await engine.addChannel({ name: 'soon gone', priority: 99 });
    const task = await make(await addCaller(store));
    await engine.channels.delete(id);
    const claim = async () => {
      const claims = await store.results.claim({ owner: 'full', limit: 100, leaseForMs: 60_000 });
      const claimed = claims.find(({ taskId }) => taskId === task.taskId) ?? expect.unreachable();
      return { ...claimed, leaseOwner: 'full' };
    };
    const video = {
      ...{ taskId: task.taskId, userId: task.userId },
      artifactKey: 'video',
      kind: 'video',
      createdAt: 1,
    };
    await store.results.list(await claim(), [video], 3_600_000);
    for (const words of ['full', 'full', 'full']) {
      await store.results.postpone(await claim(), { inMs: 0, reason: quoted(words) });
    }
    const node = await startEngine(store, sandbox);
    engines.push(node);
    await node.results.start();
    const row = await until('the vendor was asked', async () =>
      (await readResults(task)).find(({ artifactKey, reason }) => artifactKey !== '' && reason.includes('deleted')),
    );
    expect(row.state).toBe('pending');
  });
};

describeEachStore(
  'kept results of tasks',
  (opened) => describe('with the demo vendor', () => describeKeeping(opened)),
  { databases: RULE_DATABASES },
);
