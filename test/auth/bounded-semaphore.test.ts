import { expect, test } from 'bun:test';
import { createBoundedSemaphore } from '../../src/auth/limits/limit-guesses.ts';
import { refusal } from './refusal.ts';

test('flood: a call beyond the full queue is refused with a retry time, and its work never starts', async () => {
  const semaphore = createBoundedSemaphore(1, 2);
  const started: number[] = [];
  const finish: (() => void)[] = [];
  const run = (number: number) =>
    semaphore(async () => {
      started.push(number);
      await new Promise<void>((resolve) => finish.push(resolve));
      return number;
    });

  const accepted = [run(0), run(1), run(2)];
  const error = await refusal(run(3), 'auth.unavailable');
  expect([error.kind, error.retryAfterSeconds]).toEqual(['unavailable', 5]);

  for (const pending of accepted) {
    finish.shift()?.();
    await pending;
  }
  expect(started).toEqual([0, 1, 2]);

  const later = run(4);
  finish.shift()?.();
  expect(await later).toBe(4);
});

test('the semaphore keeps its slots and its order, and a failure frees its slot', async () => {
  const semaphore = createBoundedSemaphore(3);
  const order: number[] = [];
  let running = 0;
  let most = 0;
  await Promise.allSettled(
    Array.from({ length: 30 }, (_, i) =>
      semaphore(async () => {
        order.push(i);
        running += 1;
        most = Math.max(most, running);
        await Bun.sleep(1);
        running -= 1;
        if (i % 3 === 0) throw new Error('failed');
      }),
    ),
  );
  expect(most).toBe(3);
  expect(order).toEqual(Array.from({ length: 30 }, (_, i) => i));
  expect(await semaphore(async () => 'right')).toBe('right');
});
