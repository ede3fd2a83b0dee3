import { afterAll, describe, expect, test } from 'bun:test';
import { createReusableResults } from '../../src/sandbox/pool/reusable-results.ts';
import { hook, MEBIBYTE, plugin, readResult, startSandbox } from './start-sandbox.ts';

const sandbox = startSandbox({ processes: 1, memoryBytes: 32 * MEBIBYTE });
afterAll(() => sandbox.close());

/** Whether the second of two calls is repeatable: the first one also loads the module. */
async function isRepeatable(source: string, args: readonly unknown[] = [], options = {}): Promise<boolean[]> {
  const module = plugin(source);
  const seen: boolean[] = [];
  for (let i = 0; i < 2; i++) {
    const outcome = await sandbox.call(module, hook('run', args, options));
    if (!outcome.ok) throw new Error(`${outcome.error.kind}: ${outcome.error.message}`);
    seen.push(outcome.value.repeatable);
  }
  return seen;
}

describe('a call that reads what may differ next time is not repeatable', () => {
  const readers: [what: string, source: string][] = [
    ['Date.now', 'export function run() { return Date.now() }'],
    ['new Date', 'export function run() { return new Date() }'],
    ['Date as a function', 'export function run() { return Date() }'],
    ['an alias of Date', 'const { now: n } = Date; export function run() { return n() }'],
    ['a computed name', "export function run() { return globalThis['Da' + 'te']['n' + 'ow']() }"],
    ['the constructor of a date', 'export function run() { return new (new Date(0)).constructor() }'],
    ['the constructor on the prototype', 'export function run() { return Date.prototype.constructor.now() }'],
    ['a subclass of Date', 'class Mine extends Date {} export function run() { return new Mine() }'],
    ['Reflect.construct', 'export function run() { return Reflect.construct(Date, [], Object) instanceof Object }'],
    ['a proxy of Date', 'const P = new Proxy(Date, {}); export function run() { return new P() }'],
    ['a bound function', 'const now = Date.now.bind(null); export function run() { return now() }'],
    ['a default parameter', 'export function run(at = Date.now()) { return at }'],
    ['a getter', 'const box = { get at() { return Date.now() } }; export function run() { return box.at }'],
    ['toJSON while the result is written', 'export function run() { return { toJSON: () => Date.now() } }'],
    ['a getter of the result', 'export function run() { return { get at() { return Date.now() } } }'],
    ['a proxy as the result', 'export function run() { return new Proxy({ a: 1 }, { get: () => Math.random() }) }'],
    ['the time of which nothing is returned', 'export function run() { Date.now(); return 1 }'],
    ['indirect eval', "export function run() { return (0, eval)('Da' + 'te.now()') }"],
    ['the Function constructor', "export function run() { return new Function('return Da' + 'te.now()')() }"],
    [
      'the Function constructor of an arrow',
      "export function run() { return (() => 0).constructor('return new Da' + 'te()')() }",
    ],
    ['unixNow', 'export function run() { return utils.unixNow() }'],
    ['unixNow by another name', "const { ['unix' + 'Now']: u } = utils; export function run() { return u() }"],
    ['Math.random', 'export function run() { return Math.random() }'],
    ['an alias of Math.random', 'const r = Math.random; export function run() { return r() }'],
    ['a random order', 'export function run() { return [1, 2, 3].sort(() => Math.random() - 0.5) }'],
    ['a random key of a replacer', "export function run() { return 'a'.replace(/a/, () => Math.random()) }"],
    ['uuid', 'export function run() { return utils.uuid() }'],
    ['volcSignV4 without a timestamp', "export function run() { return utils.volcSignV4({ url: 'https://a.b/' }) }"],
    [
      'volcSignV4 with a timestamp of 0',
      "export function run() { return utils.volcSignV4({ url: 'https://a.b/', timestamp: 0 }) }",
    ],
    ...['awsSignV4', 'tencentSignTC3', 'aliyunSignV3', 'aliyunSignRPC'].map((name): [string, string] => [
      `${name} without a timestamp`,
      `export function run() { return utils.${name}({ url: 'https://a.b/', service: 's3', nonce: 'n' }) }`,
    ]),
    ...['aliyunSignV3', 'aliyunSignRPC'].map((name): [string, string] => [
      `${name} without a nonce`,
      `export function run() { return utils.${name}({ url: 'https://a.b/', timestamp: 5 }) }`,
    ]),
    ['the time zone', 'export function run() { return new Date(0).getTimezoneOffset() }'],
    ['local time', 'export function run() { return new Date(0).getHours() }'],
    [
      'performance',
      "export function run() { return typeof performance === 'object' ? performance.now() : Date.now() }",
    ],
    [
      'Intl',
      "export function run() { return typeof Intl === 'object' ? new Intl.DateTimeFormat().format() : Date.now() }",
    ],
    [
      'Atomics.wait',
      'export function run() { try { return Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 1) } catch { return Date.now() } }',
    ],
    ['an error of the host', "export function run() { try { utils.base64URLDecode('!') } catch { return 1 } }"],
    ['the memory limit', 'export function run() { try { new Uint8Array(1e8) } catch { return 1 } }'],
    ['console output', "export function run() { console.log('x'); return 1 }"],
    ['console output of a getter', 'export function run() { console.log({ get stack() { return 1 } }); return 1 }'],
  ];
  test.each(readers)('%s', async (_, source) => {
    expect(await isRepeatable(source)).toEqual([false, false]);
  });

  const loaders: [what: string, source: string][] = [
    ['the clock', 'const at = Date.now(); export function run() { return at }'],
    ['the clock, in a class field', 'class A { static at = new Date() } export function run() { return A.at }'],
    ['random numbers', 'const all = [2, 1].sort(() => Math.random() - 0.5); export function run() { return all }'],
    ['a UUID', 'export const id = utils.uuid(); export function run() { return id }'],
    ['a signature', "const s = utils.volcSignV4({ url: 'https://a.b/' }); export function run() { return s }"],
    ['the memory limit', 'let n = 0; try { new Uint8Array(1e8); n++ } catch {} export function run() { return n }'],
  ];
  test.each(loaders)('no call of a module whose top level read %s', async (_, source) => {
    expect(await isRepeatable(source)).toEqual([false, false]);
  });

  test('a call with a frozen clock', async () => {
    expect(await isRepeatable('export function run() { return 1 }', [], { unixNow: 5 })).toEqual([false, false]);
  });

  test('only the calls that read it', async () => {
    const source = 'export function run(late) { return late ? Date.now() : 1 }';
    expect(await isRepeatable(source, [true])).toEqual([false, false]);
    expect(await isRepeatable(source, [false])).toEqual([true, true]);
  });

  test('calls in one batch are told apart', async () => {
    const module = plugin('export function run(late) { return late ? Date.now() : 1 }');
    await sandbox.call(module, hook('run', [false]));
    const late = Array.from({ length: 24 }, (_, i) => i % 3 === 0);
    const outcomes = await Promise.all(late.map((one) => sandbox.call(module, hook('run', [one]))));
    expect(outcomes.map((outcome) => outcome.ok && outcome.value.repeatable)).toEqual(late.map((one) => !one));
  });
});

