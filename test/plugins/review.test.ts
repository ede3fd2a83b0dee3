import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import type { PluginService } from '../../src/plugins/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { testInFullRun } from '../support/full-run.ts';
import { channel, insertEndedTask, insertTask } from './records.ts';
import {
  compiledPlugins,
  demoSource,
  makeService,
  type OpenedStore,
  openTestStore,
  pluginSource,
  refusal,
  startSandbox,
  until,
  VIDEO_HOOKS,
} from './support.ts';

const sandbox = startSandbox();
let opened: OpenedStore;
let store: Store;
let service: PluginService;
beforeAll(async () => {
  opened = await openTestStore('sqlite');
  store = opened.store;
  service = makeService(store, sandbox, { factory: await compiledPlugins(sandbox, demoSource) });
  await service.start();
});
afterAll(async () => {
  await service.stop();
  await opened.close();
  await sandbox.close();
});

const newKey = () => `p-${randomBytes(4).toString('hex')}`;
/** Uploads versions of a new key; the first one serves. */
async function uploadAll(...versions: ((key: string) => string)[]): Promise<string> {
  const key = newKey();
  for (const make of versions) await service.upload({ source: make(key), force: true });
  return key;
}
const version =
  (name: string, change: object = {}, more = '') =>
  (key: string) =>
    pluginSource({ key, version: name, ...change }, more);

describe('the difference of two versions', () => {
  test('is a unified diff with its hunks, and what changed in the manifest', async () => {
    const key = await uploadAll(
      version('1.0.0', { description: { en: 'a' }, usageSchema: { seconds: { type: 'number', unit: 'second' } } }),
      version('1.1.0', { models: ['acme-1', 'acme/3'], allowedHosts: ['cdn.example'] }, 'export const x = 1;\n'),
    );
    const diff = await service.diff(key, '1.0.0', '1.1.0');
    expect(diff).toMatchObject({ from: { version: '1.0.0' }, to: { version: '1.1.0' }, identical: false });
    expect(diff.source).toStartWith(`--- ${key}@1.0.0\n+++ ${key}@1.1.0\n@@ -`);
    expect(diff.source).toContain('\n+export const x = 1;\n');
    expect(diff.hunks.flatMap(({ lines }) => lines).filter((line) => line.startsWith('+'))).toHaveLength(2);
    expect(diff.manifest).toEqual([
      { path: '/version', from: '1.0.0', to: '1.1.0' },
      { path: '/models', from: ['acme-1', 'acme-2'], to: ['acme-1', 'acme/3'] },
      { path: '/description', from: { en: 'a' }, to: null },
      { path: '/allowedHosts', from: [], to: ['cdn.example'] },
      { path: '/usageSchema/seconds', from: { type: 'number', unit: 'second' }, to: null },
    ]);
  });

  test('of a version with itself is empty; unknown versions are not found', async () => {
    const key = await uploadAll(version('1.0.0'));
    const same = await service.diff(key, '1.0.0', '1.0.0');
    expect(same).toMatchObject({ identical: true, source: '', hunks: [], manifest: [] });
    for (const [from, to] of [
      ['1.0.0', '9.9.9'],
      ['9.9.9', '1.0.0'],
      ['factory', '1.0.0'],
    ] as const) {
      expect((await refusal(service.diff(key, from, to))).code).toBe('plugins.not_found');
    }
  });

  test('accepts the factory plugin, by name or by version', async () => {
    await service.upload({ source: demoSource.replace("version: '1.0.0'", "version: '5.0.0'") });
    for (const from of ['factory', '1.0.0']) {
      expect(await service.diff('demo', from, '5.0.0')).toMatchObject({
        from: { version: '1.0.0' },
        manifest: [{ path: '/version', from: '1.0.0', to: '5.0.0' }],
      });
    }
    await service.deleteVersion('demo', '5.0.0');
  });

  test('of a stored source with faults has no manifest', async () => {
    const key = await uploadAll(version('1.0.0'));
    const row = (await store.plugins.byVersion(key, '1.0.0')) ?? expect.unreachable();
    const { id: _, active: __, ...rest } = row;
    await store.plugins.insert({ ...rest, version: '0.9.0', source: 'export const meta = {', sourceHash: 'old' });
    const diff = await service.diff(key, '0.9.0', '1.0.0');
    expect(diff).toMatchObject({ identical: false, manifest: null });
    expect(diff.source).toContain('-export const meta = {\n\\ No newline at end of file\n');
  });

  test.each([
    [
      'in every long line',
      (sign: string) => Array.from({ length: 9_000 }, (_, i) => `//${sign}${i}`.padEnd(110, sign)),
    ],
    ['in every short line', (sign: string) => Array.from({ length: 200_000 }, (_, i) => `//${sign}${i % 10}`)],
  ])('of sources of a mebibyte that differ %s comes quickly, as one replaced by the other', async (_name, lines) => {
    const long = (sign: string) => `\n${lines(sign).join('\n')}`;
    const key = await uploadAll(version('1.0.0', {}, long('a')), version('2.0.0', {}, long('b')));
    // Milliseconds of the processor between two turns of the event loop: what others take of the
    // machine is not counted.
    let longest = 0;
    let before = process.cpuUsage();
    const pulse = setInterval(() => {
      longest = Math.max(longest, process.cpuUsage(before).user / 1000);
      before = process.cpuUsage();
    }, 5);
    const diff = await service.diff(key, '1.0.0', '2.0.0');
    await Bun.sleep(10);
    clearInterval(pulse);
    expect(longest).toBeLessThan(2_000);
    expect(diff.hunks).toHaveLength(1);
    const [first, second] = [await service.detail(key, '1.0.0'), await service.detail(key, '2.0.0')];
    const side = (sign: string) =>
      (diff.hunks[0]?.lines ?? [])
        .filter((line) => line.startsWith(sign))
        .map((line) => line.slice(1))
        .join('\n');
    expect(side('-') === first.source && side('+') === second.source).toBe(true);
  });
});

