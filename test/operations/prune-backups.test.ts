/** What the daily backup removes from its location, and what it leaves there. */
import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../src/app/config/config-variables.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openBackupLocation } from '../../src/operations/backup/backup-location.ts';
import { copyResults, keepResults } from '../../src/operations/backup/create-backup.ts';
import { findBackup, findBackupToRestore } from '../../src/operations/backup/manifest.ts';
import { pruneBackups } from '../../src/operations/backup/prune-backups.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const NOW = Date.UTC(2026, 4, 10, 12) / 1000;
const DAY = 86_400;
const ONE_OF_EACH = { daily: 1, weekly: 0, monthly: 0 };

const sha256 = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex');
const idFor = (day: number) => `202605${String(day).padStart(2, '0')}T030000Z-AAAAAA`;

function openFolder() {
  const folder = join(temporaryFolder(), 'backups');
  mkdirSync(folder);
  const deps = { config: {} as Config, clock: systemClock, logger: silentLogger };
  const location = openBackupLocation(deps, { kind: 'folder', path: folder });
  return {
    location,
    prune: () => pruneBackups(location, { keep: ONE_OF_EACH, installation: 'a', now: NOW }),
    /** The kept result with this content, last changed this many days ago; returns its path. */
    async keep(content: string, days: number): Promise<string> {
      const source = new Blob([content]).stream();
      await location.results.put(source, { maxBytes: 1000, signal: new AbortController().signal });
      const digest = sha256(content);
      const [path] = [...new Bun.Glob(`results/**/${digest}`).scanSync({ cwd: folder, absolute: true })];
      if (path === undefined) throw new Error('the file of the result is not where the test looks');
      utimesSync(path, NOW - days * DAY, NOW - days * DAY);
      return path;
    },
    backUp(
      day: number,
      contents: readonly string[],
      { manifest = true, trigger = 'schedule', installation = 'a' } = {},
    ): void {
      const id = idFor(day);
      mkdirSync(join(folder, id));
      const list = contents.map((each) => `${sha256(each)} ${each.length}\n`).sort();
      const results = list.join('');
      writeFileSync(join(folder, id, 'results.txt'), results);
      writeFileSync(join(folder, id, 'database.dump'), 'x');
      if (!manifest) return;
      const partFor = (file: string, text: string) => ({ file, bytes: text.length, sha256: sha256(text) });
      const text = JSON.stringify({
        ...{ format: 1, id, created_at: NOW - (10 - day) * DAY, trigger, version: '1.0.0', installation },
        database: { kind: 'postgres', migration: 1, ...partFor('database.dump', 'x'), unpacked: null },
        counts: { users: 0, tasks: 0, ledger_entries: 0, ledger_sum: '0' },
        secrets: null,
        results: { ...partFor('results.txt', results), count: contents.length, total_bytes: 1, missing: 0 },
      });
      writeFileSync(join(folder, id, 'manifest.json'), text);
    },
    /** The file system answers neither that it is there nor that it is not. */
    hideManifest(day: number): void {
      const path = join(folder, idFor(day), 'manifest.json');
      rmSync(path);
      symlinkSync(path, path);
    },
    damage: (day: number) => writeFileSync(join(folder, idFor(day), 'manifest.json'), '{'),
    ids: () =>
      readdirSync(folder)
        .filter((name) => name !== 'results')
        .sort(),
  };
}

test('backups that need not stay go, with the results that only they list', async () => {
  const location = openFolder();
  const [shared, old, fresh] = [
    await location.keep('shared', 30),
    await location.keep('old', 30),
    // That of a backup in the making, which has no list yet.
    await location.keep('fresh', 1),
  ];
  location.backUp(1, ['shared', 'old'], { trigger: 'schedule' });
  location.backUp(2, ['shared'], { trigger: 'manual' });
  location.backUp(9, ['shared']);
  expect(await location.prune()).toBe(1);
  expect(location.ids()).toEqual([idFor(2), idFor(9)]);
  expect([existsSync(shared), existsSync(old), existsSync(fresh)]).toEqual([true, false, true]);
  expect(await location.prune()).toBe(0);
});

test('what an interrupted backup left goes after two days', async () => {
  const location = openFolder();
  location.backUp(7, [], { manifest: false });
  location.backUp(9, []);
  location.backUp(10, [], { manifest: false });
  expect(await location.prune()).toBe(0);
  expect(location.ids()).toEqual([idFor(9), idFor(10)]);
});

