import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lintPlugin, newPlugin } from '../../src/plugins/author/index.ts';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import { pluginSource, startSandbox } from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const compiler = createCompiler(sandbox);
const root = join(import.meta.dir, '../..');

/** A plugin whose function `name` is replaced by `code`, with `more` after it. */
function withHook(name: string, code: string, { meta = {}, more = '' }: { meta?: object; more?: string } = {}): string {
  const lines = pluginSource(meta, more).split('\n');
  const at = lines.findIndex((line) => line.startsWith(`export function ${name}(`));
  if (at === -1) lines.push(code);
  else lines[at] = code;
  return lines.join('\n');
}

async function findWarnings(source: string): Promise<string[]> {
  const { ok, faults, warnings } = await lintPlugin(source, sandbox, { compiler });
  expect([ok, faults]).toEqual([true, []]);
  // Every warning of the source itself has a place in it.
  const lines = source.split('\n');
  const own = warnings.filter(({ rule }) => !rule.startsWith('extension'));
  return own.map(({ rule, line = 0, column = 0 }) => {
    const text = (lines[line - 1] ?? '').slice(column - 1);
    return `${rule}: ${/^[\w.]+/.exec(text)?.[0] ?? text}`;
  });
}

const parse = (body: string, more = 'const MAP = { done: "SUCCESS", failed: "FAILURE" };'): string =>
  withHook('parseTaskResult', `export function parseTaskResult(ctx, job) { ${body} }`, { more });

describe('a status that nobody knows is not a running task', () => {
  const fallbacks: [what: string, body: string, place: string][] = [
    ['an operator', "return { status: MAP[job.s] ?? 'IN_PROGRESS' };", 'MAP'],
    ['an assignment', "let s = MAP[job.s]; s ||= 'QUEUED'; return { status: s };", 's'],
    ['a statement', "let s = MAP[job.s]; if (!s) s = 'IN_PROGRESS'; return { status: s };", 'if'],
    [
      'a return',
      "const s = MAP[job.s]; if (s === undefined) { return { status: 'IN_PROGRESS' }; } return { status: s };",
      'if',
    ],
    ['a question', "return { status: Object.hasOwn(MAP, job.s) ? MAP[job.s] : 'IN_PROGRESS' };", 'Object.hasOwn'],
    [
      'the default of a switch',
      "switch (job.s) { case 'done': return { status: 'SUCCESS' }; default: return { status: 'IN_PROGRESS' }; }",
      'default',
    ],
    [
      'a default that others fall to',
      "let s; switch (job.s) { case 'done': s = 'SUCCESS'; break; default: case 'run': s = 'QUEUED'; } return { status: s };",
      'default',
    ],
    ['a first value', "let s = 'IN_PROGRESS'; if (job.s === 'done') s = 'SUCCESS'; return { status: s };", 'let'],
    [
      'a last return',
      "if (job.s === 'done') return { status: 'SUCCESS' }; return { status: 'IN_PROGRESS' };",
      'return',
    ],
    ['a last else', "let s; if (job.s === 'done') s = 'SUCCESS'; else s = 'IN_PROGRESS'; return { status: s };", 'if'],
    [
      'a chain',
      "return { status: job.s === 'done' ? 'SUCCESS' : job.s === 'bad' ? 'FAILURE' : 'IN_PROGRESS' };",
      'job.s',
    ],
    ['a default of a pattern', "const { status = 'IN_PROGRESS' } = job; return { status };", 'status'],
    ['a constant', 'return { status: MAP[job.s] || RUNNING };', 'MAP'],
    ['a function', 'return { status: readStatus(job.s) };', 'MAP'],
  ];
  test.each(fallbacks)('%s is a warning', async (_what, body, place) => {
    const more = `const MAP = { done: 'SUCCESS' }; const RUNNING = 'IN_PROGRESS';
function readStatus(s) { return MAP[s] || RUNNING; }`;
    expect(await findWarnings(parse(body, more))).toEqual([`status.fallback: ${place}`]);
  });

  test('known statuses, a boolean and a table with UNKNOWN give no warning', async () => {
    for (const body of [
      "if (!Object.hasOwn(MAP, job.s)) return { status: 'UNKNOWN' }; return { status: MAP[job.s] };",
      "if (!job.done) return { status: 'IN_PROGRESS' }; return { status: job.error ? 'FAILURE' : 'SUCCESS' };",
      "return { status: MAP[job.s] ?? 'UNKNOWN' };",
      "switch (job.s) { case 'run': return { status: 'IN_PROGRESS' }; default: return { status: 'UNKNOWN' }; }",
      "if (job.s === 'done') return { status: 'SUCCESS' }; if (job.s !== 'run') return { status: 'UNKNOWN' }; return { status: 'IN_PROGRESS' };",
      "return { status: MAP[job.s] ?? 'UNKNOWN', progress: job.left > 0 ? '10%' : '99%' };",
    ]) {
      expect(await findWarnings(parse(body))).toEqual([]);
    }
  });
});

