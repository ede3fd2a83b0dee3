import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core';
import { loadEngine } from '../../src/sandbox/child/load-engine.ts';
import { type GuestValues, MAX_STRINGIFIED_BYTES } from '../../src/sandbox/child/stringify-values.ts';
import { rounds } from '../support/full-run.ts';
import { processorMs } from '../support/processor-time.ts';
import { hook, MEBIBYTE, plugin, readResult, startSandbox } from './start-sandbox.ts';

const PREFIX = 0x76;
const engine = await loadEngine();
let context: QuickJSContext;
let guest: GuestValues;
let stringify: QuickJSHandle;

beforeEach(async () => {
  const { quickjs, memory, exports } = await engine.open(64 * MEBIBYTE);
  context = quickjs.newRuntime().newContext();
  stringify = context.unwrapResult(context.evalCode('JSON.stringify'));
  guest = {
    memory,
    context: exports.context(),
    prototypes: { object: addressFor('Object.prototype', memory), array: addressFor('Array.prototype', memory) },
  };
});

function addressFor(code: string, memory: WebAssembly.Memory): number {
  const { value } = context.unwrapResult(context.evalCode(code));
  return new Uint32Array(memory.buffer)[value >>> 2] as number;
}

/** What is read of the guest's object, and what its own `JSON.stringify` says of it. */
function compare(code: string): { read: string | undefined; own: string | undefined } {
  const value = context.unwrapResult(context.evalCode(`(${code})`));
  const address = new Uint32Array(guest.memory.buffer)[value.value >>> 2] as number;
  const bytes = engine.stringifyValues(guest, address, PREFIX);
  const read = bytes && Buffer.from(bytes).toString('utf8');
  const said = context.callFunction(stringify, context.undefined, [value]);
  const own = said.error ? undefined : context.getString(said.value);
  return { read: read?.slice(1), own };
}

describe('is read as the guest itself says it', () => {
  const texts = [
    '',
    'a',
    'x'.repeat(31),
    'x'.repeat(32),
    'é',
    '✓é',
    '\u{1f600}',
    '\ud800',
    'a\udc00b',
    'é"\\\n',
    '\u007f',
  ];
  const numbers = ['0', '-0', '1', '-1', '9', '10', '99999', '2147483647', '-2147483648', '2147483648', '4294967296'];
  const floats = [
    '1.5',
    '-0.25',
    '1e21',
    '5e-324',
    '1.7976931348623157e308',
    '1700000000000',
    '0.1+0.2',
    'NaN',
    '-Infinity',
  ];
  const samples: Record<string, string[]> = {
    numbers: [...numbers, ...floats],
    words: ['true', 'false', 'null', 'undefined'],
    texts: [...texts, '\0\u0001\b\f\n\r\t\u001f"\\/\u2028', 'x'.repeat(9_000)].map((text) => JSON.stringify(text)),
    'texts made by the plugin': [
      '"ab".slice(1)',
      '"a" + 1',
      '"✓ab".slice(1)',
      '`${1}${"é"}`',
      'String.fromCharCode(0xd83d)',
    ],
    containers: ['[]', '{}', '[[], {}]', '{ a: [{ a: {} }] }', '[[[1], 2], { b: [3, { a: 4 }] }]', 'Array(3).fill(7)'],
    'members that are not shown': [
      '{ a: undefined, b: 1 }',
      '{ a: undefined }',
      'Object.defineProperty({ a: 1 }, "hidden", { value: 2 })',
      'Object.defineProperty({ a: 1 }, "hidden", { get() { throw 1 } })',
      '(() => { const o = { a: 1, b: 2, c: 3 }; delete o.b; return o })()',
      '(() => { const o = { a: 1, b: 2 }; delete o.a; o.a = 3; return o })()',
    ],
    'what was frozen, sealed or has no prototype': [
      'Object.freeze({ a: Object.seal({ b: [1] }) })',
      'Object.assign(Object.create(null), { a: 1 })',
      'JSON.parse(\'{"a":1,"__proto__":{"b":2}}\')',
    ],
    'names again': [
      JSON.stringify(
        Array.from({ length: 1_000 }, (_, i) => ({ [`name-${i % 700}`]: i, same: `${i}`, 'é"': 1, '✓': 2 })),
      ),
      JSON.stringify({ ['long'.repeat(20)]: 1, inner: { ['long'.repeat(20)]: 2, '': 3 } }),
    ],
    'what the engine keeps': [
      'Object.keys({ a: 1, b: 2 })',
      '"a,b".split(",")',
      'JSON.parse("[1,{\\"a\\":[]}]")',
      '[..."ab"]',
    ],
  };
  for (const [what, values] of Object.entries(samples)) {
    test(what, () => {
      for (const value of [`[${values.join()}]`, ...values.map((value) => `{ value: ${value} }`)]) {
        const { read, own } = compare(value);
        expect(read, value).toBe(own as string);
      }
    });
  }
  test('any value of JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }), (value) => {
        const { read, own } = compare(`{ value: JSON.parse(${JSON.stringify(JSON.stringify(value))}) }`);
        if (read === undefined) expect(JSON.stringify(value)).toMatch(/"\d+":|"toJSON":/);
        else expect(read).toBe(own as string);
      }),
      { numRuns: rounds(300) },
    );
  });
});