describe('a call whose result depends on its arguments is repeatable', () => {
  const pure: [what: string, source: string][] = [
    ['a computed value', 'export function run() { return [1, 2].map((x) => x * 2) }'],
    ['nothing', 'export function run() {}'],
    ['a date from a number', 'export function run() { return new Date(1e12).toISOString() }'],
    ['a date from a text with a zone', "export function run() { return Date.parse('2024-01-02T03:04:05Z') }"],
    ['Date.UTC', 'export function run() { return Date.UTC(2024, 1, 2) }'],
    [
      'a signature at a given time',
      "export function run() { return utils.volcSignV4({ url: 'https://a.b/', timestamp: 5 }) }",
    ],
    ...['awsSignV4', 'tencentSignTC3', 'aliyunSignV3', 'aliyunSignRPC'].map((name): [string, string] => [
      `${name} at a given time, with a given nonce`,
      `export function run() { return utils.${name}({ url: 'https://a.b/', service: 's3', nonce: 'n', timestamp: 5 }) }`,
    ]),
    ['a digest of bytes', "export function run() { return utils.hmac('md5', [1], utils.bytes('aGk', 'base64')) }"],
    [
      'digests and encodings',
      "export function run() { return [utils.hmacSHA256('a', 'b'), utils.base64('a'), utils.jwtSignHS256({ a: 1 }, 'b')] }",
    ],
    ['a caught error', 'export function run() { try { null.x } catch (error) { return error.message } }'],
    [
      'a caught stack overflow',
      'export function run() { let n = 0; const f = () => { n++; f() }; try { f() } catch {} return n }',
    ],
    ['much memory', 'export function run() { return new Array(2e5).fill(7).length }'],
    ['a long loop', 'export function run() { let n = 0; for (let i = 0; i < 3e5; i++) n += i; return n }'],
    ['changed built-ins', 'Array.prototype.join = () => 5; export function run() { return [1].join() }'],
  ];
  test.each(pure)('%s', async (_, source) => {
    expect(await isRepeatable(source)).toEqual([true, true]);
  });
});