describe('the preview of an activation', () => {
  const route = (path: string, render: string) => ({ method: 'GET', path, type: 'query', render });
  const native = 'export const native = { a: (c, t) => t, b: (c, t) => t };';

  test('shows the differences to the serving version, and changes nothing', async () => {
    const usage = { seconds: { type: 'number', unit: 'second' }, hd: { type: 'boolean' } };
    const key = await uploadAll(
      version(
        '1.0.0',
        {
          baseUrl: 'https://api.example/v1',
          allowedHosts: ['cdn.example'],
          channelTypes: [7001],
          models: ['acme-1', 'acme-2'],
          protocols: [{ name: 'proto_video', models: ['acme-1'] }],
          routes: [route('/review/a/:task_id', 'a'), route('/review/b/:task_id', 'a')],
          usageSchema: usage,
        },
        `${native}${VIDEO_HOOKS}`,
      ),
      version(
        '2.0.0',
        {
          baseUrl: 'https://api2.example',
          allowedHosts: ['cdn.example', 'more.example:8443'],
          channelTypes: [7002],
          models: ['acme-2', 'acme-3'],
          protocols: [{ name: 'proto_video', models: ['acme-3'] }],
          routes: [route('/review/b/:task_id', 'b'), route('/review/c/:task_id', 'a')],
          usageSchema: { hd: { type: 'number', unit: 'count' }, count: { type: 'number', unit: 'count' } },
        },
        `${native}${VIDEO_HOOKS}`,
      ),
    );
    const bound = { taskPluginKey: key };
    const lost = await store.channels.insert(channel({ ...bound, name: 'lost', models: ['acme-1', 'acme-2'] }));
    const mapped = await store.channels.insert(
      channel({ ...bound, name: 'mapped', status: 2, models: ['mine'], modelMapping: { mine: 'acme-1' } }),
    );
    await store.channels.insert(channel({ ...bound, name: 'kept', models: ['acme-2'] }));
    const typed = await store.channels.insert(
      channel({ name: 'typed', type: 7001, taskPluginKey: null, models: ['acme-2'] }),
    );
    const before = [await service.versions(key), await store.channels.all(), service.current().number];

    const preview = await service.preview(key, { version: '2.0.0' });
    expect(preview).toMatchObject({
      from: { version: '1.0.0', layer: 'database' },
      to: { version: '2.0.0' },
      hosts: { added: ['api2.example', 'more.example:8443'], removed: ['api.example'] },
      models: { added: ['acme-3'], removed: ['acme-1'] },
      routes: {
        added: [{ method: 'GET', path: '/review/c/:task_id' }],
        removed: [{ path: '/review/a/:task_id' }],
        changed: [{ from: { path: '/review/b/:task_id', render: 'a' }, to: { render: 'b' } }],
      },
      protocols: {
        added: [],
        removed: [],
        changed: [
          {
            name: 'proto_video',
            modes: { added: [], removed: [] },
            models: { added: ['acme-3'], removed: ['acme-1'] },
          },
        ],
      },
      channelTypes: { added: [7002], removed: [7001] },
      usageSchema: {
        added: ['count'],
        removed: ['seconds'],
        changed: [{ name: 'hd', from: { type: 'boolean' }, to: { type: 'number', unit: 'count' } }],
      },
      priced: {
        before: { models: ['acme-1', 'acme-2'], facts: ['seconds', 'hd'] },
        after: { models: ['acme-2', 'acme-3'], facts: ['hd', 'count'] },
      },
      conflict: null,
      replay: [],
    });
    expect(preview.channels).toEqual([
      { id: lost.id, name: 'lost', status: 1, models: ['acme-1'] },
      { id: mapped.id, name: 'mapped', status: 2, models: ['mine'] },
      { id: typed.id, name: 'typed', status: 1, models: ['acme-2'] },
    ]);
    expect([await service.versions(key), await store.channels.all(), service.current().number]).toEqual(before);
    await service.deleteVersion(key, '2.0.0');
    await service.setEnabled(key, false, { cascade: true });
  });

  test('names the conflict, respects the narrowing, and shows all as new if no plugin serves', async () => {
    const claim = { protocols: [{ name: 'proto_video', models: ['review-1', 'review-2'] }] };
    const models = ['review-1', 'review-2'];
    const holder = await uploadAll(version('1.0.0', { models, protocols: ['proto_video'] }, VIDEO_HOOKS));
    const key = newKey();
    const source = version('1.0.0', { models, ...claim }, VIDEO_HOOKS)(key);
    await service.upload({ source, enabled: false });
    expect(await service.preview(key, { version: '1.0.0' })).toMatchObject({
      from: null,
      models: { added: models, removed: [] },
      protocols: { added: [{ name: 'proto_video', models }] },
      priced: { before: null },
      conflict: { with: holder, kind: 'protocol_model', subject: 'proto_video review-1' },
    });
    await service.narrow(key, ['review-2']);
    expect(await service.preview(key, { version: '1.0.0' })).toMatchObject({
      models: { added: ['review-2'] },
      conflict: { subject: 'proto_video review-2' },
    });
    expect((await refusal(service.preview(key, { version: '2.0.0' }))).code).toBe('plugins.not_found');
  });

  test('reads the last twenty stored answers with both versions and marks statuses that change', async () => {
    const reading = (expression: string) => (key: string) =>
      pluginSource({ key, version: expression.includes('done') ? '2.0.0' : '1.0.0' }).replace(
        '{ status: body.status }',
        expression,
      );
    const key = await uploadAll(
      reading("{ status: body.status, progress: body.progress, reason: 'was ' + ctx.model + ctx.authHeader }"),
      reading(
        "body.status === 'bad' ? missing() : { status: body.done ? 'SUCCESS' : 'FAILURE', reason: ctx.state?.why ?? '' }",
      ),
    );
    for (let i = 0; i < 18; i += 1) await insertEndedTask(store, key, { data: { status: 'SUCCESS', done: true, i } });
    const changed = await insertEndedTask(store, key, {
      data: { status: 'SUCCESS', progress: '40%' },
      change: { state: { why: 'x' }, status: 'SUCCESS' },
    });
    const fails = await insertEndedTask(store, key, { data: { status: 'bad' }, change: { status: 'FAILURE' } });
    const oldest = await insertEndedTask(store, key, { data: { status: 'SUCCESS', done: true } });
    await insertTask(store, key);
    const rows = async () => JSON.stringify(await store.tasks.latestWithData(key, 100));
    const before = await rows();

    const { replay } = await service.preview(key, { version: '2.0.0' });
    expect(replay).toHaveLength(20);
    expect(replay.slice(0, 3)).toEqual([
      {
        taskId: oldest,
        storedStatus: 'SUCCESS',
        before: { status: 'SUCCESS', progress: null, reason: 'was acme-1' },
        after: { status: 'SUCCESS', progress: null, reason: '' },
        changed: false,
        lostArtifacts: [],
      },
      {
        taskId: fails,
        storedStatus: 'FAILURE',
        before: { status: 'UNKNOWN', progress: null, reason: 'was acme-1' },
        after: { error: expect.objectContaining({ message: expect.stringContaining('missing') }) },
        changed: true,
        lostArtifacts: [],
      },
      {
        taskId: changed,
        storedStatus: 'SUCCESS',
        before: { status: 'SUCCESS', progress: '40%', reason: 'was acme-1' },
        after: { status: 'FAILURE', progress: null, reason: 'x' },
        changed: true,
        lostArtifacts: [],
      },
    ]);
    expect(replay.filter((task) => task.changed)).toHaveLength(2);
    expect(await rows()).toBe(before);

    await service.setEnabled(key, false, { force: true });
    const unserved = (await service.preview(key, { version: '2.0.0' })).replay;
    expect(unserved.slice(0, 3)).toMatchObject([
      { before: null, changed: false },
      { before: null, changed: true },
      { before: null, changed: true },
    ]);
  });

  test('names the artifacts of finished tasks that the new version no longer lists', async () => {
    const listing = (artifacts: string) =>
      `export const listArtifacts = (ctx) => ${artifacts};\nexport const buildContentRequest = (ctx) => ({ url: ctx.baseUrl + '/c' });`;
    const video = "{ key: 'video', type: 'video' }";
    const key = await uploadAll(
      version('1.0.0', {}, listing(`[${video}, { key: 'cover', type: 'image' }]`)),
      version('2.0.0', {}, listing(`ctx.data.link ? [${video}] : missing()`)),
    );
    const old = await insertEndedTask(store, key, { data: { status: 'SUCCESS' } });
    const current = await insertEndedTask(store, key, { data: { status: 'SUCCESS', link: 'x' } });
    const failed = await insertEndedTask(store, key, { data: {}, change: { status: 'FAILURE' } });
    const { replay } = await service.preview(key, { version: '2.0.0' });
    expect(replay.map(({ taskId, lostArtifacts }) => [taskId, lostArtifacts])).toEqual([
      [failed, []],
      [current, ['cover']],
      [old, ['video', 'cover']],
    ]);
  });

  test('finds the item of a batch in the forms in which vendors list them', async () => {
    const batch = { fetchMode: 'batch' };
    const hooks = (list: string) => `
export function buildBatchQueryRequest(ctx) { return { url: ctx.baseUrl + '/jobs' }; }
export function parseBatchResult(ctx, body) { return ${list}.map((job) => ({ taskId: job.id, status: job.status, data: job })); }`;
    const key = await uploadAll(
      version('1.0.0', batch, hooks('body.data')),
      version('2.0.0', batch, hooks('body')),
      version('3.0.0', batch, hooks('body.jobs')),
    );
    const item = { id: 'job-7', status: 'SUCCESS' };
    await insertEndedTask(store, key, { data: item, change: { status: 'SUCCESS', upstreamTaskId: 'job-7' } });
    const verdict = { status: 'SUCCESS', progress: null, reason: '' };
    expect((await service.preview(key, { version: '2.0.0' })).replay).toMatchObject([
      { before: verdict, after: verdict, changed: false },
    ]);
    expect((await service.preview(key, { version: '3.0.0' })).replay).toMatchObject([
      { before: verdict, after: { error: { message: expect.any(String) } }, changed: true },
    ]);
  });

  /** A node whose sandbox suspends a plugin at its first kill, with a plugin that can get stuck. */
  async function withTight(
    work: (node: PluginService, tight: ReturnType<typeof startSandbox>, key: string) => Promise<void>,
  ): Promise<void> {
    const tight = startSandbox({ callTimeoutMs: 2_000, killGraceMs: 50, killsToSuspend: 1 });
    const node = makeService(store, tight);
    await node.start();
    try {
      // A loop inside native code, which no interrupt ends.
      const stuck = "'a'.repeat(2e7).indexOf('a'.repeat(1e7) + 'b')";
      const key = await uploadAll(
        (name) => pluginSource({ key: name }).replace('body.status', `body.stuck ? ${stuck} : body.status`),
        version('2.0.0'),
      );
      await until(() => node.current().plugins.has(key));
      await work(node, tight, key);
    } finally {
      await node.stop();
      await tight.close();
    }
  }
  const READ = { status: 'SUCCESS', progress: null, reason: '' };

  test('parses with a suspended plugin', () =>
    withTight(async (node, tight, key) => {
      await insertEndedTask(store, key, { data: { status: 'SUCCESS' } });
      const { replay } = await node.preview(key, { version: '2.0.0' });
      expect(replay).toMatchObject([{ before: READ, after: READ, changed: false }]);
      const serving = node.current().plugins.get(key);
      await serving?.call('parseTaskResult', [{}, { stuck: true }], { owner: 'system' });
      expect(tight.isSuspended(key)).toBe(true);
      expect((await node.preview(key, { version: '2.0.0' })).replay).toEqual(replay);
    }));

  testInFullRun('does not suspend a serving plugin that gets stuck', () =>
    withTight(async (node, tight, key) => {
      await insertEndedTask(store, key, { data: { status: 'SUCCESS', stuck: true } });
      expect((await node.preview(key, { version: '2.0.0' })).replay).toMatchObject([
        { before: { error: { message: expect.stringMatching(/limit of 2000 ms/) } }, after: READ, changed: true },
      ]);
      expect(tight.isSuspended(key)).toBe(false);
    }),
  );
});

