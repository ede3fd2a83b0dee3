import { expect, test } from 'bun:test';
import { createQueueLimit } from '../../src/auth/limits/limit-password-hashing.ts';
import { refusal } from './refusal.ts';

test('flood: who comes when the queue is full is told to come back, and nothing of his begins', async () => {
  const gate = createQueueLimit(1, 2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const enter = (number: number) =>
    gate(async () => {
      begun.push(number);
      await new Promise<void>((resolve) => ends.push(resolve));
      return number;
    });

  const admitted = [enter(0), enter(1), enter(2)];
  const error = await refusal(enter(3), 'auth.unavailable');
  expect([error.kind, error.retryAfterSeconds]).toEqual(['unavailable', 5]);

  for (const pending of admitted) {
    ends.shift()?.();
    await pending;
  }
  expect(begun).toEqual([0, 1, 2]);

  const later = enter(4);
  ends.shift()?.();
  expect(await later).toBe(4);
});