test('while a manifest cannot be read, no result goes: it may be listed there', async () => {
  const location = openFolder();
  const old = await location.keep('old', 30);
  location.backUp(1, ['old']);
  location.backUp(2, ['old']);
  location.backUp(9, []);
  location.damage(2);
  expect(await location.prune()).toBe(1);
  expect(location.ids()).toEqual([idFor(2), idFor(9)]);
  expect(existsSync(old)).toBe(true);
});

test('a backup whose manifest cannot be read for a moment does not count as unfinished', async () => {
  const location = openFolder();
  for (const day of [1, 2, 9]) location.backUp(day, []);
  location.hideManifest(1);
  await expect(location.prune()).rejects.toThrow('cannot be read');
  expect(location.ids()).toEqual([idFor(1), idFor(2), idFor(9)]);
});

test('backups of another installation in the same location stay, with their results', async () => {
  const location = openFolder();
  const theirs = await location.keep('theirs', 30);
  location.backUp(1, ['theirs'], { installation: 'b' });
  location.backUp(2, ['theirs'], { installation: 'b' });
  location.backUp(3, []);
  location.backUp(9, []);
  expect(await location.prune()).toBe(1);
  expect(location.ids()).toEqual([idFor(1), idFor(2), idFor(9)]);
  expect(existsSync(theirs)).toBe(true);
});

test('while a backup may be in the making, no result goes: it counts on what it found', async () => {
  const location = openFolder();
  const counted = await location.keep('counted', 30);
  location.backUp(1, ['counted']);
  location.backUp(9, []);
  location.backUp(10, [], { manifest: false });
  expect(await location.prune()).toBe(1);
  expect([location.ids(), existsSync(counted)]).toEqual([[idFor(9), idFor(10)], true]);
});

test('two installations in one location: a backup that begins while another prunes keeps its files', async () => {
  const opened = openFolder();
  const shared = await opened.keep('shared', 30);
  opened.backUp(1, ['shared']);
  opened.backUp(9, []);
  const list = opened.location.results.list;
  // The other one begins after the backups were listed, finds the file, and counts on it.
  opened.location.results.list = (after, limit) => {
    if (after === '') opened.backUp(10, ['shared'], { installation: 'b' });
    return list(after, limit);
  };
  await opened.prune();
  expect(existsSync(shared)).toBe(true);
});

test('two installations in one location: what another removes after it was found is copied again', async () => {
  const { location, keep } = openFolder();
  const source = openFolder();
  await keep('kept', 30);
  await source.keep('kept', 30);
  const deps = { location, config: { dataDir: temporaryFolder() } as Config, clock: systemClock, logger: silentLogger };
  const made = { ...deps, version: '1.2.3', signal: new AbortController().signal };
  const wanted = async function* () {
    yield { sha256: sha256('kept'), bytes: 4 };
  };
  const input = { id: idFor(10), from: source.location.results };
  const results = await copyResults(made, { ...input, wanted: wanted() });
  await location.results.delete(sha256('kept'));
  await keepResults(made, { ...input, results });
  expect(await location.results.size(sha256('kept'))).toBe(4);
  for (const each of [location, source.location]) await each.results.delete(sha256('kept'));
  await expect(keepResults(made, { ...input, results })).rejects.toThrow('was removed from');
});

test('a backup that a wrong clock dated ahead is not the newest', async () => {
  const { location, backUp } = openFolder();
  backUp(9, []);
  backUp(8, []);
  backUp(20, []);
  expect((await findBackup(location, { id: undefined, now: NOW })).id).toBe(idFor(9));
  expect((await findBackup(location, { id: idFor(20), now: NOW })).id).toBe(idFor(20));
  expect((await findBackupToRestore(location, { id: undefined, now: NOW })).id).toBe(idFor(9));
});

test('where several gateways have their backups, none is restored without being named', async () => {
  const { location, backUp } = openFolder();
  backUp(7, []);
  backUp(8, []);
  backUp(9, [], { installation: 'a copy of it' });
  const refusal = `holds backups of 2 gateways: choose one with --id. The newest of each: ${idFor(9)} (0 tasks), ${idFor(8)} (0 tasks)`;
  await expect(findBackupToRestore(location, { id: undefined, now: NOW })).rejects.toThrow(refusal);
  expect((await findBackupToRestore(location, { id: idFor(8), now: NOW })).id).toBe(idFor(8));
  expect((await findBackup(location, { id: undefined, now: NOW })).id).toBe(idFor(9));
});