describe('a field that the gateway does not read', () => {
  const unused: [what: string, source: string, place: string][] = [
    [
      'of a request',
      withHook('buildQueryRequest', 'export const buildQueryRequest = (ctx) => ({ url: ctx.baseUrl, timeout: 5 });'),
      'timeout',
    ],
    [
      'behind a name',
      withHook(
        'buildQueryRequest',
        'export function buildQueryRequest(ctx) { const r = { url: ctx.baseUrl }; r.params = 1; return r; }',
      ),
      'params',
    ],
    [
      'of a function',
      withHook('buildQueryRequest', 'export function buildQueryRequest(ctx) { return base(ctx); }', {
        more: 'const base = (ctx) => ({ url: ctx.baseUrl, query: {} });',
      }),
      'query',
    ],
    [
      'in a branch',
      withHook(
        'parseTaskResult',
        "export function parseTaskResult(ctx, job) { return job.ok ? { status: 'SUCCESS', data: job } : { status: 'UNKNOWN' }; }",
      ),
      'data',
    ],
    [
      'of an artifact',
      withHook(
        'listArtifacts',
        "export function listArtifacts(task) { return task.data.files.map((f, i) => ({ key: 'f' + i, type: 'file', url: f })); }\nexport const buildContentRequest = (ctx) => ({ url: ctx.data.url });",
      ),
      'url',
    ],
    [
      'parts of a request that is not a form',
      withHook(
        'buildSubmitRequest',
        'export function buildSubmitRequest(ctx) { return { url: ctx.baseUrl, parts: [] }; }',
      ),
      'parts',
    ],
  ];
  test.each(unused)('%s is a warning', async (_what, source, place) => {
    expect(await findWarnings(source)).toEqual([`descriptor.unused: ${place}`]);
  });

  test('what is spread, computed or passed through gives no warning', async () => {
    const source = withHook(
      'buildSubmitRequest',
      "export function buildSubmitRequest(ctx) { const more = ctx.files.length ? { bodyType: 'multipart', parts: [] } : { body: { timeout: 5 } }; return { url: ctx.baseUrl, ...more, ['x' + 1]: 2 }; }",
    );
    expect(await findWarnings(source)).toEqual([]);
  });
});

test('a driver hook that depends on the route of the client is a warning, a decoder is none', async () => {
  const submit = (code: string): string => withHook('buildSubmitRequest', code);
  expect(
    await findWarnings(
      submit(
        "export function buildSubmitRequest(ctx) { return { url: ctx.baseUrl + (ctx.path === '/v1/videos' ? '/v' : '/x') }; }",
      ),
    ),
  ).toEqual(['driver.client_route: ctx.path']);
  expect(
    await findWarnings(
      submit('export const buildSubmitRequest = ({ baseUrl, protocol }) => ({ url: baseUrl, body: { protocol } });'),
    ),
  ).toEqual(['driver.client_route: protocol']);
  expect(
    await findWarnings(
      submit(
        'const readUrl = (c) => { const { query } = c; return c.baseUrl + query.a; };\nexport function buildSubmitRequest(ctx) { return { url: readUrl(ctx) }; }',
      ),
    ),
  ).toEqual(['driver.client_route: query']);
  const decoder = `export const protocols = { proto_video: {
  decodeRequest(ctx) { return { kind: 'submit', model: ctx.model, action: ctx.path.endsWith('/remix') ? 'remix' : ctx.operation }; },
  render(ctx, task) { return { id: task.task_id }; },
} };
export const listArtifacts = () => [];
export const buildContentRequest = (ctx) => ({ url: ctx.baseUrl });`;
  expect(await findWarnings(pluginSource({ protocols: ['proto_video'] }, decoder))).toEqual([]);
});

