import { expect, test } from 'bun:test';
import { createSemaphore } from '../../src/kernel/index.ts';

test('works run one at a time, in the order of the calls', async () => {
  const mutex = createSemaphore();
  const events: string[] = [];
  const work = (name: string, ms: number) => async () => {
    events.push(`${name} begins`);
    await Bun.sleep(ms);
    events.push(`${name} ends`);
    return name;
  };
  expect(await Promise.all([mutex.run(work('a', 5)), mutex.run(work('b', 0))])).toEqual(['a', 'b']);
  expect(events).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
});

test('a job that rejects does not stop the next one', async () => {
  const mutex = createSemaphore();
  const failed = mutex.run(() => Promise.reject(new Error('no')));
  const next = mutex.run(async () => 'next');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('next');
});