/** Values that look plain and are not: their JSON may run code, or has another order or less. */
const HOSTILE = {
  'a getter': '{ get a() { globalThis.ran = true; return 1 } }',
  'a toJSON of its own': '{ a: 1, toJSON() { return 2 } }',
  'a hidden toJSON': 'Object.defineProperty({ a: 1 }, "toJSON", { value: () => 2 })',
  'a toJSON that is not a function': '{ toJSON: 1 }',
  'a toJSON whose name is computed': '{ ["to" + "JSON"]: () => 2 }',
  'a toJSON on an array': 'Object.assign([1], { toJSON: () => 2 })',
  'a class with toJSON': 'new (class { a = 1; toJSON() { return 2 } })()',
  'a class without': 'new (class { a = 1 })()',
  'the prototype of dates': 'Object.create(Date.prototype)',
  'a prototype with toJSON': 'Object.setPrototypeOf({ a: 1 }, { toJSON: () => 2 })',
  'a prototype of an array with toJSON': 'Object.setPrototypeOf([1], { toJSON: () => 2 })',
  'a class of arrays': 'new (class extends Array { toJSON() { return 2 } })()',
  'a proxy': 'new Proxy({ a: 1 }, { get: () => 2 })',
  'a proxy of an array': 'new Proxy([1], { get: () => 2 })',
  'a proxy as prototype': 'Object.create(new Proxy({}, { get: () => () => 2 }))',
  'names that are numbers': '{ b: 1, 7: 2, 1: 3 }',
  'a name that is a large number': '{ b: 1, 4294967294: 2 }',
  'a symbol as name': '{ b: 1, [Symbol.iterator]: 2 }',
  'a gap': '[1, , 3]',
  'a gap at the end': 'Array(3)',
  'a shortened array': '(() => { const a = [1, 2, 3]; a.length = 5; return a })()',
  'an item that is a getter': 'Object.defineProperty([1], 0, { get: () => 2 })',
  'an item that is not shown': 'Object.defineProperty([1], 0, { value: 2, enumerable: false })',
  'an array with a member': 'Object.assign([1], { more: 2 })',
  'an array whose length may not change': 'Object.freeze([1, 2])',
  'a date': 'new Date(0)',
  'a number in an object': 'new Number(1)',
  'a text in an object': 'new String("a")',
  'a word in an object': 'new Boolean(false)',
  'a large integer in an object': 'Object(1n)',
  'a map': 'new Map([[1, 2]])',
  'an error': 'new Error("a")',
  'an expression': '/a/',
  bytes: 'new Uint8Array(2)',
  arguments: '(function () { return arguments })(1, 2)',
  'a function': '() => 1',
  'a symbol': 'Symbol("a")',
  'a large integer': '1n',
  'a text of pieces': '"a".repeat(600) + "b".repeat(600) + "c".repeat(600)',
};

