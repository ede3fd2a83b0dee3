/**
 * Management of plugins over HTTP: every refusal with its status, code and details, and the audit
 * log.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sha256Hex } from '../../../src/kernel/index.ts';
import { PNG_ICON } from '../../plugins/icons.ts';
import { pluginSource, VIDEO_HOOKS } from '../../plugins/support.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
let token: string;
beforeAll(async () => {
  panel = await openPanel();
  token = (await panel.logIn('root')).token;
});
afterAll(() => panel.gateway.stop());

const PATH = '/api/plugin/task';
const send = (path: string, body?: unknown, method?: string) =>
  panel.send(`${PATH}${path}`, { token, ...(body === undefined ? {} : { body }), ...(method ? { method } : {}) });
const versions = async (key: string) => (await send(`/${key}/versions`)).json.data;
const acme = (version: string, change: object = {}, more = '') => pluginSource({ version, ...change }, more);
const svg = (content: string) => `data:image/svg+xml;base64,${Buffer.from(content).toString('base64')}`;
const XMLNS = 'xmlns="http://www.w3.org/2000/svg"';

describe('uploads', () => {
  beforeAll(async () => {
    const claim = { protocols: ['proto_video'] };
    expect((await send('', { source: acme('1.0.0', claim, VIDEO_HOOKS), remark: 'ours', icon: PNG_ICON })).status).toBe(
      200,
    );
  });

  type Case = [name: string, body: unknown, status: number, code: string, details: object | null];
  test.each<Case>([
    ['without source', {}, 400, 'VALIDATION_FAILED', { errors: [{ field: 'source', rule: 'required' }] }],
    [
      'with an unknown field',
      { source: acme('2.0.0'), forced: true },
      400,
      'VALIDATION_FAILED',
      { errors: [{ field: 'forced' }] },
    ],
    [
      'with a field of another type',
      { source: acme('2.0.0'), enabled: 'yes' },
      400,
      'VALIDATION_FAILED',
      { errors: [{ field: 'enabled' }] },
    ],
    ['larger than a body may be', () => ({ source: 'x'.repeat(17 * 1024 * 1024) }), 413, 'TOO_LARGE', null],
    [
      'of a source that is too large',
      () => ({ source: `//${'x'.repeat(1_048_576)}` }),
      422,
      'PLUGIN_INVALID',
      { errors: [{ path: 'source', rule: 'source.size', message: expect.stringContaining('at most 1048576') }] },
    ],
    [
      'that is too large and not what was announced',
      () => ({ source: `//${'x'.repeat(1_048_576)}`, sourceSha256: sha256Hex('') }),
      422,
      'PLUGIN_INVALID',
      { errors: [{ rule: 'source.size' }, { rule: 'source.sha256' }] },
    ],
    [
      'of another source than was announced',
      { source: acme('2.0.0'), sourceSha256: sha256Hex('something else') },
      422,
      'PLUGIN_INVALID',
      { errors: [{ path: 'source', rule: 'source.sha256', hint: expect.any(String) }] },
    ],
    [
      'with a hash that is none',
      { source: acme('2.0.0'), sourceSha256: 'é' },
      422,
      'PLUGIN_INVALID',
      { errors: [{ rule: 'source.sha256' }] },
    ],
    [
      'that does not parse',
      { source: 'export const meta = {\n  key: ,\n};' },
      422,
      'PLUGIN_INVALID',
      { errors: [{ path: 'source', rule: 'source.syntax', line: 2, column: 8, hint: expect.any(String) }] },
    ],
    [
      'with several asynchronous functions',
      { source: "import x from 'y';\nasync function f() {\n  await x;\n}" },
      422,
      'PLUGIN_INVALID',
      {
        errors: expect.arrayContaining([
          expect.objectContaining({ rule: 'source.import', line: 1 }),
          expect.objectContaining({ rule: 'source.async', line: 2 }),
          expect.objectContaining({ rule: 'source.await', line: 3, column: 3 }),
        ]),
      },
    ],
    [
      'with many faults in the manifest, all at once',
      { source: acme('two', { models: [], colour: 1, baseUrl: 'ftp://x', fetchMode: 'often' }) },
      422,
      'PLUGIN_INVALID',
      {
        errors: expect.arrayContaining(
          ['/version', '/models', '/colour', '/baseUrl', '/fetchMode'].map((path) =>
            expect.objectContaining({
              path,
              rule: expect.any(String),
              message: expect.any(String),
              hint: expect.any(String),
            }),
          ),
        ),
      },
    ],
    [
      'without its hooks',
      { source: acme('2.0.0').replaceAll('export function', 'function') },
      422,
      'PLUGIN_INVALID',
      { errors: expect.arrayContaining([expect.objectContaining({ path: 'exports/buildSubmitRequest' })]) },
    ],
    [
      'that throws at its top level',
      { source: `${acme('2.0.0')}\nthrow new Error('no');` },
      422,
      'PLUGIN_INVALID',
      { errors: [{ rule: 'source.compile' }] },
    ],
    [
      'with a logo that is not an image',
      { source: acme('2.0.0'), icon: 'data:image/png;base64,AAAA' },
      422,
      'PLUGIN_ICON_INVALID',
      null,
    ],
    [
      'with a logo that runs something',
      { source: acme('2.0.0'), icon: svg(`<svg ${XMLNS} onload="a()"/>`) },
      422,
      'PLUGIN_ICON_INVALID',
      null,
    ],
    [
      'with the address of a logo',
      { source: acme('2.0.0'), icon: 'https://x.example/i.png' },
      422,
      'PLUGIN_ICON_INVALID',
      null,
    ],
    [
      'that is in conflict',
      { source: acme('1.0.0', { key: 'rival', protocols: ['proto_video'] }, VIDEO_HOOKS) },
      409,
      'PLUGIN_CONFLICT',
      { with: 'acme', kind: 'protocol_model', subject: 'proto_video acme-1' },
    ],
    [
      'of a stored version with another source',
      { source: acme('1.0.0', { name: 'Other' }) },
      409,
      'PLUGIN_VERSION_EXISTS',
      { key: 'acme', version: '1.0.0' },
    ],
  ])('%s', async (_name, body, status, code, details) => {
    const before = [await versions('acme'), (await send('/runtime/status')).json.data.current_generation];
    const answer = await send('', typeof body === 'function' ? body() : body);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    if (details) expect(answer.json.details).toMatchObject(details);
    expect([await versions('acme'), (await send('/runtime/status')).json.data.current_generation]).toEqual(before);
    expect((await send('/rival')).status).toBe(404);
  });

  test('PUT with the same source changes only remark, icon and enabled', async () => {
    const source = (await send('/acme')).json.data.source;
    const answer = await send('', { source, remark: 'new', sourceSha256: sha256Hex(source).toUpperCase() }, 'PUT');
    expect(answer.json.data).toMatchObject({
      plugin: { key: 'acme', version: '1.0.0', active: true, enabled: true, remark: 'new', has_icon: true },
      layer: 'override',
      errors: [],
    });
    expect(await versions('acme')).toHaveLength(1);
    const [row] = (await panel.audit('plugin.upload')) as { detail: object }[];
    expect(row?.detail).toMatchObject({ before: { version: '1.0.0', remark: 'ours' }, after: { remark: 'new' } });
    expect(JSON.stringify(row)).not.toContain('buildSubmitRequest');
  });

  test('only root may, and no API client', async () => {
    panel.addUser('boss', 10);
    const boss = (await panel.logIn('boss')).token;
    for (const [path, method, body] of [
      ['', 'POST', { source: acme('9.0.0') }],
      ['/acme/models', 'PUT', { models: null }],
      ['/acme/diff?from=1.0.0&to=1.0.0', 'GET', undefined],
      ['/acme/preview', 'POST', { version: '1.0.0' }],
      ['/acme/dryrun', 'POST', { hook: 'parseTaskResult' }],
    ] as const) {
      const request = { method, ...(body ? { body } : {}) };
      expect((await panel.send(`${PATH}${path}`, { ...request, token: boss })).status).toBe(403);
      expect((await panel.send(`${PATH}${path}`, request)).status).toBe(401);
    }
  });
});

describe('logos', () => {
  test.each([
    ['image/png', PNG_ICON],
    ['image/svg+xml', svg(`<svg ${XMLNS}><rect width="8" height="8"/></svg>`)],
  ])('%s is served so that it can do nothing but be looked at', async (mimeType, icon) => {
    const source = (await send('/acme')).json.data.source;
    expect((await send('', { source, icon })).status).toBe(200);
    for (const path of ['/acme/icon', '/acme/icon?version=1.0.0']) {
      const response = await fetch(`http://127.0.0.1:${panel.gateway.port}${PATH}${path}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.headers.get('content-type')).toBe(mimeType);
      expect(response.headers.get('cache-control')).toBe('private, max-age=3600');
      expect(response.headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      );
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(Buffer.from(await response.arrayBuffer()).toString('base64')).toBe(icon.split(',')[1] ?? '');
    }
    expect((await send('/acme/icon?version=9.9.9')).status).toBe(404);
    expect((await send('/demo/icon')).status).toBe(404);
  });
});

describe('the serving version', () => {
  test('moves forwards and back, is narrowed, disabled and deleted; the audit log has before and after', async () => {
    const claim = { protocols: ['proto_video'] };
    await send('', { source: acme('2.0.0', { ...claim, models: ['acme-2', 'acme-3'] }, VIDEO_HOOKS) });
    expect((await send('/acme/activate', { version: '2.0.0' })).json.data).toBeNull();
    expect((await send('/acme/activate', { version: '3.0.0' })).json).toMatchObject({ code: 'PLUGIN_NOT_FOUND' });

    const narrowed = await send('/acme/models', { models: ['acme-3'] }, 'PUT');
    expect(narrowed.json.data).toMatchObject({ version: '2.0.0', narrowed_models: ['acme-3'] });
    const wrong = await send('/acme/models', { models: ['acme-1'] }, 'PUT');
    expect([wrong.status, wrong.json.code]).toEqual([422, 'PLUGIN_INVALID']);
    expect(wrong.json.details.errors).toMatchObject([{ path: '/models/0', hint: 'Its models: acme-2, acme-3.' }]);
    expect((await send('/acme/models', { models: [] }, 'PUT')).json.code).toBe('VALIDATION_FAILED');
    const [listed] = (await send('')).json.data.filter(({ key }: { key: string }) => key === 'acme');
    expect(listed).toMatchObject({ version: '2.0.0', narrowed_models: ['acme-3'], runtime_status: 'registered' });
    expect((await send('/acme')).json.data.plugin.narrowed_models).toEqual(['acme-3']);
    expect((await versions('acme')).map((row: { narrowed_models: unknown }) => row.narrowed_models)).toEqual([
      ['acme-3'],
      null,
    ]);
    await send('/acme/models', { models: null }, 'PUT');

    const channel = {
      name: 'c',
      type: 61,
      key: 'vendor-key-0123',
      base_url: 'https://api.example',
      models: ['acme-2'],
      task_plugin_key: 'acme',
    };
    const { id } = (await panel.send('/api/channel', { token, body: channel })).json.data;
    const used = await send('/acme/status', { enabled: false });
    expect([used.status, used.json.code, used.json.details]).toEqual([
      409,
      'PLUGIN_IN_USE',
      { channels: [{ id, name: 'c' }], in_flight_count: 0 },
    ]);
    expect((await send('/acme/status?cascade=true', { enabled: false })).json.data).toEqual({
      plugin_enabled: false,
      disabled_channels: [id],
      in_flight_count: 0,
    });
    expect((await send('/acme/status', { enabled: true })).json.data).toMatchObject({ plugin_enabled: true });
    expect((await send('/acme/versions/2.0.0', undefined, 'DELETE')).status).toBe(200);
    expect((await send('/acme')).json.data.plugin).toMatchObject({ version: '1.0.0', active: true, enabled: true });

    const readDetail = async (action: string) => (await panel.audit(action)).map(({ detail }) => detail);
    expect(await readDetail('plugin.activate')).toMatchObject([
      { before: { version: '1.0.0' }, after: { version: '2.0.0', active: true, enabled: true } },
    ]);
    expect(await readDetail('plugin.narrow')).toEqual([
      { before: ['acme-3'], after: null },
      { before: null, after: ['acme-3'] },
    ]);
    expect(await readDetail('plugin.status')).toMatchObject([
      { before: { enabled: false }, after: { enabled: true } },
      { before: { enabled: true }, after: { enabled: false, disabled_channels: [id] }, cascade: true },
    ]);
    expect(await readDetail('plugin.delete')).toMatchObject([
      { before: { version: '2.0.0', active: true }, after: { serving: '1.0.0' }, force: false },
    ]);
  });

  test('goes back to the factory plugin, and later uploads wait', async () => {
    const own = (version: string) => ({ source: acme(version, { key: 'demo', models: ['demo-own'] }) });
    await send('', own('9.0.0'));
    await send('/demo/models', { models: ['demo-own'] }, 'PUT');
    const preview = await send('/demo/preview', { version: 'factory' });
    expect(preview.json.data).toMatchObject({
      from: { version: '9.0.0', layer: 'override' },
      narrowed_models: { before: ['demo-own'], after: null },
    });
    expect((await send('/demo/activate', { version: 'factory' })).json).toMatchObject({ success: true, data: null });
    expect((await send('', own('9.1.0'))).json.data.plugin.active).toBe(false);
    const [listed] = (await send('')).json.data.filter(({ key }: { key: string }) => key === 'demo');
    expect(listed).toMatchObject({ source: 'factory', active: true, runtime_status: 'registered' });
    expect((await send('/demo')).json.data).toMatchObject({ plugin: null, layer: 'factory' });
    const [row] = await panel.audit('plugin.activate');
    expect(row).toMatchObject({
      target: 'plugin:demo',
      detail: { before: { version: '9.0.0' }, after: { serving: 'factory' } },
    });
    expect((await send('/acme/activate', { version: 'factory' })).json.code).toBe('PLUGIN_NOT_FOUND');
  });

  test('is compared and previewed with its prices before it changes', async () => {
    const usageSchema = { seconds: { type: 'number', unit: 'second' } };
    const source = (version: string, change: object) => acme(version, { key: 'priced', ...change });
    await send('', { source: source('1.0.0', { models: ['p-1', 'p-2'], usageSchema }) });
    await send('', { source: source('2.0.0', { models: ['p-2', 'p-3', 'p-4'] }) });
    for (const [pluginKey, model] of [
      ['priced', 'p-1'],
      ['priced', 'p-2'],
      ['*', 'p-3'],
    ]) {
      const expression = model === 'p-2' ? '0.1 * u("seconds")' : '0.1';
      const price = { plugin_key: pluginKey, model, expression };
      expect((await panel.send('/api/price', { token, body: price, method: 'PUT' })).status).toBe(200);
    }
    const preview = await send('/priced/preview', { version: '2.0.0' });
    expect(preview.json.data).toMatchObject({
      from: { version: '1.0.0', layer: 'override' },
      to: { version: '2.0.0' },
      hosts: { added: [], removed: [] },
      models: { added: ['p-3', 'p-4'], removed: ['p-1'] },
      routes: { added: [], removed: [], changed: [] },
      protocols: { added: [], removed: [], changed: [] },
      channel_types: { added: [], removed: [] },
      usage_schema: { added: [], removed: ['seconds'], changed: [] },
      prices: {
        orphaned: [{ plugin_key: 'priced', model: 'p-1' }],
        undeclared: [{ plugin_key: 'priced', model: 'p-2', facts: ['seconds'] }],
        unpriced: ['p-4'],
      },
      channels: [],
      conflict: null,
      replay: [],
    });
    expect(preview.json.data).not.toHaveProperty('priced');
    expect((await send('/priced/preview', { version: '3.0.0' })).json.code).toBe('PLUGIN_NOT_FOUND');
    // A source that is not stored, and stays so.
    const draft = source('3.0.0', { models: ['p-5'] });
    expect((await send('/priced/preview', { source: draft })).json.data).toMatchObject({
      from: { version: '1.0.0' },
      to: { version: '3.0.0' },
      models: { added: ['p-5'], removed: ['p-1', 'p-2'] },
    });
    expect((await send('/priced/versions')).json.data).toHaveLength(2);
    expect((await send('/other/preview', { source: draft })).json).toMatchObject({ code: 'PLUGIN_INVALID' });
    for (const body of [{}, { version: '2.0.0', source: draft }])
      expect((await send('/priced/preview', body)).json).toMatchObject({ code: 'VALIDATION_FAILED' });

    const diff = (await send('/priced/diff?from=1.0.0&to=2.0.0')).json.data;
    expect(diff).toMatchObject({ from: { version: '1.0.0' }, to: { version: '2.0.0' }, identical: false });
    expect(diff.hunks[0]).toMatchObject({ old_start: 1, new_start: 1, lines: expect.any(Array) });
    expect(diff.source).toStartWith('--- priced@1.0.0\n+++ priced@2.0.0\n@@ -1,');
    expect(diff.manifest.map(({ path }: { path: string }) => path)).toEqual([
      '/version',
      '/models',
      '/usageSchema/seconds',
    ]);
    expect((await send('/priced/diff?from=1.0.0')).json.code).toBe('VALIDATION_FAILED');
    expect((await send('/priced/diff?from=1.0.0&to=factory')).json.code).toBe('PLUGIN_NOT_FOUND');
    expect((await send('/priced')).json.data.plugin.version).toBe('1.0.0');
  });

  test('is activated as it was reviewed, or refused with the preview as it is now', async () => {
    const own = (version: string, models: string[]) => acme(version, { key: 'agreed', models });
    await send('', { source: own('1.0.0', ['a-1']) });
    const source = own('2.0.0', ['a-2']);
    const readDigest = async (body: object) => (await send('/agreed/preview', body)).json.data.digest;
    const digest = await readDigest({ source });
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await readDigest({ source })).toBe(digest);
    const refused: [body: object, field: string][] = [
      [{ source, activate: true }, 'preview_digest'],
      [{ source, activate: true, preview_digest: digest, enabled: false }, 'enabled'],
    ];
    for (const [body, field] of refused)
      expect((await send('', body)).json).toMatchObject({ code: 'VALIDATION_FAILED', details: { field } });
    // Somebody prices a model in the meantime.
    const price = { plugin_key: 'agreed', model: 'a-1', expression: '1' };
    await panel.send('/api/price', { token, body: price, method: 'PUT' });
    const outdated = await send('', { source, activate: true, preview_digest: digest });
    expect([outdated.status, outdated.json.code]).toEqual([409, 'PLUGIN_PREVIEW_OUTDATED']);
    const { preview } = outdated.json.details;
    expect(preview).toMatchObject({ to: { version: '2.0.0' }, prices: { orphaned: [{ model: 'a-1' }] } });
    expect((await send('/agreed/versions')).json.data).toHaveLength(1);

    const stored = await send('', { source, activate: true, preview_digest: preview.digest });
    expect(stored.json.data).toMatchObject({ outcome: 'serving', preview: null, plugin: { active: true } });
    expect((await send('/agreed')).json.data.plugin.version).toBe('2.0.0');
    const [row] = await panel.audit('plugin.upload');
    expect(row?.detail).toMatchObject({ activated: true, after: { version: '2.0.0', active: true } });
    // The same for a stored version, here to go back.
    const back = { version: '1.0.0', preview_digest: await readDigest({ version: '1.0.0' }) };
    expect((await send('/agreed/activate', { ...back, preview_digest: digest })).json.code).toBe(
      'PLUGIN_PREVIEW_OUTDATED',
    );
    expect((await send('/agreed/activate?adopt=true', back)).json.success).toBe(true);
    const [activation] = await panel.audit('plugin.activate');
    expect(activation?.detail).toMatchObject({ after: { version: '1.0.0' }, adopted: { unfinished_tasks: 0 } });
    // A version that is stored and waits is activated by a further upload.
    const again = { source, activate: true, preview_digest: await readDigest({ source }) };
    expect((await send('', again, 'PUT')).json.data).toMatchObject({ outcome: 'serving' });
  });

  test('can be dry-run before it serves', async () => {
    const failing = acme(
      '5.0.0',
      { key: 'tried' },
      "export function fail() { console.log('here'); throw new Error('broken'); }",
    );
    await send('', { source: acme('1.0.0', { key: 'tried' }) });
    await send('', { source: failing });
    const run = (body: object) => send('/tried/dryrun', body);
    expect((await run({ hook: 'parseTaskResult', args: [null, { status: 'QUEUED' }] })).json.data).toEqual({
      result: { status: 'QUEUED' },
      console: [],
      ms: expect.any(Number),
    });
    const failed = await run({ hook: 'fail', version: '5.0.0' });
    expect([failed.status, failed.json.code]).toEqual([422, 'PLUGIN_HOOK_FAILED']);
    expect(failed.json.message).toContain('broken');
    expect(failed.json.details).toEqual({
      kind: 'thrown',
      console: ['here'],
      line: expect.any(Number),
      column: expect.any(Number),
    });
    expect((await run({ hook: 'fail', version: '6.0.0' })).json.code).toBe('PLUGIN_NOT_FOUND');
  });
});

test('an upload tells whether the version serves, and what its author should fix', async () => {
  const claim = { models: ['shared'], protocols: ['proto_video'] };
  const first = acme('1.0.0', { key: 'film', description: 'A film for $2', ...claim }, VIDEO_HOOKS);
  expect((await send('', { source: first })).json.data).toMatchObject({
    outcome: 'serving',
    warnings: expect.arrayContaining([expect.objectContaining({ path: '/description/en', rule: 'text.price' })]),
  });
  const rival = acme('1.0.0', { key: 'rival-film', ...claim }, VIDEO_HOOKS);
  expect((await send('', { source: rival, force: true })).json.data).toMatchObject({
    outcome: 'not_registered',
    runtime_error: expect.stringContaining('conflicts with plugin film'),
  });
});

describe('texts of plugins', () => {
  test('are answered in one language, where one is named', async () => {
    const demo = async (query: string) => {
      const { json } = await panel.send(`${PATH}${query}`, { token });
      return json.data.find(({ key }: { key: string }) => key === 'demo').meta;
    };
    const all = await demo('');
    expect(Object.keys(all.description)).toContain('de');
    const german = await demo('?language=de-AT');
    expect(german.description).toBe(all.description.de);
    expect(german.models).toEqual(all.models);
    expect((await demo('?language=xx')).description).toBe(all.description.en);
    const choices = await panel.send('/api/channel/choices?language=ja', { token });
    const { description } = choices.json.data.plugins.find(({ key }: { key: string }) => key === 'demo');
    expect(description).toBe(all.description.ja);
  });
});
