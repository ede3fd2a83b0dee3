import { expect, test } from 'bun:test';
import { boundedLabel } from '../../src/telemetry/metrics/bounded-label.ts';
import { readFromStore } from '../../src/telemetry/metrics/read-from-store.ts';

test('figures stay as they were while the database is unavailable or hangs, and a hanging read is shared', async () => {
  let reads = 0;
  let next: () => Promise<number> = () => Promise.reject(new Error('away'));
  const read = readFromStore(() => {
    reads += 1;
    return next();
  }, 20);
  expect(await read()).toBeUndefined();
  next = async () => 7;
  expect(await read()).toBe(7);
  next = () => Promise.reject(new Error('away'));
  expect(await read()).toBe(7);
  next = () => new Promise(() => {});
  expect(await Promise.all([read(), read(), read()])).toEqual([7, 7, 7]);
  expect(reads).toBe(4);
});

test('values beyond the limit share one label', () => {
  const label = boundedLabel(2);
  expect(['1', '2', '3', '1', '4'].map(label)).toEqual(['1', '2', 'other', '1', 'other']);
});
