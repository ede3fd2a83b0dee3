import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutNotes } from '../../scripts/release/cut-notes.ts';
import { compress } from '../../scripts/release/pack-archive.ts';
import { writeChecksums } from '../../scripts/release/write-checksums.ts';
import { writeTar } from '../../scripts/release/write-tar.ts';
import { writeZip } from '../../scripts/release/write-zip.ts';
import { unpackExecutable } from '../../src/operations/upgrade/swap-executable.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const TIME = 1_700_000_000;
const program = Buffer.from('the program '.repeat(1000));
const files = (executable: string) => [
  { path: `taskgate-1.0.0/${executable}`, content: program, mode: 0o755 },
  { path: 'taskgate-1.0.0/data/', content: new Uint8Array(), mode: 0o755 },
  { path: 'taskgate-1.0.0/LICENSE', content: Buffer.from('free'), mode: 0o644 },
];

const run = (...[command = '', ...args]: string[]) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, TZ: 'UTC' } });
  return { status, text: stdout + stderr };
};

test('a tar archive is what tar reads, in order, with modes and times, and the same each time', () => {
  const tar = writeTar(files('taskgate'), TIME);
  expect(writeTar(files('taskgate').reverse(), TIME)).toEqual(tar);
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'a.tar.gz'), compress(tar));
  const listed = run('tar', '-tzvf', join(folder, 'a.tar.gz'));
  expect(
    listed.text
      .trim()
      .split('\n')
      .map((line) => line.replaceAll(/\s+/g, ' ')),
  ).toEqual([
    '-rw-r--r-- root/root 4 2023-11-14 22:13 taskgate-1.0.0/LICENSE',
    'drwxr-xr-x root/root 0 2023-11-14 22:13 taskgate-1.0.0/data/',
    '-rwxr-xr-x root/root 12000 2023-11-14 22:13 taskgate-1.0.0/taskgate',
  ]);
  expect(run('tar', '-xzf', join(folder, 'a.tar.gz'), '-C', folder).status).toBe(0);
  expect(readFileSync(join(folder, 'taskgate-1.0.0/taskgate')).equals(program)).toBe(true);
});

test('a zip archive is what other programs read, with modes, and the same each time', () => {
  const zip = writeZip(files('taskgate.exe'), TIME);
  expect(writeZip(files('taskgate.exe').reverse(), TIME)).toEqual(zip);
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'a.zip'), zip);
  mkdirSync(join(folder, 'out'));
  const unpack = `import zipfile; zip = zipfile.ZipFile('${folder}/a.zip'); assert zip.testzip() is None; zip.extractall('${folder}/out'); print([oct(entry.external_attr >> 16) for entry in zip.infolist()], zip.infolist()[0].date_time)`;
  expect(run('python3', '-c', unpack)).toEqual({
    status: 0,
    text: "['0o100644', '0o100755', '0o100755'] (2023, 11, 14, 22, 13, 20)\n",
  });
  expect(statSync(join(folder, 'out/taskgate-1.0.0/taskgate.exe')).size).toBe(program.length);
});

test('an upgrade finds the executable in either archive, and nothing in a broken one', () => {
  const tar = compress(writeTar(files('taskgate'), TIME));
  const zip = writeZip(files('taskgate.exe'), TIME);
  expect(unpackExecutable(tar, 'a.tar.gz')).toEqual(program);
  expect(unpackExecutable(zip, 'a.zip')).toEqual(program);
  expect(unpackExecutable(tar.subarray(0, 50), 'a.tar.gz')).toBeUndefined();
  expect(unpackExecutable(zip.subarray(0, 80), 'a.zip')).toBeUndefined();
  expect(unpackExecutable(compress(writeTar(files('other'), TIME)), 'a.tar.gz')).toBeUndefined();
});

test('sha256sum finds the checksums right', () => {
  const folder = temporaryFolder();
  for (const name of ['b', 'a']) writeFileSync(join(folder, name), name);
  writeChecksums(['b', 'a'], folder);
  expect(run('sh', '-c', `cd ${folder} && sha256sum --check SHA256SUMS`)).toEqual({
    status: 0,
    text: 'a: OK\nb: OK\n',
  });
});

test('the notes of a version are its section of the changelog', () => {
  const changelog = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- b\n\n## [1.0.0] - 2026-01-01\n\n- a\n';
  expect(cutNotes(changelog, 'Unreleased')).toBe('### Added\n\n- b\n');
  expect(cutNotes(changelog, '1.0.0')).toBe('- a\n');
  expect(() => cutNotes(changelog, '2.0.0')).toThrow('says nothing about 2.0.0');
});
