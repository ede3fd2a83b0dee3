import { expect, test } from 'bun:test';
import { newRelayId, newTaskId } from '../../src/kernel/index.ts';

test('ids of tasks and relayed requests follow each other in the order of their time', () => {
  const times = [0, 1, 35, 36, 1_600_000_000_000, 1_600_000_000_001, 1_800_000_000_000, 36 ** 9 - 1];
  for (const [newId, pattern] of [
    [newTaskId, /^task_[A-Za-z0-9]{32}$/],
    [newRelayId, /^relay_[A-Za-z0-9]{32}$/],
  ] as const) {
    const ids = times.map((ms) => newId(ms));
    for (const id of ids) expect(id).toMatch(pattern);
    expect(ids.toSorted()).toEqual(ids);
    expect(ids.toSorted((a, b) => a.localeCompare(b))).toEqual(ids);
    expect(newId(1)).not.toBe(newId(1));
  }
});
