import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { catchFailure, hook, plugin, readResult, startSandbox } from './start-sandbox.ts';

/**
 * Waiting calls of a quick plugin are sent to a process as a batch. Callers must not see a
 * difference.
 */
const source = `
  let seen = 0;
  export function id(x) { return x }
  export function other(x) { return [x] }
  export function remember(x) { seen++; console.log('call', x); return [seen, x] }
  export function refuse(x) { if (x % 3 === 0) throw new Error('no ' + x); return x }
  export function text(length, x) { return x.repeat(length) }
  export function nothing() {}
  export function random() { return Math.random() }
  export function grow(x) { const kept = []; for (let i = 0; i < 300; i++) kept.push(new Uint8Array(65536).fill(i)); return x }
  export function stuckOn(bad, x) { return x === bad ? new Array(2 ** 32 - 1).includes(1) : x }
  export function endless(bad, x) { while (x === bad); return x }
  export function nap(ms, x) { const end = Date.now() + ms; while (Date.now() < end); return x }
  export function slowOn(every, x) { const end = Date.now() + 10; while (x % every === 0 && Date.now() < end); return x }`;
const quick = plugin(source, 'quick');
const numbers = Array.from({ length: 100 }, (_, i) => i);

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = startSandbox();
  await warm(sandbox);
});
afterAll(() => sandbox.close());
/** Calls of a plugin are batched while its last call took less than this many ms. */
const QUICK_MS = 5;
/** Calls the plugin until a call was quick, which may take several tries on a busy machine. */
async function warm(pool: Sandbox): Promise<void> {
  for (;;) {
    const outcome = await pool.call(quick, hook('id', [1]));
    if (!outcome.ok) throw new Error(outcome.error.message);
    if (outcome.value.ms < QUICK_MS) return;
  }
}
const call = (name: string, ...args: unknown[]) => sandbox.call(quick, hook(name, args));

test('each call has its own arguments, state, console and result', async () => {
  const outcomes = await Promise.all(numbers.map((i) => call('remember', i)));
  for (const [i, outcome] of outcomes.entries()) {
    expect(outcome).toMatchObject({ ok: true, value: { value: [1, i], console: [`call ${i}`] } });
  }
  expect(new Set(await Promise.all(numbers.map(() => readResult(sandbox, quick, hook('random'))))).size).toBe(100);
});

test('a failing call fails alone', async () => {
  const outcomes = await Promise.all(numbers.map((i) => call('refuse', i)));
  for (const [i, outcome] of outcomes.entries()) {
    if (i % 3) expect(outcome).toMatchObject({ ok: true, value: { value: i } });
    else expect(outcome).toMatchObject({ ok: false, error: { kind: 'thrown', message: `no ${i}` } });
  }
});

test('each caller gets its own result: newer hooks, non-ASCII text, none, long ones', async () => {
  const words = ['a', 'é', '„', '\u{1F600}', '\ud800', '\\', '"', '\u0000'];
  const outcomes = await Promise.all(
    numbers.map(async (i) => {
      const word = words[i % words.length] as string;
      if (i % 5 === 0) return (await readResult(sandbox, quick, hook('nothing'))) === undefined;
      if (i % 7 === 0) return ((await readResult(sandbox, quick, hook('other', [word]))) as string[])[0] === word;
      const length = i % 11 === 0 ? 50_000 : i;
      return (await readResult(sandbox, quick, hook('text', [length, word]))) === word.repeat(length);
    }),
  );
  expect(outcomes).toEqual(numbers.map(() => true));
});

test('a guest that is dropped for its memory is loaded again for the next call', async () => {
  const some = numbers.slice(0, 20);
  expect(await Promise.all(some.map((i) => readResult(sandbox, quick, hook('grow', [i]))))).toEqual(some);
});

test('finished calls do not wait for a slow one, and each call is made once', async () => {
  await warm(sandbox);
  const order: number[] = [];
  const results = await Promise.all(
    numbers.map(async (i) => {
      const result = await readResult(sandbox, quick, hook('slowOn', [10, i]));
      order.push(i);
      return result;
    }),
  );
  expect([results, order.length]).toEqual([numbers, 100]);
});