test('a price in the name or in a label of a fact, in any language, is a warning', async () => {
  const usageSchema = {
    size: { enum: ['s', 'l'], enumLabels: { s: 'Small', l: { en: 'Large', zh: '大，每秒 0.5 元' } } },
    seconds: { type: 'number', unit: 'second', description: 'Seconds, 5 cents each' },
    clips: { type: 'number', unit: 'count', description: 'Clips of 5 seconds in 4k, 30 fps' },
  };
  const { warnings } = await lintPlugin(pluginSource({ usageSchema, name: 'Acme at $1' }), sandbox, { compiler });
  expect(warnings.map(({ path, rule, hint }) => [path, rule, hint !== undefined])).toEqual([
    ['/name', 'text.price', true],
    ['/usageSchema/size/enumLabels/l/zh', 'text.price', true],
    ['/usageSchema/seconds/description/en', 'text.price', true],
  ]);
});

describe("the channel's credential outside headers", () => {
  const exposed: [what: string, name: string, code: string, found: string[]][] = [
    [
      'in a query',
      'buildQueryRequest',
      'export function buildQueryRequest(ctx) { return { url: `${ctx.baseUrl}/x?key=${encodeURIComponent(ctx.apiKey)}` }; }',
      ['credential.query: url'],
    ],
    [
      'in an address made of pieces',
      'buildQueryRequest',
      "export function buildQueryRequest(ctx) { let url = ctx.baseUrl; url += '?key=' + ctx.apiKey; return { url }; }",
      ['credential.query: url'],
    ],
    [
      'in a body',
      'buildSubmitRequest',
      'export function buildSubmitRequest({ baseUrl, apiKey }) { return { url: baseUrl, body: { auth: { apiKey } } }; }',
      ['credential.body: body'],
    ],
    [
      'in a body made before',
      'buildSubmitRequest',
      'export function buildSubmitRequest(ctx) { const body = {}; body.key = ctx.auth.authHeader; return { url: ctx.baseUrl, body: JSON.stringify(body) }; }',
      ['credential.body: body'],
    ],
    [
      'the whole context as the body',
      'buildQueryRequest',
      'export function buildQueryRequest(ctx) { return { url: ctx.baseUrl, method: "POST", body: ctx }; }',
      ['credential.body: body'],
    ],
    [
      'the tasks of a batch',
      'buildBatchQueryRequest',
      'export function buildBatchQueryRequest(ctx, tasks) { return { url: ctx.baseUrl, body: { tasks } }; }',
      ['credential.body: body'],
    ],
    [
      'in a part',
      'buildSubmitRequest',
      "export function buildSubmitRequest(ctx) { return { url: ctx.baseUrl, bodyType: 'multipart', parts: [{ name: 'key', value: secretOf(ctx) }] }; }\nconst secretOf = (c) => c.apiKey.split('|')[1];",
      ['credential.body: parts'],
    ],
    [
      'in a look-up',
      'resolveArtifact',
      'export const listArtifacts = () => [];\nexport const buildContentRequest = (ctx) => ({ url: ctx.baseUrl });\nexport function resolveArtifact(task, key, ctx) { return { request: ask(ctx, key) }; }\nconst ask = (c, key) => ({ url: c.baseUrl, body: { key, secret: c.apiKey } });',
      ['credential.body: body'],
    ],
    [
      'in the log',
      'parseTaskResult',
      'export function parseTaskResult(ctx, job) { console.log("asked with", ctx); return { status: job.status }; }',
      ['credential.log: ctx'],
    ],
    [
      'in the log of a function',
      'buildQueryRequest',
      'export function buildQueryRequest(ctx) { trace(ctx.apiKey); return { url: ctx.baseUrl }; }\nfunction trace(what) { console.log(`key ${what}`); }',
      ['credential.log: '],
    ],
  ];
  test.each(exposed)('%s is a warning', async (_what, name, code, found) => {
    const warnings = await findWarnings(withHook(name, code));
    expect(warnings.map((one) => one.replace(/: `.*$/, ': '))).toEqual(found);
  });

  test('headers, signatures, the name of a key and harmless fields are none', async () => {
    for (const code of [
      "export function buildSubmitRequest(ctx) { const headers = { Authorization: 'Bearer ' + ctx.apiKey }; return { url: ctx.baseUrl, headers, body: ctx.requestBody }; }",
      "export function buildSubmitRequest(ctx) { const [id, secret] = ctx.apiKey.split('|'); return { url: `${ctx.baseUrl}/x?id=${id}&sign=${utils.hmacSHA256(id, secret)}` }; }",
      'const readKeys = (ctx) => { const all = ctx.apiKey.split("|"); return { id: all[0], secret: all[1] }; };\nexport function buildSubmitRequest(ctx) { const { id, secret } = readKeys(ctx); return { url: ctx.baseUrl, body: { id, sign: utils.hmacSHA256(id, secret) } }; }',
      'export function buildSubmitRequest(ctx) { return { url: `${ctx.baseUrl}/projects/${ctx.auth.projectId}/jobs` }; }',
      'export function buildSubmitRequest(ctx) { console.log(ctx.model, ctx.apiKey.length, !!ctx.apiKey); return { url: ctx.baseUrl, body: { model: ctx.upstreamModel, ...ctx.requestBody } }; }',
      "export function buildSubmitRequest(ctx) { if (!ctx.apiKey.startsWith('x')) throw new Error('no key'); return { url: ctx.baseUrl + '/' + orderOf(ctx).id }; }\nconst orderOf = (ctx) => ({ id: ctx.publicTaskId, key: ctx.apiKey });",
    ]) {
      expect([code, await findWarnings(withHook('buildSubmitRequest', code))]).toEqual([code, []]);
    }
    const batch =
      'export function buildBatchQueryRequest(ctx, tasks) { return { url: ctx.baseUrl, body: { ids: tasks.map(({ taskId }) => taskId), more: ctx.tasks.map((one) => one.taskId) } }; }';
    expect(await findWarnings(withHook('buildBatchQueryRequest', batch))).toEqual([]);
  });
});

test('the factory plugins and the templates have no warnings', async () => {
  const folder = join(root, 'src/plugins/factory');
  const shipped = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const created = newPlugin('Paper Films');
  if (!created.ok) throw new Error(created.error);
  const sources = shipped.map((name): [string, string] => [name, readFileSync(join(folder, name), 'utf8')]);
  for (const { name, text } of created.value.files) if (name.endsWith('.js')) sources.push([name, text]);
  expect(sources.length).toBeGreaterThan(9);
  for (const [name, source] of sources) {
    expect([name, (await lintPlugin(source, sandbox, { compiler })).warnings]).toEqual([name, []]);
  }
});

test('the guide explains every warning', async () => {
  const { WARNINGS } = await import('../../src/plugins/lint/warning-ids.ts');
  const guide = readFileSync(join(root, 'docs/plugins.md'), 'utf8');
  expect(Object.keys(WARNINGS).filter((rule) => !guide.includes(`| \`${rule}\` |`))).toEqual([]);
});

test('a long chain of names takes linear time', async () => {
  const names = Array.from({ length: 3000 }, (_, i) => `const v${i} = ${i > 0 ? `v${i - 1} + ` : ''}ctx.taskId;`);
  const all = names.map((_, i) => `v${i}`);
  const code = `export function buildQueryRequest(ctx) { ${names.join('\n')} return { url: v2999, body: [${all}] }; }`;
  const before = process.cpuUsage();
  expect(await findWarnings(withHook('buildQueryRequest', code))).toEqual([]);
  // Quadratic time took more than a minute for a third of it.
  expect(process.cpuUsage(before).user).toBeLessThan(20_000_000);
});