describe('is what the guest itself says, or left to it', () => {
  test.each(Object.entries(HOSTILE))('%s', (_name, value) => {
    for (const code of [`{ value: ${value} }`, `[${value}]`]) {
      const { read, own } = compare(code);
      if (read !== undefined) expect(read).toBe(own as string);
    }
  });
  test.each(['a getter', 'a hidden toJSON', 'a class without', 'a proxy', 'a gap', 'names that are numbers'] as const)(
    'left to it: %s',
    (name) => expect(compare(`{ value: ${HOSTILE[name]} }`).read).toBeUndefined(),
  );
  test('nothing of the plugin runs while it is read', () => {
    addressFor(`globalThis.ran = false, globalThis.value = { value: ${HOSTILE['a getter']} }`, guest.memory);
    engine.stringifyValues(guest, addressFor('globalThis.value', guest.memory), PREFIX);
    expect(context.dump(context.unwrapResult(context.evalCode('globalThis.ran')))).toBe(false);
  });
  test.each([
    'Object.prototype.toJSON = () => 2',
    'Array.prototype.toJSON = () => 2',
    'Object.defineProperty(Object.prototype, "to" + "JSON", { get: () => () => 2 })',
    'Object.setPrototypeOf(Array.prototype, { toJSON: () => 2 })',
    'Object.setPrototypeOf(Array.prototype, new Proxy({}, { get: () => () => 2 }))',
    'Object.setPrototypeOf(Array.prototype, null)',
  ])('left to it after %s', (code) => {
    context.unwrapResult(context.evalCode(code));
    expect(compare('{ a: [1] }').read).toBeUndefined();
  });
  test.each([
    'String.prototype.toJSON = () => 2',
    'JSON.stringify = () => 2',
    'Object.prototype.a = 5',
    'Object.keys = 1',
  ])('read as before after %s', (code) => {
    context.unwrapResult(context.evalCode(code));
    const { read, own } = compare('{ b: ["x"] }');
    expect(read).toBe(own as string);
  });
  test('circles, what is deep and what is long', () => {
    expect(compare('(() => { const o = {}; o.o = o; return o })()').read).toBeUndefined();
    expect(compare('(() => { const a = []; a.push({ a }); return a })()').read).toBeUndefined();
    expect(compare(`${'['.repeat(200)}${']'.repeat(200)}`).read).toBeUndefined();
    expect(compare(`["x".repeat(${MAX_STRINGIFIED_BYTES})]`).read).toBeUndefined();
    expect(compare(`Array(${MAX_STRINGIFIED_BYTES}).fill(1)`).read).toBeUndefined();
    for (const size of [-700, -600, -300, -200, -100, -64, -40, -33, -32, -8, 0]) {
      const deep = `${'['.repeat(120)}"${'x'.repeat(MAX_STRINGIFIED_BYTES + size)}",1,2,3${']'.repeat(120)}`;
      const { read, own } = compare(deep);
      if (read !== undefined) expect(read === own, `${size}`).toBe(true);
    }
    const wide = `(() => { const o = {}; for (let i = 0; i < 50; i++) Object.defineProperty(o, 'x' + i, { value: 1 }); return Array(50000).fill(o) })()`;
    expect(compare(wide).read).toBeUndefined();
  });
  test('any mixture', () => {
    const { value } = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(...Object.values(HOSTILE), 'undefined', 'null', '-0', 'NaN', '1e300', '"é✓"', '"\\ud800"'),
        fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
        fc.double().map((number) => (Object.is(number, -0) ? '-0' : String(number))),
        fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
        fc
          .array(fc.tuple(fc.string({ unit: 'binary', maxLength: 5 }), tie('value')), { maxLength: 4 })
          .map((members) => `{ ${members.map(([name, member]) => `[${JSON.stringify(name)}]: ${member}`).join()} }`),
      ),
    }));
    fc.assert(
      fc.property(value, (code) => {
        const { read, own } = compare(`{ value: ${code} }`);
        if (read !== undefined) expect(read).toBe(own as string);
      }),
      { numRuns: rounds(500) },
    );
  });
});