test.each(['stuckOn', 'endless'])('an endless call is stopped, and the others get their results (%s)', async (name) => {
  const strict = startSandbox({ callTimeoutMs: 2_000 });
  await warm(strict);
  const outcomes = await Promise.all(numbers.map((i) => strict.call(quick, hook(name, [42, i]))));
  await strict.close();
  for (const [i, outcome] of outcomes.entries()) {
    if (i !== 42) expect(outcome).toMatchObject({ ok: true, value: { value: i } });
    else expect(outcome).toMatchObject({ ok: false, error: { kind: name === 'stuckOn' ? 'killed' : 'timeout' } });
  }
});

test('a kill in a batch counts against no owner; when the calls are sent one by one, only the killed one counts', async () => {
  const strict = startSandbox({ processes: 1, callTimeoutMs: 2_000, killsToSuspend: 1 });
  try {
    await warm(strict);
    for (const owner of ['user:2', 'user:3']) await readResult(strict, quick, hook('id', [1], { owner }));
    const before = strict.call(plugin(source, 'another'), hook('nap', [50, 0]));
    const outcomes = await Promise.all(
      [1, 2, 3].map((i) => strict.call(quick, hook('stuckOn', [2, i], { owner: `user:${i}` }))),
    );
    expect((await before).ok).toBe(true);
    expect(outcomes.map((outcome) => outcome.ok || outcome.error.kind)).toEqual([true, 'killed', true]);
    expect(strict.stats()).toMatchObject({ suspended: [], killCounts: [{ owner: 'user', kills: 1 }] });
    const next = (owner: string) => strict.call(quick, hook('id', [1], { owner }));
    expect((await catchFailure(next('user:2'))).kind).toBe('owner_refused');
    for (const owner of ['user:1', 'user:3']) expect((await next(owner)).ok).toBe(true);
  } finally {
    await strict.close();
  }
});

test('calls that a slow one returned to the queue end with their admission time or signal', async () => {
  const single = startSandbox({ processes: 1 });
  const caller = new AbortController();
  try {
    await warm(single);
    const nap = (ms: number, x: number, options = {}) => single.call(quick, hook('nap', [ms, x], options));
    const before = single.call(plugin(source, 'another'), hook('nap', [50, 0]));
    // Sent as a batch. All but the first return to the queue, behind the second.
    const first = nap(30, 0);
    const second = nap(1_200, 1);
    const impatient = catchFailure(nap(0, 2, { admissionTimeoutMs: 600 }));
    const left = catchFailure(nap(0, 3, { signal: caller.signal }));
    const last = nap(0, 4);
    expect([(await before).ok, (await first).ok]).toEqual([true, true]);
    caller.abort();
    const order: string[] = [];
    const note = async (what: string, outcome: Promise<unknown>) => {
      await outcome;
      order.push(what);
    };
    await Promise.all([note('left', left), note('impatient', impatient), note('second', second), note('last', last)]);
    expect(order.slice(0, 2).sort()).toEqual(['impatient', 'left']);
    expect(order.slice(2)).toEqual(['second', 'last']);
    expect([(await left).kind, (await impatient).kind]).toEqual(['overloaded', 'overloaded']);
    expect(await last).toMatchObject({ ok: true, value: { value: 4 } });
  } finally {
    await single.close();
  }
});

test('versions of a plugin are never mixed', async () => {
  const newer = { ...plugin(source.replace("'no '", "'never '"), 'quick'), version: '2.0.0' };
  const outcomes = await Promise.all(numbers.map((i) => sandbox.call(i % 2 ? newer : quick, hook('refuse', [i * 3]))));
  for (const [i, outcome] of outcomes.entries())
    expect(outcome).toMatchObject({ ok: false, error: { message: `${i % 2 ? 'never' : 'no'} ${i * 3}` } });
});