describe('a dry run', () => {
  test('sends no request: a hook has no network, and the request that it builds is not sent', async () => {
    const seen: string[] = [];
    const vendor = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        seen.push(request.url);
        return new Response('{}');
      },
    });
    const attempts = [
      'fetch',
      'XMLHttpRequest',
      'WebSocket',
      'EventSource',
      'require',
      'process',
      'Bun',
      'Deno',
      'globalThis.process',
    ];
    const key = await uploadAll(
      version(
        '1.0.0',
        {},
        `export const tries = { out: (url) => [${attempts.map((name) => `typeof ${name}`).join(', ')}],
  fetch: (url) => fetch(url), imported: (url) => Function('u', 'return import(u)')(url), socket: (url) => new WebSocket(url) };`,
      ),
    );
    const baseUrl = vendor.url.origin;
    const run = (hook: string, args: unknown[], member?: string) =>
      service.dryRun(key, { hook, args: args as [], ...(member ? { member } : {}) });
    expect((await run('buildSubmitRequest', [{ baseUrl, requestBody: { prompt: 'x' } }])).result).toEqual({
      url: `${baseUrl}/jobs`,
      body: { prompt: 'x' },
    });
    expect((await run('buildQueryRequest', [{ baseUrl, taskId: '7' }])).result).toEqual({ url: `${baseUrl}/jobs/7` });
    expect((await run('tries', [baseUrl], 'out')).result).toEqual(attempts.map(() => 'undefined'));
    for (const member of ['fetch', 'imported', 'socket']) {
      expect((await refusal(run('tries', [baseUrl], member))).code).toBe('plugins.hook_failed');
    }
    expect(seen).toEqual([]);
    await vendor.stop(true);
  });

  test('calls a version that is not active, or the factory plugin', async () => {
    const reads = (name: string) => (key: string) =>
      pluginSource({ key, version: name }).replace('body.status', `'QUEUED', reason: '${name}'`);
    const key = await uploadAll(reads('1.0.0'), reads('2.0.0'));
    const run = async (wanted?: string) =>
      (await service.dryRun(key, { hook: 'parseTaskResult', args: [], ...(wanted ? { version: wanted } : {}) })).result;
    expect(await run()).toEqual({ status: 'QUEUED', reason: '1.0.0' });
    expect(await run('2.0.0')).toEqual({ status: 'QUEUED', reason: '2.0.0' });
    expect((await refusal(run('3.0.0'))).code).toBe('plugins.not_found');
    expect((await refusal(run('factory'))).code).toBe('plugins.not_found');
    const built = { hook: 'parseTaskResult', args: [null, { status: 'queued' }], version: 'factory' };
    expect((await service.dryRun('demo', built)).result).toBeObject();
  });

  test('accepts arguments of nearly 16 MiB, and gives the position and message of a failure', async () => {
    const key = await uploadAll(
      version('1.0.0', {}, "export function measure(text) { console.log('got', text.length); return text.length; }"),
      version('2.0.0', {}, "export function fail() {\n  console.log('before');\n  throw new Error('no such job');\n}"),
    );
    const large = 16 * 1024 * 1024 - 100;
    expect(await service.dryRun(key, { hook: 'measure', args: ['x'.repeat(large)] })).toMatchObject({
      result: large,
      console: [`got ${large}`],
    });
    const tooLarge = await refusal(service.dryRun(key, { hook: 'measure', args: ['x'.repeat(large + 200)] }));
    expect(tooLarge.details).toMatchObject({ kind: 'too_large' });
    const thrown = await refusal(service.dryRun(key, { hook: 'fail', args: [], version: '2.0.0' }));
    expect(thrown).toMatchObject({ code: 'plugins.hook_failed', message: expect.stringContaining('no such job') });
    expect(thrown.details).toMatchObject({ kind: 'thrown', console: ['before'], column: expect.any(Number) });
    const source = (await service.detail(key, '2.0.0')).source.split('\n');
    expect(source[(thrown.details as { line: number }).line - 1]).toContain('no such job');
  });

  test('that has to be killed does not suspend the serving plugin; nor does a preview', async () => {
    const tight = startSandbox({ callTimeoutMs: 2_000, killGraceMs: 50, killsToSuspend: 1 });
    const node = makeService(store, tight);
    await node.start();
    try {
      // A loop inside native code, which no interrupt ends.
      const stuck = "'a'.repeat(2e7).indexOf('a'.repeat(1e7) + 'b')";
      const key = await uploadAll(version('1.0.0'), (name) =>
        pluginSource({ key: name, version: '2.0.0' }).replace('{ status: body.status }', stuck),
      );
      await until(() => node.current().plugins.has(key));
      for (let i = 0; i < 3; i += 1) await insertEndedTask(store, key, { data: { status: 'SUCCESS' } });
      const { replay } = await node.preview(key, { version: '2.0.0' });
      expect(replay.map(({ before }) => before)).toMatchObject(
        Array.from({ length: 3 }, () => ({ status: 'SUCCESS' })),
      );
      expect(replay.map(({ after }) => ('error' in after ? after.error?.message : ''))).toEqual([
        expect.stringMatching(/limit of 2000 ms/),
        'not parsed: an earlier call had to be stopped',
        'not parsed: an earlier call had to be stopped',
      ]);
      const run = { hook: 'parseTaskResult', args: [], version: '2.0.0' };
      expect((await refusal(node.dryRun(key, run))).code).toBe('plugins.unavailable');
      expect(tight.isSuspended(key)).toBe(false);
    } finally {
      await node.stop();
      await tight.close();
    }
  });
});
