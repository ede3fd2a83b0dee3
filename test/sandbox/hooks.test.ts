import { afterAll, describe, expect, test } from 'bun:test';
import { describeBytes } from '../../src/kernel/index.ts';
import { MAX_RESULT_BYTES, MAX_RESULT_VALUES } from '../../src/sandbox/read-result.ts';
import { catchFailure, hook, plugin, readResult, startSandbox } from './start-sandbox.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const echo = plugin(`
  export function back(...args) { return args }
  export function nothing() {}
  export function context() { return this === undefined }
  export const group = { name: 'g', who() { return this.name } };
  export const protocols = { proto_video: { render(view) { return { id: view.id } } } };
`);

describe('arguments and results', () => {
  test('JSON goes in and out unchanged', async () => {
    const values = [
      null,
      true,
      -0.5,
      1e21,
      '',
      'ü ✓ \u0000 \u2028 \ud83d\ude00 "\\',
      [1, [2]],
      { a: { b: [null] }, __proto__x: 1 },
    ];
    expect(await readResult(sandbox, echo, hook('back', values))).toEqual(values);
  });
  test('lone surrogates survive or are replaced, but break nothing', async () => {
    const [text] = (await readResult(sandbox, echo, hook('back', ['a\ud800b']))) as [string];
    expect(text).toHaveLength(3);
  });
  test('undefined arguments are dropped at the end, and null in the middle', async () => {
    expect(await readResult(sandbox, echo, hook('back', [1, undefined, 2, undefined, undefined]))).toEqual([
      1,
      null,
      2,
    ]);
  });
  test('a result of nothing is undefined', async () => {
    expect(await sandbox.call(echo, hook('nothing'))).toMatchObject({
      ok: true,
      value: { value: undefined, console: [] },
    });
  });
  test('a member is called with its object as this, an export without', async () => {
    expect(await readResult(sandbox, echo, hook('group.who'))).toBe('g');
    expect(await readResult(sandbox, echo, hook('context'))).toBe(true);
    expect(await readResult(sandbox, echo, hook('protocols.proto_video.render', [{ id: 7 }]))).toEqual({ id: 7 });
  });
  test('artifacts and the values of form fields are read only, and the rest of a context is not', async () => {
    const writer = plugin(`
      const attempts = {
        artifact: (ctx) => { ctx.artifacts.video.url = 'https://elsewhere' },
        artifacts: (ctx) => { ctx.artifacts.more = {} },
        value: (ctx) => { ctx.body.fields.prompt[0] = 'b' },
        values: (ctx) => { ctx.body.fields.prompt.push('b') },
        field: (ctx) => { ctx.body.fields.more = [] },
        json: (ctx) => { ctx.body.value.prompt.push('b') },
      };
      export function attempt(ctx, name) {
        try { attempts[name](ctx); return 'written' } catch (error) { return error.name }
      }`);
    const context = {
      artifacts: { video: { key: 'video', url: 'https://here' } },
      body: { kind: 'form', fields: { prompt: ['a'] }, value: { prompt: [] } },
    };
    const attempt = async (name: string) => [name, await readResult(sandbox, writer, hook('attempt', [context, name]))];
    expect(await Promise.all(['artifact', 'artifacts', 'value', 'values', 'field', 'json'].map(attempt))).toEqual([
      ['artifact', 'TypeError'],
      ['artifacts', 'TypeError'],
      ['value', 'TypeError'],
      ['values', 'TypeError'],
      ['field', 'written'],
      ['json', 'written'],
    ]);
  });
  test('3 MB in and out', async () => {
    const large = { maxArgsBytes: 16 << 20, maxResultBytes: MAX_RESULT_BYTES };
    const text = 'ab✓'.repeat(600_000);
    expect(await readResult(sandbox, echo, hook('back', [text], large))).toEqual([text]);
  });
  test('results and arguments that are not JSON fail as codec', async () => {
    const odd = plugin(`
      export function cycle() { const a = {}; a.a = a; return a }
      export function bigint() { return 10n }
      export function fn() { return () => 1 }
      export function symbol() { return Symbol('x') }
      export function toJson() { return { toJSON() { throw new Error('mine') } } }`);
    for (const name of ['cycle', 'bigint', 'fn', 'symbol', 'toJson']) {
      expect((await catchFailure(sandbox.call(odd, hook(name)))).kind).toBe('codec');
    }
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect((await catchFailure(sandbox.call(echo, hook('back', [cyclic])))).kind).toBe('codec');
  });
});

describe('every limit is named in its error', () => {
  test('source', async () => {
    const small = startSandbox({ sourceBytes: 1_000 });
    const long = plugin(`export const x = '${'é'.repeat(500)}'`);
    for (const outcome of [small.inspect(long, 'system'), small.call(long, hook('x'))]) {
      expect(await catchFailure(outcome)).toMatchObject({
        kind: 'too_large',
        message: 'the source is over the limit of 1,000 bytes',
      });
    }
    await small.close();
  });
  test('arguments, in bytes', async () => {
    const exact = JSON.stringify(['é'.repeat(100)]);
    const limit = Buffer.byteLength(exact);
    expect(await readResult(sandbox, echo, hook('back', ['é'.repeat(100)], { maxArgsBytes: limit }))).toEqual([
      'é'.repeat(100),
    ]);
    expect(
      await catchFailure(sandbox.call(echo, hook('back', ['é'.repeat(100)], { maxArgsBytes: limit - 1 }))),
    ).toMatchObject({
      kind: 'too_large',
      message: `the arguments of back are over the limit of ${describeBytes(limit - 1)}`,
    });
  });
  test('result, in bytes', async () => {
    for (const [text, bytes] of [
      ['x'.repeat(1_000), 1_004],
      ['é'.repeat(500), 1_004],
    ] as const) {
      expect(await readResult(sandbox, echo, hook('back', [text], { maxResultBytes: bytes }))).toEqual([text]);
      expect(await catchFailure(sandbox.call(echo, hook('back', [text], { maxResultBytes: bytes - 1 })))).toMatchObject(
        {
          kind: 'too_large',
          message: `the result of back is over the limit of ${describeBytes(bytes - 1)}`,
        },
      );
    }
  });
  test('values of a result, however few bytes they have', async () => {
    const many = plugin(`
      export const empty = (count) => Array(count).fill({});
      export const named = (count) =>
        Object.fromEntries([...Array(count >> 1).keys()].map((i) => [i.toString(36), ['}{,"']]));`);
    const large = { maxResultBytes: MAX_RESULT_BYTES };
    const most = MAX_RESULT_VALUES - 1;
    expect(await readResult(sandbox, many, hook('empty', [most], large))).toHaveLength(most);
    const named = (await readResult(sandbox, many, hook('named', [most], large))) as object;
    expect(Object.keys(named)).toHaveLength(most >> 1);
    for (const name of ['empty', 'named']) {
      expect(await catchFailure(sandbox.call(many, hook(name, [most + 1], large)))).toMatchObject({
        kind: 'too_large',
        message: `the result of ${name} is over the limit of 100000 JSON values`,
      });
    }
  });
  test('deadline, memory and stack', async () => {
    const hurried = startSandbox({ callTimeoutMs: 1_500, killGraceMs: 5_000 });
    const small = startSandbox({ memoryBytes: 24 << 20 });
    const bad = plugin(`
      export function loop() { for (;;); }
      export function fill() { return new Uint8Array(100 << 20).length }
      export function deep() { return deep() + 1 }`);
    expect(await catchFailure(hurried.call(bad, hook('loop')))).toMatchObject({
      kind: 'timeout',
      message: 'did not end within the limit of 1500 ms',
    });
    expect(await catchFailure(small.call(bad, hook('fill')))).toMatchObject({
      kind: 'memory',
      message: 'out of memory: the hook used more than 24 MB',
    });
    expect(await catchFailure(small.call(bad, hook('deep')))).toMatchObject({
      kind: 'stack',
      message: 'nested deeper than the stack limit of 256 kB allows',
    });
    await Promise.all([hurried.close(), small.close()]);
  });

  test('a hook out of memory says so, whatever it catches and throws', async () => {
    const small = startSandbox({ memoryBytes: 24 << 20 });
    const fill = 'for (;;) all.push([])';
    const hungry = plugin(`
      const all = [];
      export function objects() { ${fill} }
      export function texts() { for (;;) all.push('x'.repeat(1 << 16) + all.length) }
      export function nested() { try { ${fill} } catch { try { ${fill} } catch (inner) { throw inner } } }
      export function rethrows() { try { ${fill} } catch (error) { throw new Error('failed: ' + error.message) } }
      export function parses() { return JSON.parse('[' + '{},'.repeat(2e6) + '0]').length }
      export function returns() { try { ${fill} } catch {} return { toJSON() { ${fill} } } }
      export function takes(list) { return list.length }
      export function recovers() { try { ${fill} } catch {} all.length = 0; return 'done' }
      export function throwsNull() { throw null }`);
    const outOfMemory = { kind: 'memory', message: 'out of memory: the hook used more than 24 MB' };
    const attempts = ['objects', 'texts', 'nested', 'rethrows', 'parses', 'returns'].map((name) => hook(name));
    attempts.push(hook('takes', [Array(500_000).fill({})], { maxArgsBytes: 16 << 20 }));
    for (const attempt of attempts) expect(await catchFailure(small.call(hungry, attempt))).toMatchObject(outOfMemory);
    expect(await readResult(small, hungry, hook('recovers'))).toBe('done');
    expect(await catchFailure(small.call(hungry, hook('throwsNull')))).toMatchObject({
      kind: 'thrown',
      message: 'null',
    });
    expect(small.stats().kills).toBe(0);
    const heavy = plugin(`const all = []; ${fill}`);
    expect(await catchFailure(small.inspect(heavy, 'system'))).toMatchObject({
      kind: 'memory',
      message: 'out of memory: the plugin used more than 24 MB',
    });
    await small.close();
  });
});

describe('console', () => {
  const chatty = plugin(`
    export function talk() { console.log('a', 1, null, undefined, { b: [1] }, new Error('e')); console.log(); return 1 }
    export function fails() { console.log('before'); throw new Error('x') }
    export function odd() { const a = {}; a.a = a; console.log(a, Symbol('s'), { toString() { throw 1 }, toJSON() { throw 2 } }); return 1 }
    export function flood() { for (let i = 0; i < 5000; i++) console.log('line ' + i); return 1 }
    export function long() { console.log('x'.repeat(1e6)); return 1 }
    console.log('while loading')`);
  test('console lines are returned, also with failures', async () => {
    expect(await sandbox.call(chatty, hook('talk'))).toMatchObject({
      ok: true,
      value: { value: 1, console: ['a 1 null undefined {"b":[1]} Error: e', ''] },
    });
    expect((await catchFailure(sandbox.call(chatty, hook('fails')))).console).toEqual(['before']);
    expect(await sandbox.call(chatty, hook('odd'))).toMatchObject({
      ok: true,
      value: { console: ['[unprintable] Symbol(s) [unprintable]'] },
    });
  });
  test('the console is cut at its limit, and says so', async () => {
    for (const name of ['flood', 'long']) {
      const outcome = await sandbox.call(chatty, hook(name));
      if (!outcome.ok) throw new Error(outcome.error.message);
      const lines = outcome.value.console;
      expect(lines.at(-1)).toBe('[console output over the limit of 16384 bytes was cut]');
      expect(lines.slice(0, -1).join('\n').length).toBeLessThanOrEqual(16_384);
    }
  });
});

describe('inspect', () => {
  test('gives the exports with their types', async () => {
    const module = plugin(`
      export const meta = { key: 'x', list: [1], nested: { deep: { deeper: { deepest: { no: 1 } } } } };
      export function plain() {} export const arrow = () => 1; export async function waits() {} export const waitsToo = async () => 1;
      export function* many() {} export async function* manyAsync() {} export class Thing {} export const list = [1]; export const text = 'a';
      export const group = { a() {}, async b() {}, sub: { c() {} } };
      export default function () {}`);
    const info = await sandbox.inspect(module, 'system');
    if (!info.ok) throw new Error(info.error.message);
    expect(info.value.meta).toEqual({ key: 'x', list: [1], nested: { deep: { deeper: { deepest: { no: 1 } } } } });
    expect(info.value.exports).toMatchObject({
      plain: { type: 'function' },
      arrow: { type: 'function' },
      waits: { type: 'async_function' },
      waitsToo: { type: 'async_function' },
      many: { type: 'generator' },
      manyAsync: { type: 'generator' },
      Thing: { type: 'class' },
      list: { type: 'array' },
      text: { type: 'other' },
      default: { type: 'function' },
      group: {
        type: 'object',
        members: {
          a: { type: 'function' },
          b: { type: 'async_function' },
          sub: { type: 'object', members: { c: { type: 'function' } } },
        },
      },
    });
  });
  test('a module without meta has none', async () => {
    expect(await sandbox.inspect(plugin('export const a = 1'), 'system')).toEqual({
      ok: true,
      value: { exports: { a: { type: 'other' } }, meta: undefined },
    });
  });
  test('failures have a position in the source', async () => {
    expect(await catchFailure(sandbox.inspect(plugin('const a = 1;\nconst b = ;'), 'system'))).toMatchObject({
      kind: 'compile',
      line: 2,
      column: 11,
    });
    expect(await catchFailure(sandbox.inspect(plugin("\n\nthrow new Error('top')"), 'system'))).toMatchObject({
      kind: 'compile',
      message: 'top',
      line: 3,
    });
    expect(await catchFailure(sandbox.call(plugin('export function a() {\n null.x }'), hook('a')))).toMatchObject({
      kind: 'thrown',
      line: 2,
    });
  });
  test('an endless or greedy module is stopped', async () => {
    const tight = startSandbox({ callTimeoutMs: 1_500 });
    expect((await catchFailure(tight.inspect(plugin('for (;;);'), 'system'))).kind).toBeOneOf(['timeout', 'killed']);
    expect(
      (await catchFailure(tight.inspect(plugin('const a = new Array(2 ** 32 - 1).includes(1)'), 'system'))).kind,
    ).toBe('killed');
    expect((await tight.inspect(plugin('export const a = 1'), 'system')).ok).toBe(true);
    await tight.close();
  });
  test('more names of exports than the gateway reads are refused', async () => {
    // A busy machine needs seconds to compile this many names.
    const patient = startSandbox({ callTimeoutMs: 60_000 });
    const names = Array.from({ length: 12_000 }, (_, i) => `a as b${i}`);
    expect(await catchFailure(patient.inspect(plugin(`const a = 0; export { ${names} }`), 'system'))).toMatchObject({
      kind: 'too_large',
      message: 'meta and the names of all exports are over the limit of 256 kB together',
    });
    const few = await patient.inspect(plugin(`const a = 0; export { ${names.slice(0, 5000)} }`), 'system');
    expect(few.ok).toBe(true);
    await patient.close();
  });
  test('an export with too many members is cut, not refused', async () => {
    const info = await sandbox.inspect(
      plugin('export const big = {}; for (let i = 0; i < 1e4; i++) big[`k${i}`] = i'),
      'system',
    );
    expect(info.ok).toBe(true);
  });
});

describe('asynchronous code is refused', () => {
  const refused = (source: string) => catchFailure(sandbox.inspect(plugin(source), 'system'));
  test('modules', async () => {
    for (const source of [
      'await 1',
      'export const a = Promise.resolve(1)',
      'export const a = { b: { then() {} } }',
      'Promise.resolve().then(() => 1)',
      'export const a = new Promise(() => {})',
      'eval(\'import("x")\')',
      "const x = 'a'; import(x + 1)",
    ]) {
      expect((await refused(source)).kind).toBe('async');
    }
  });
  test('calls', async () => {
    const module = plugin(`
      export async function a() { return 1 }
      export function* b() { yield 1 }
      export function c() { return Promise.resolve(1) }
      export function d() { return { then() {} } }
      export function e() { Promise.resolve().then(() => 1); return 1 }
      export function f() { (async () => { await 1 })(); return 1 }
      export function g() { eval('import("x")'); return 1 }
      export function h() { return import('a') }
      let hidden = async () => 1; Object.setPrototypeOf(hidden, null); export { hidden }`);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'hidden']) {
      expect((await catchFailure(sandbox.call(module, hook(name)))).kind).toBe('async');
    }
  });
  test('imports do not compile', async () => {
    for (const source of ["import a from 'a'", "import 'node:fs'", "export * from 'a'"]) {
      expect((await refused(source)).kind).toBe('compile');
    }
    expect(
      (
        await sandbox.inspect(
          plugin(
            "export const a = 'import(1)'; // import(2)\nexport const b = /import(3)/; export const c = import.meta",
          ),
          'system',
        )
      ).ok,
    ).toBe(true);
  });
});
