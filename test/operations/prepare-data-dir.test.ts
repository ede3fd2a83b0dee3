import { expect, test } from 'bun:test';
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareDataDir } from '../../src/operations/start/prepare-data-dir.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('the folder is created with mode 0700, without a trace of the probe', () => {
  const dir = join(temporaryFolder(), 'a', 'data');
  expect(prepareDataDir(dir)).toMatchObject({ path: dir, created: true });
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(readdirSync(dir)).toEqual([]);
  expect(prepareDataDir(dir).created).toBe(false);
});

test('a file in the way is named', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  expect(() => prepareDataDir(file)).toThrow(/there is a file with that name/);
  expect(() => prepareDataDir(join(file, 'data'))).toThrow(/a part of the path is a file/);
});

test('a folder that others can write gives a warning', () => {
  const dir = temporaryFolder();
  chmodSync(dir, 0o777);
  expect(prepareDataDir(dir).warnings).toEqual([expect.stringContaining('can be written by other users')]);
});

test.each([0o750, 0o755, 0o704])('a folder that others can read gives a warning (%d)', (mode) => {
  const dir = temporaryFolder();
  chmodSync(dir, mode);
  expect(prepareDataDir(dir).warnings).toEqual([expect.stringContaining('can be read by other users: chmod 700')]);
});

test('a read-only file system is named', () => {
  // sysfs refuses new folders, even to root.
  expect(() => prepareDataDir('/sys/taskgate-data')).toThrow(
    /the data directory \/sys\/taskgate-data cannot be used: /,
  );
});
