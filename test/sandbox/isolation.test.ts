import { afterAll, describe, expect, test } from 'bun:test';
import { catchFailure, hook, MEBIBYTE, plugin, readResult, startSandbox } from './start-sandbox.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

describe('a call finds nothing that another call left behind', () => {
  const places: Record<string, { leave: string; find: string }> = {
    'a module global': { leave: 'kept.push(secret)', find: 'kept.length' },
    globalThis: { leave: 'globalThis.left = secret', find: "'left' in globalThis" },
    'Object.prototype': { leave: 'Object.prototype.left = secret', find: "'left' in {}" },
    'Array.prototype.map': { leave: 'Array.prototype.map = () => secret', find: '[1].map((x) => x)[0] !== 1' },
    'JSON.parse': { leave: 'JSON.parse = () => secret', find: "JSON.parse('1') !== 1" },
    'JSON.stringify': { leave: 'JSON.stringify = () => secret', find: "JSON.stringify(1) !== '1'" },
    utils: {
      leave: 'utils.base64 = () => secret; utils.left = secret',
      find: "utils.base64('a') !== 'YQ==' || 'left' in utils",
    },
    'deleted utils': {
      leave: 'delete globalThis.utils; delete globalThis.console',
      find: "typeof utils !== 'object' || typeof console !== 'object' || utils.base64('a') !== 'YQ=='",
    },
    'a symbol registry key': {
      leave: "globalThis[Symbol.for('left')] = secret",
      find: "Symbol.for('left') in globalThis",
    },
    'a regular expression': { leave: "shared.exec('aaa')", find: 'shared.lastIndex !== 0' },
    'Date and Math': {
      leave: 'Date.now = () => 1; Math.random = () => 0.5',
      find: 'Date.now() === 1 || Math.random() === 0.5',
    },
  };
  for (const [name, { leave, find }] of Object.entries(places)) {
    test(name, async () => {
      const module = plugin(
        `const kept = []; const shared = /a/g;
         export function leave(secret) { ${leave}; return 1 }
         export function leaveAndThrow(secret) { ${leave}; throw new Error('x') }
         export function leaveAndSpin(secret) { ${leave}; const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length) }
         export function find() { return Boolean(${find}) }`,
      );
      expect(await readResult(sandbox, module, hook('find'))).toBe(false);
      await sandbox.call(module, hook('leave', ['s3cret']));
      expect(await readResult(sandbox, module, hook('find'))).toBe(false);
      await sandbox.call(module, hook('leaveAndThrow', ['s3cret']));
      expect(await readResult(sandbox, module, hook('find'))).toBe(false);
    });
  }

  test('after a timeout and after memory ran out', async () => {
    const hurried = startSandbox({ callTimeoutMs: 1_500, killGraceMs: 5_000 });
    const small = startSandbox({ memoryBytes: 32 * MEBIBYTE });
    const module = plugin(
      `let kept = 0;
       export function spin() { kept = 1; Object.prototype.left = 1; for (;;); }
       export function fill() { kept = 1; Object.prototype.left = 1; const all = []; for (;;) all.push(new Uint8Array(1 << 20)) }
       export function find() { return kept + ('left' in {} ? 1 : 0) }`,
    );
    expect((await catchFailure(hurried.call(module, hook('spin')))).kind).toBe('timeout');
    expect(await readResult(hurried, module, hook('find'))).toBe(0);
    expect((await catchFailure(small.call(module, hook('fill')))).kind).toBe('memory');
    expect(await readResult(small, module, hook('find'))).toBe(0);
    await Promise.all([hurried.close(), small.close()]);
  });
});

