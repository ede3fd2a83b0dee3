import { expect, test } from 'bun:test';
import { batchCalls, err, nextTurn, ok } from '../../src/kernel/index.ts';

/** A batcher whose batches end when the test says so. */
function open({
  maxSize = 10,
  maxRunning = 1,
  readOwner = undefined as ((input: string) => unknown) | undefined,
} = {}) {
  const batches: { inputs: string[]; end: (error?: unknown) => void }[] = [];
  const call = batchCalls<string, string>({
    run: (inputs) =>
      new Promise((resolve, reject) => {
        const results = inputs.map((input) => (input === 'bad' ? err(new Error('bad')) : ok(`${input}!`)));
        const end = (error?: unknown) => (error === undefined ? resolve(results) : reject(error));
        batches.push({ inputs, end });
      }),
    ...{ maxSize, maxRunning, gather: nextTurn, readOwner },
    divide: (error) => (error === 'divisible' ? 'by_call' : undefined),
  });
  const running = () => batches.map(({ inputs }) => inputs.join(''));
  return { call, batches, running, end: (index: number, error?: unknown) => batches[index]?.end(error) };
}

test('calls that come while others run are one batch, and each gets its own result', async () => {
  const { call, running, end } = open();
  const first = [call('a'), call('bad')];
  await nextTurn();
  const later = [call('c'), call('d')];
  await nextTurn();
  expect(running()).toEqual(['abad']);
  end(0);
  const [a, bad] = await Promise.allSettled(first);
  expect([a, bad]).toMatchObject([{ value: 'a!' }, { reason: { message: 'bad' } }]);
  await nextTurn();
  expect(running()).toEqual(['abad', 'cd']);
  end(1);
  expect(await Promise.all(later)).toEqual(['c!', 'd!']);
});

test('a full batch does not wait for more, and what is beyond it comes in the next', async () => {
  const { call, running } = open({ maxSize: 3, maxRunning: 2 });
  for (const input of 'abcde') void call(input);
  await Promise.resolve();
  await Promise.resolve();
  expect(running()).toEqual(['abc']);
  await nextTurn();
  expect(running()).toEqual(['abc', 'de']);
});

test('calls of one owner never run in two batches; those of others pass them', async () => {
  const { call, running, end } = open({ maxRunning: 2, readOwner: (input) => input[0] });
  void call('a1');
  await nextTurn();
  void call('a2');
  void call('b1');
  await nextTurn();
  void call('c1');
  await nextTurn();
  expect(running()).toEqual(['a1', 'b1']);
  end(0);
  await nextTurn();
  await nextTurn();
  expect(running()).toEqual(['a1', 'b1', 'a2c1']);
});

test('a batch that fails for one call runs again, one call after the other; another failure is that of all', async () => {
  const { call, running, end } = open();
  const calls = [call('a'), call('b')];
  await nextTurn();
  end(0, 'divisible');
  await nextTurn();
  expect(running()).toEqual(['ab', 'a']);
  end(1);
  await nextTurn();
  expect(running()).toEqual(['ab', 'a', 'b']);
  end(2, 'divisible');
  expect(await Promise.allSettled(calls)).toMatchObject([{ value: 'a!' }, { reason: 'divisible' }]);
  const others = [call('c'), call('d')];
  await nextTurn();
  await nextTurn();
  end(3, 'away');
  expect(await Promise.allSettled(others)).toMatchObject([{ reason: 'away' }, { reason: 'away' }]);
});
