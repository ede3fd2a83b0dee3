import { expect, test } from 'bun:test';
import { shareWait } from '../../src/kernel/index.ts';

test('all who ask while a wait lasts share it, and the next one begins another', async () => {
  const waits: (() => void)[] = [];
  const wait = shareWait(() => new Promise((resolve) => waits.push(resolve)));
  const done: string[] = [];
  const note = (name: string) => wait().then(() => done.push(name));
  const first = [note('a'), note('b')];
  await Promise.resolve();
  expect([waits.length, done]).toEqual([1, []]);
  waits[0]?.();
  await Promise.all(first);
  expect(done).toEqual(['a', 'b']);
  const second = note('c');
  expect(waits).toHaveLength(2);
  waits[1]?.();
  await second;
});