describe('a call that may reuse a result', () => {
  /** How many calls ran in a process, by what they were given. */
  const ran = async (calls: () => Promise<unknown>): Promise<number> => {
    const before = sandbox.stats().calls;
    await calls();
    return sandbox.stats().calls - before;
  };
  const reuse = { reuse: true };
  const echo = plugin('/* echo */ export function run(x) { return { x } } export function twice(x) { return [x, x] }');

  test('gets that of an equal call, without a call of the hook', async () => {
    const task = { taskId: 'one' };
    const args = [task];
    expect(await ran(() => readResult(sandbox, echo, hook('run', args, reuse)))).toBe(1);
    expect(
      await ran(async () => {
        const again = await sandbox.call(echo, hook('run', args, reuse));
        expect(again).toEqual({ ok: true, value: { value: { x: task }, console: [], ms: 0, repeatable: true } });
      }),
    ).toBe(0);
  });

  test('gets an object of its own', async () => {
    const first = (await readResult(sandbox, echo, hook('run', ['mine'], reuse))) as { x: string };
    first.x = 'changed';
    expect(await readResult(sandbox, echo, hook('run', ['mine'], reuse))).toEqual({ x: 'mine' });
  });

  const others: [what: string, module: typeof echo, path: string, args: unknown[], options: object][] = [
    ['another argument', echo, 'run', [{ taskId: 'two' }], reuse],
    ['one more argument', echo, 'run', [{ taskId: 'one' }, 1], reuse],
    ['another hook', echo, 'twice', [{ taskId: 'one' }], reuse],
    ['another source', plugin(`${echo.source} // later`), 'run', [{ taskId: 'one' }], reuse],
    ['another limit of the result', echo, 'run', [{ taskId: 'one' }], { ...reuse, maxResultBytes: 100 }],
    ['a frozen clock', echo, 'run', [{ taskId: 'one' }], { ...reuse, unixNow: 5 }],
    ['a call that does not ask for it', echo, 'run', [{ taskId: 'one' }], {}],
  ];
  test.each(others)('runs the hook for %s', async (_, module, path, args, options) => {
    await readResult(sandbox, echo, hook('run', [{ taskId: 'one' }], reuse));
    expect(await ran(() => readResult(sandbox, module, hook(path, args, options)))).toBe(1);
  });

  test('runs the hook for another user whose task has other data', async () => {
    const task = (userId: number) => [{ taskId: `task of ${userId}`, data: { secret: `s-${userId}` } }];
    await readResult(sandbox, echo, hook('run', task(1), { ...reuse, owner: 'user:1' }));
    expect(await readResult(sandbox, echo, hook('run', task(2), { ...reuse, owner: 'user:2' }))).toEqual({
      x: task(2)[0],
    });
  });

  const unkept: [what: string, source: string][] = [
    ['that read the clock', 'export function run() { return Date.now() }'],
    ['that failed', "export function run() { throw new Error('no') }"],
    ['that wrote to the console', "export function run() { console.log('a'); return 1 }"],
    ['with a long result', "export function run() { return 'x'.repeat(20_000) }"],
  ];
  test.each(unkept)('runs the hook again after a call %s', async (_, source) => {
    const call = () => sandbox.call(plugin(source), hook('run', [], reuse));
    await call();
    expect(await ran(call)).toBe(1);
  });

  test('runs the hook again once its module is forgotten', async () => {
    const call = () => readResult(sandbox, echo, hook('run', ['kept'], reuse));
    await call();
    expect(await ran(call)).toBe(0);
    sandbox.forget(echo.sourceHash);
    expect(await ran(call)).toBe(1);
  });

  test('is refused like any other call of a suspended plugin', async () => {
    const limits = { processes: 1, callTimeoutMs: 1_500, killGraceMs: 50, killsToSuspend: 1 };
    const killing = startSandbox(limits);
    try {
      const module = plugin('export function run(stuck) { if (stuck) new Array(2 ** 32 - 1).includes(1); return 1 }');
      expect(await readResult(killing, module, hook('run', [false], reuse))).toBe(1);
      await killing.call(module, hook('run', [true]));
      const refused = await killing.call(module, hook('run', [false], reuse));
      expect(refused).toMatchObject({ ok: false, error: { kind: 'owner_refused' } });
    } finally {
      await killing.close();
    }
  });
});