/** A guest that broke out of the engine could write this. */
test('a guest with forged memory ends the reading, within its bounds and at once', () => {
  const address = addressFor(
    'globalThis.value = { a: [1, "x", { b: "y".repeat(40) }], c: { d: [] }, e: 1.5 }',
    guest.memory,
  );
  const words = new Uint32Array(guest.memory.buffer);
  const original = words.slice();
  const heap = { first: (address >>> 2) - 2_000, last: (address >>> 2) + 500 };
  const forged = [
    0,
    1,
    4,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0xfffffff9,
    address,
    address + 4,
    address + 20,
    words.length * 4 - 4,
  ];
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(fc.integer({ min: heap.first, max: heap.last }), fc.oneof(fc.constantFrom(...forged), fc.nat())),
        {
          minLength: 1,
          maxLength: 60,
        },
      ),
      (changes) => {
        for (const [at, value] of changes) words[at] = value;
        let read: ReturnType<typeof engine.stringifyValues>;
        const ms = processorMs(() => {
          read = engine.stringifyValues(guest, address, PREFIX);
        });
        expect(ms).toBeLessThan(1_000);
        expect(read?.length ?? 0).toBeLessThanOrEqual(MAX_STRINGIFIED_BYTES + 1_000);
        for (const [at] of changes) words[at] = original[at] as number;
      },
    ),
    { numRuns: rounds(2_000) },
  );
});

describe('a plugin sees no difference', () => {
  const sandbox = startSandbox();
  const strict = startSandbox({ callTimeoutMs: 1_500, killGraceMs: 5_000 });
  afterAll(() => Promise.all([sandbox.close(), strict.close()]));
  let made: ReturnType<typeof plugin>;
  beforeAll(() => {
    made = plugin(`
      let gets = 0;
      export function getter() { return { get count() { return ++gets }, list: [{ get again() { return ++gets } }] } }
      export function inherited() { Object.prototype.toJSON = function () { return { a: 'replaced' } }; return { a: 1 } }
      export function dated() { return { at: new Date(0), none: undefined, list: [undefined, () => 1], big: new Number(7) } }
      export function circle() { const a = { list: [] }; a.list.push(a); return a }
      export function big() { return { id: 10n } }
      export function long() { return { text: 'é'.repeat(${MAX_STRINGIFIED_BYTES}) } }
      export function stopped() { return { toJSON() { for (;;); } } }
      export function back(value) { return value }`);
  });
  test.each<[string, unknown]>([
    ['getter', { count: 1, list: [{ again: 2 }] }],
    ['inherited', { a: 'replaced' }],
    ['dated', { at: '1970-01-01T00:00:00.000Z', list: [null, null], big: 7 }],
    ['long', { text: 'é'.repeat(MAX_STRINGIFIED_BYTES) }],
  ])('%s', async (name, expected) => {
    for (let i = 0; i < 2; i++) expect(await readResult(sandbox, made, hook(name, []))).toEqual(expected);
  });
  test.each(['circle', 'big'])('%s is not JSON', async (name) => {
    expect(await sandbox.call(made, hook(name, []))).toMatchObject({ ok: false, error: { kind: 'codec' } });
  });
  test('what its toJSON does counts in its time', async () => {
    expect(await strict.call(made, hook('stopped', []))).toMatchObject({ ok: false, error: { kind: 'timeout' } });
  });
  test('what is over the limit of its result is refused', async () => {
    const { maxResultBytes: _, ...call } = hook('back', [{ text: 'é'.repeat(60) }]);
    for (const [maxResultBytes, ok] of [
      [131, true],
      [130, false],
    ] as const)
      expect(await sandbox.call(made, { ...call, maxResultBytes })).toMatchObject({ ok });
  });
});
