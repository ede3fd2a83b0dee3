import { expect, test } from 'bun:test';
import { createLineBuffer } from '../../src/telemetry/logging/line-buffer.ts';
import { quietMs } from '../support/quiet-time.ts';
import { until } from '../support/until.ts';

const KIB = 1024;
const failure = (code: string) => Object.assign(new Error(code), { code });

/** A destination that takes `room` bytes more, then fails with `code`. */
function createDestination(room = Number.POSITIVE_INFINITY, code = 'EAGAIN') {
  const destination = {
    room,
    code,
    writes: [] as Buffer[],
    text: () => Buffer.concat(destination.writes).toString(),
    write(bytes: Uint8Array): number {
      if (destination.room === 0) throw failure(destination.code);
      const taken = Math.min(bytes.length, destination.room);
      destination.room -= taken;
      destination.writes.push(Buffer.from(bytes.subarray(0, taken)));
      return taken;
    },
  };
  return destination;
}

/** `dropped` writes a line, as the logger does. */
const open = (destination: { write(bytes: Uint8Array): number }) => {
  const lines = createLineBuffer(destination.write, (count) => lines.write(`dropped ${count}\n`));
  return lines;
};

const numbered = (from: number, to: number, width = 0) =>
  Array.from({ length: to - from }, (_, i) => `${from + i}${'.'.repeat(width)}\n`);

test('lines go out soon, in their order, in one write', async () => {
  const destination = createDestination();
  const lines = open(destination);
  for (const line of numbered(0, 100)) lines.write(line);
  expect(destination.writes).toEqual([]);
  await until('the lines are written', () => destination.writes.length > 0);
  expect(destination.writes).toHaveLength(1);
  expect(destination.text()).toBe(numbered(0, 100).join(''));
});

test('a full batch goes out at once', () => {
  const destination = createDestination();
  const lines = open(destination);
  for (const line of numbered(0, 64, KIB)) lines.write(line);
  expect(destination.writes).toHaveLength(1);
});

test('a reader that lags gets every byte once, within a character too', async () => {
  const destination = createDestination(1);
  const lines = open(destination);
  const sent = ['ä€😀\n', ...numbered(0, 1000, 100)];
  for (const line of sent) lines.write(line);
  while (destination.text() !== sent.join('')) {
    const before = destination.text().length;
    destination.room = 777;
    await until('more is written', () => destination.room === 0 || destination.text() === sent.join(''));
    expect(destination.text().length).toBeGreaterThan(before);
  }
});

test('what a blocked reader has no room for is dropped, counted and named in its place', async () => {
  const destination = createDestination(0);
  const lines = open(destination);
  const early = numbered(0, 2000, KIB);
  for (const line of early) lines.write(line);
  destination.room = Number.POSITIVE_INFINITY;
  await until('the lines are written', () => destination.writes.length > 0);
  lines.write('later\n');
  lines.flush();
  const written = destination.text().split('\n');
  const kept = written.findIndex((line) => line.startsWith('dropped'));
  expect(kept).toBeGreaterThan(900);
  expect(kept).toBeLessThan(1100);
  expect(written.slice(0, kept).map((line) => `${line}\n`)).toEqual(early.slice(0, kept));
  expect(written.slice(kept)).toEqual([`dropped ${2000 - kept}`, 'later', '']);
});

test('a full disk keeps the lines for later and holds the end of the process up no longer', async () => {
  const destination = createDestination(3, 'ENOSPC');
  const lines = open(destination);
  lines.write('first\n');
  expect(await quietMs(() => lines.flush(), { limitMs: 1000 })).toBeLessThan(1000);
  destination.room = 100;
  lines.write('second\n');
  lines.send();
  expect(destination.text()).toBe('first\nsecond\n');
});

test('a flush waits for a reader that lags', () => {
  let calls = 0;
  const written: string[] = [];
  const lines = open({
    write(bytes) {
      calls += 1;
      if (calls < 4) throw failure('EAGAIN');
      written.push(Buffer.from(bytes).toString());
      return bytes.length;
    },
  });
  lines.write('last\n');
  lines.flush();
  expect(written).toEqual(['last\n']);
});