describe('the memory of results', () => {
  const { toKey: digest } = createReusableResults();
  const keyFor = (name: string) =>
    digest({ sourceHash: 'source', path: ['run'], maxResultBytes: 1, args: JSON.stringify([name]) });

  test('stays within its limit', () => {
    const results = createReusableResults(100_000);
    for (let i = 0; i < 2_000; i++) results.keep(keyFor(`${i}`), 'x'.repeat(i % 300), 'source');
    expect(results.heldBytes()).toBeWithin(95_000, 100_001);
    expect(results.size()).toBeGreaterThan(250);
    for (let i = 0; i < 2_000; i++) {
      const found = results.find(keyFor(`${i}`));
      if (found !== undefined) expect(found).toBe('x'.repeat(i % 300));
    }
    results.forget('other');
    expect(results.size()).toBeGreaterThan(250);
    results.forget('source');
    expect([results.size(), results.heldBytes()]).toEqual([0, 0]);
  });

  test('counts two bytes for each character that is not Latin', () => {
    const [latin, other] = [createReusableResults(), createReusableResults()];
    latin.keep(keyFor('a'), 'é'.repeat(100), 'source');
    other.keep(keyFor('a'), '影'.repeat(100), 'source');
    expect(other.heldBytes() - latin.heldBytes()).toBe(100);
  });

  test('still helps when more tasks than it holds are polled in turn', () => {
    const results = createReusableResults(300_000);
    const keys = Array.from({ length: 1_500 }, (_, i) => keyFor(`${i}`));
    let found = 0;
    for (let round = 0; round < 20; round++) {
      for (const key of keys) {
        if (results.find(key) !== undefined) found += round >= 10 ? 1 : 0;
        else results.keep(key, 'x'.repeat(95), 'source');
      }
    }
    expect(results.size()).toBe(1_000);
    // The least recently used one would always be gone.
    expect(found / 15_000).toBeGreaterThan(0.3);
  });
});
