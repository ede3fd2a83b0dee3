import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type Sentence, sentence, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createDiskWatch, type DiskReading } from '../../src/operations/watches/watch-disks.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function watch(
  options: { probe?: (path: string) => Promise<DiskReading>; databaseFault?: () => Sentence | undefined } = {},
) {
  return createDiskWatch({
    folders: [
      { name: 'data', path: temporaryFolder() },
      { name: 'uploads', path: temporaryFolder() },
    ],
    clock: systemClock,
    logger: silentLogger,
    databaseFault: () => undefined,
    isActive: () => false,
    ...options,
  });
}

test('a writable folder reports its free space and keeps no probe file', async () => {
  const path = temporaryFolder();
  const disks = createDiskWatch({
    folders: [{ name: 'data', path }],
    clock: systemClock,
    logger: silentLogger,
    databaseFault: () => undefined,
    isActive: () => false,
  });
  await disks.check();
  expect(disks.states()).toEqual([{ name: 'data', path, freeBytes: expect.any(Number) }]);
  expect(readdirSync(path)).toEqual([]);
  expect(disks.canStore()).toBe(true);
  expect(await disks.findFault()).toBeUndefined();
});

test('a removed folder is a fault until it is there again', async () => {
  const path = temporaryFolder();
  const disks = createDiskWatch({
    folders: [{ name: 'uploads', path }],
    clock: systemClock,
    logger: silentLogger,
    databaseFault: () => undefined,
    isActive: () => false,
  });
  await disks.check();
  rmSync(path, { recursive: true });
  writeFileSync(path, '');
  await disks.check();
  expect(disks.faults()).toMatchObject([{ message: 'The disk of the folder of uploads cannot be written (ENOTDIR).' }]);
  rmSync(path);
  mkdirSync(path);
  await disks.check();
  expect(disks.faults()).toEqual([]);
});

test('a full data directory stops readiness and polling; a full uploads folder only readiness', async () => {
  const faults: (Sentence | undefined)[] = [undefined, undefined];
  let probes = 0;
  const probe = async (): Promise<DiskReading> => {
    const fault = faults[probes++ % 2];
    return { freeBytes: 0, ...(fault === undefined ? {} : { fault }) };
  };
  const disks = watch({ probe });
  await disks.check();
  expect([disks.faults(), disks.low().length]).toEqual([[], 2]);
  faults[1] = sentence('disk.read_only');
  await disks.check();
  expect(disks.canStore()).toBe(true);
  expect((await disks.findFault())?.message).toBe('The disk of the folder of uploads is read-only.');
  faults[0] = sentence('disk.full');
  await disks.check();
  expect(disks.canStore()).toBe(false);
  expect((await disks.findFault())?.message).toBe('The disk of the data directory is full.');
  faults.fill(undefined);
  await disks.check();
  expect(disks.canStore()).toBe(true);
  expect(await disks.findFault()).toBeUndefined();
});

test('a folder that was never writable does not count: a node on PostgreSQL may have none', async () => {
  const disks = watch({ probe: async () => ({ fault: sentence('disk.full') }) });
  await disks.check();
  expect([disks.faults(), disks.states(), disks.canStore()]).toEqual([[], [], true]);
});

test("the database's write error counts even if the folder is writable", async () => {
  let fault: Sentence | undefined = sentence('store.read_only');
  const disks = watch({ databaseFault: () => fault });
  await disks.check();
  expect(disks.canStore()).toBe(false);
  expect((await disks.findFault())?.message).toBe(sentence('store.read_only').message);
  fault = undefined;
  expect(disks.canStore()).toBe(true);
});

test('readiness trusts no reading that is older than five seconds: an idle gateway checks less often', async () => {
  let fault: Sentence | undefined;
  let nowMs = 0;
  const disks = createDiskWatch({
    folders: [{ name: 'data', path: '/data' }],
    clock: { ...systemClock, monotonicMs: () => nowMs },
    logger: silentLogger,
    databaseFault: () => undefined,
    isActive: () => false,
    probe: async () => ({ freeBytes: 0, ...(fault === undefined ? {} : { fault }) }),
  });
  await disks.check();
  fault = sentence('disk.full');
  nowMs = 4000;
  expect(await disks.findFault()).toBeUndefined();
  nowMs = 5001;
  expect((await disks.findFault())?.message).toBe('The disk of the data directory is full.');
});
