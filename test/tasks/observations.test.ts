import { describe, expect, test } from 'bun:test';
import { createObservationLimit, observeTask } from '../../src/tasks/observation/limit-observations.ts';

const LIMITS = { node: 5, plugin: 4, user: 3, key: 2 };
const observer = (pluginKey: string, userId: number, keyId: number | null) => ({ pluginKey, userId, keyId });

describe('concurrent observations are limited', () => {
  test.each([
    ['by one key', 2, (_: number) => observer('a', 1, 1), observer('a', 1, 2)],
    ['by one user', 3, (i: number) => observer('a', 1, i), observer('a', 2, 9)],
    ['without a key, by one user', 3, (_: number) => observer('a', 1, null), observer('a', 2, null)],
    ['for one plugin', 4, (i: number) => observer('a', i, i), observer('b', 9, 9)],
    ['on one node', 5, (i: number) => observer(`p${i}`, i, i), undefined],
  ])('%s: at most %d', (_, max, next, another) => {
    const limit = createObservationLimit(LIMITS);
    const releases = Array.from({ length: max }, (_, i) => limit.acquire(next(i)));
    const refusal = { code: 'tasks.rate_limit_exceeded', kind: 'rate_limited' };
    const refused = () => {
      try {
        limit.acquire(next(max));
      } catch (error) {
        return error;
      }
      return undefined;
    };
    expect(refused()).toMatchObject(refusal);
    // A refusal takes no slot.
    if (another) limit.acquire(another)();
    releases[0]?.();
    releases[0]?.();
    limit.acquire(next(0));
    expect(refused()).toMatchObject(refusal);
  });
});

test('an observation of a task does not count while the task waits', () => {
  const limit = createObservationLimit({ node: 1, plugin: 1, user: 1, key: 1 });
  const [one, other] = [observeTask(limit, observer('a', 1, 1)), observeTask(limit, observer('a', 1, 1))];
  const [waiting, sending, ended] = (['waiting', 'sending', 'ended'] as const).map((phase) =>
    phase === 'ended'
      ? { status: 'FAILURE' as const, phase: 'sending' as const }
      : { status: 'NOT_START' as const, phase },
  ) as [never, never, never];
  one.see(waiting);
  other.see(waiting);
  one.see(sending);
  expect(() => other.see(sending)).toThrow('waiting for tasks at once');
  other.see(ended);
  one.see(waiting);
  other.see(sending);
  other.end();
  one.see(sending);
  one.end();
});