describe('a plugin cannot forge results', () => {
  test('JSON replaced while the module loads', async () => {
    const module = plugin(
      `JSON.parse = () => ({ path: ['evil'], args: ['evil'] }); JSON.stringify = () => '"evil"';
       export function evil() { return 'evil' }
       export function hook(x) { return x + 1 }
       export const meta = { key: 'real' };`,
    );
    expect(await readResult(sandbox, module, hook('hook', [41]))).toBe(42);
    expect(await sandbox.inspect(module, 'system')).toMatchObject({ ok: true, value: { meta: { key: 'real' } } });
  });

  test('toJSON and setters on the prototypes', async () => {
    const module = plugin(
      `Object.defineProperty(Object.prototype, 'ok', { set() { throw 1 }, get() { return 'evil' } });
       for (const proto of [String.prototype, Number.prototype, Boolean.prototype]) proto.toJSON = () => 'evil';
       Object.defineProperty(Object.prototype, 'failure', { get() { return { kind: 'killed', message: 'evil' } } });
       String.prototype.slice = () => 'evil'; Array.prototype[Symbol.iterator] = () => { throw 1 };
       Reflect.apply = () => 'evil'; Function.prototype.call = Function.prototype.apply = () => 'evil';
       export function hook(x) { return { x } }
       export function fails() { throw new Error('mine') }
       export function time() { return new Date().getTime() > 1e12 }`,
    );
    expect(await readResult(sandbox, module, hook('hook', [1]))).toEqual({ x: 1 });
    expect(await catchFailure(sandbox.call(module, hook('fails')))).toMatchObject({ kind: 'thrown', message: 'mine' });
    expect(await readResult(sandbox, module, hook('time'))).toBe(true);
  });

  test('a then on Object.prototype only hurts the plugin itself', async () => {
    const module = plugin('Object.prototype.then = () => {}; export function hook() { return {} }');
    expect((await catchFailure(sandbox.call(module, hook('hook')))).kind).toBe('async');
  });

  test('errors that pretend, throw or loop when they are read', async () => {
    const module = plugin(
      `export function getter() { throw { get message() { throw new Error('twice') } } }
       export function proxy() { throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } }) }
       export function number() { throw 42 }
       export function nothing() { throw undefined }
       export function symbol() { throw Symbol('x') }
       export function text() { throw 'plain\\u0000 text\\n' + '\\u{1F600}'.repeat(600) }
       export function named() { throw Object.assign(new Error('boom'), { name: 'Odd' }) }`,
    );
    const thrown = async (name: string) => catchFailure(sandbox.call(module, hook(name)));
    for (const name of ['getter', 'proxy', 'number', 'nothing', 'symbol', 'text', 'named']) {
      expect((await thrown(name)).kind).toBe('thrown');
    }
    expect((await thrown('number')).message).toBe('42');
    expect((await thrown('named')).message).toBe('boom');
    const { message } = await thrown('text');
    expect([...message]).toHaveLength(512);
    expect(message).toStartWith('plain  text ');
  });

  test('members are own properties only', async () => {
    const module = plugin(
      'export const group = { own() { return 1 } }; export class Shape { static make() { return 1 } }',
    );
    expect(await readResult(sandbox, module, hook('group.own'))).toBe(1);
    for (const path of [
      'toString',
      'constructor',
      '__proto__',
      'group.toString',
      'group.__proto__.toString',
      'group.own.call',
      'Shape',
    ]) {
      expect((await catchFailure(sandbox.call(module, hook(path)))).kind).toBe('not_callable');
    }
  });
});

describe('escapes reach nothing of the host', () => {
  const module = plugin(`
    const roots = [utils.base64, console.log, Date, Math.random, utils, console, globalThis, import.meta];
    export function globals() { return Object.getOwnPropertyNames(globalThis) }
    export function constructors() {
      return roots.map((root) => {
        try { return root.constructor.constructor('return typeof process + typeof Bun + typeof require + typeof fetch + typeof WebAssembly')() }
        catch (error) { return String(error.message) }
      })
    }
    export function indirect() {
      const all = [(0, eval)('this'), new Function('return this')(), (function () { return this })(), Reflect.construct(Function, ['return this'])()];
      return all.map((it) => it === undefined ? 'undefined' : typeof it.process + typeof it.Bun + typeof it.Deno + typeof it.setTimeout + typeof it.WebAssembly)
    }
    export function thrownByHost() {
      try { utils.base64URLDecode('*') } catch (error) {
        return [error instanceof Error, Object.getPrototypeOf(error) === Error.prototype, typeof error.constructor.constructor('return this')().process, String(error.stack).includes('/')]
      }
    }
    export function meta() { return Object.keys(import.meta) }
    export function caller() { try { return typeof caller.caller } catch (error) { return 'refused' } }
    export function callStack() { return new Error('x').stack }
  `);

  test('the globals are those of the language, and utils and console', async () => {
    const names = (await readResult(sandbox, module, hook('globals'))) as string[];
    const foreign = names.filter((name) => !(name in globalThis));
    expect(foreign.sort()).toEqual(['InternalError', 'utils']);
    for (const name of [
      'process',
      'Bun',
      'require',
      'fetch',
      'setTimeout',
      'queueMicrotask',
      'WebAssembly',
      'performance',
      'Worker',
      'crypto',
      'navigator',
      'std',
      'os',
      'print',
      'scriptArgs',
    ]) {
      expect(names).not.toContain(name);
    }
  });
  test('constructor chains', async () => {
    for (const found of (await readResult(sandbox, module, hook('constructors'))) as string[]) {
      expect([
        'undefinedundefinedundefinedundefinedundefined',
        "cannot read property 'constructor' of undefined",
      ]).toContain(found);
    }
  });
  test('Function, indirect eval and sloppy this', async () => {
    for (const found of (await readResult(sandbox, module, hook('indirect'))) as string[]) {
      expect(['undefined', 'undefinedundefinedundefinedundefinedundefined']).toContain(found);
    }
  });
  test('errors of host functions are of the guest', async () => {
    expect(await readResult(sandbox, module, hook('thrownByHost'))).toEqual([true, true, 'undefined', false]);
  });
  test('import.meta, caller and stacks say nothing', async () => {
    expect(await readResult(sandbox, module, hook('meta'))).toEqual([]);
    expect(await readResult(sandbox, module, hook('caller'))).toBe('refused');
    expect(await readResult(sandbox, module, hook('callStack'))).not.toContain('/');
  });
});

test('two plugins share no state', async () => {
  const one = plugin(
    "globalThis.met = 'one'; Array.prototype.met = 1; export function look() { return String(globalThis.met) + [].met }",
    'one',
  );
  const two = plugin('export function look() { return String(globalThis.met) + [].met }', 'two');
  for (let i = 0; i < 3; i++) {
    expect(await readResult(sandbox, one, hook('look'))).toBe('one1');
    expect(await readResult(sandbox, two, hook('look'))).toBe('undefinedundefined');
  }
});
