/**
 * The way back to a copy of the database after a gateway was killed, and who follows whose links.
 */
import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import { addUser } from '../support/add-user.ts';
import { startGateway } from '../support/gateway.ts';
import { installedCopy, writeReleaseFolder } from '../support/release-folder.ts';
import { runCommand, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const path = (dataDir: string) => join(dataDir, 'taskgate.db');
const run = (dataDir: string, ...argv: string[]) => runCommand([...argv, '--json', '--data-dir', dataDir]);

/** Adds accounts as a command does beside a gateway, which leaves them in its log. */
async function addUsers(dataDir: string, count: number): Promise<void> {
  const deps = { clock: systemClock, logger: silentLogger };
  const store = await openStore({ databaseUrl: '', dataDir, synchronous: 'FULL', migrate: false, ...deps });
  for (let i = 0; i < count; i += 1) await addUser(store);
  await store.close();
}

function countUsers(file: string): number {
  const database = new Database(file, { readwrite: true });
  const [[count] = []] = database.query('select count(*) from users').values();
  database.close();
  return Number(count);
}

/** A data directory of a gateway that was killed with 44 users, and a copy with 4 of them. */
async function killedGateway(): Promise<{ dataDir: string; copy: string }> {
  const dataDir = temporaryFolder();
  await (await startGateway({ dataDir })).stop();
  await addUsers(dataDir, 4);
  const copy = join(dataDir, 'taskgate.db.before-0001_x');
  copyFileSync(path(dataDir), copy);
  const gateway = await startGateway({ dataDir });
  await addUsers(dataDir, 40);
  await gateway.kill();
  expect(statSync(`${path(dataDir)}-wal`).size).toBeGreaterThan(0);
  return { dataDir, copy };
}

async function startAndStop(dataDir: string): Promise<void> {
  await (await startGateway({ dataDir })).stop();
}

test('restore-copy after a kill: the copy is the database, and the former one is kept whole', async () => {
  const { dataDir, copy } = await killedGateway();
  const restored = await run(dataDir, 'restore-copy', copy);
  const { former } = JSON.parse(restored.out) as { former: string };
  expect([restored.code, former]).toEqual([0, expect.stringContaining('taskgate.db.replaced-')]);
  await startAndStop(dataDir);
  expect([countUsers(path(dataDir)), countUsers(former)]).toEqual([4, 44]);
});

test('a copy put over the database of a killed gateway by hand: the start says what to do', async () => {
  const { dataDir, copy } = await killedGateway();
  copyFileSync(copy, path(dataDir));
  const log = readFileSync(`${path(dataDir)}-wal`);
  const sentence = /taskgate\.db-wal belongs to another file .*taskgate restore-copy/;
  await expect(startGateway({ dataDir })).rejects.toThrow(sentence);
  for (const words of [
    ['doctor'],
    ['migrate', '--dry-run'],
    ['backup', 'create', '--to', '/tmp', '--without-secrets'],
  ]) {
    const refused = await run(dataDir, ...words);
    expect([refused.code, refused.out]).toEqual([1, expect.stringMatching(sentence)]);
  }
  const salvaged = join(temporaryFolder(), 'salvaged');
  expect((await run(dataDir, 'salvage', '--to', salvaged)).code).toBe(0);
  expect(countUsers(path(salvaged))).toBe(4);
  // None of these commands has replayed the log.
  expect(readFileSync(`${path(dataDir)}-wal`).equals(log)).toBe(true);
  // By the documents: all files of the database go, then the copy comes.
  const away = temporaryFolder();
  for (const ending of ['', '-wal', '-shm']) {
    if (existsSync(`${path(dataDir)}${ending}`)) renameSync(`${path(dataDir)}${ending}`, `${path(away)}${ending}`);
  }
  copyFileSync(copy, path(dataDir));
  await startAndStop(dataDir);
  expect(countUsers(path(dataDir))).toBe(4);
});

test('restore-copy killed at any moment leaves the old or the new database whole', async () => {
  const { dataDir, copy } = await killedGateway();
  const found: number[] = [];
  for (let delay = 0; delay < 12; delay += 1) {
    const each = temporaryFolder();
    for (const name of readdirSync(dataDir).filter((each) => /^taskgate\.db(?!-shm)|\.json$/.test(each))) {
      copyFileSync(join(dataDir, name), join(each, name));
    }
    const child = spawnCommand(['restore-copy', join(each, 'taskgate.db.before-0001_x'), '--data-dir', each]);
    await Bun.sleep(150 + delay * 15);
    child.kill('SIGKILL');
    await child.exited;
    const migrated = await run(each, 'migrate');
    expect([migrated.code, migrated.err]).toEqual([0, '']);
    found.push(countUsers(path(each)));
  }
  expect(found.every((count) => count === 4 || count === 44)).toBe(true);
  expect(existsSync(copy)).toBe(true);
});

test('restore-copy is refused beside a running gateway', async () => {
  const dataDir = temporaryFolder();
  const gateway = await startGateway({ dataDir });
  const copy = join(temporaryFolder(), 'copy.db');
  const file = new Database(path(dataDir), { readwrite: true });
  file.query('vacuum into ?').run(copy);
  file.close();
  const refused = await run(dataDir, 'restore-copy', copy);
  expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('Another gateway is running')]);
  expect(await gateway.stop()).toBe(0);
});

/** Whether this process may become another user; a container may forbid it. */
const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;

describe.skipIf(!IS_ROOT)('symbolic links of the service in a folder where root runs commands', () => {
  let program: string;

  beforeAll(() => {
    // Where the checkout lies, no other user may look.
    program = installedCopy();
    chmodSync(join(program, '..'), 0o755);
  });

  /** The folder of a service, whose user has put links to a file of root under `names`. */
  async function trap(...names: string[]): Promise<{ dataDir: string; target: string }> {
    const dataDir = temporaryFolder();
    await (await startGateway({ dataDir })).stop();
    const target = join(temporaryFolder(), 'of-root');
    for (const name of names) {
      rmSync(join(dataDir, name), { recursive: true, force: true });
      symlinkSync(target, join(dataDir, name));
    }
    for (const name of [...readdirSync(dataDir), '.']) {
      if (!lstatSync(join(dataDir, name)).isSymbolicLink()) chownSync(join(dataDir, name), NOBODY, NOBODY);
    }
    return { dataDir, target };
  }

  const asRoot = (dataDir: string, ...argv: string[]) =>
    runCommand([...argv, '--json', '--data-dir', dataDir], { program: [program], cwd: '/' });

  /** All that is in the folder belongs to its owner. */
  const strangersIn = (dataDir: string): string[] =>
    readdirSync(dataDir).filter((name) => lstatSync(join(dataDir, name)).uid === 0 && !isLink(dataDir, name));
  const isLink = (dataDir: string, name: string) => lstatSync(join(dataDir, name)).isSymbolicLink();

  test.each<[string, string[], (string | (() => string))[]]>([
    [
      'backup create',
      ['taskgate.backup', 'taskgate.backup.lock'],
      ['backup', 'create', '--without-secrets', '--to', 'PLACE'],
    ],
    ['migrate', ['taskgate.lock'], ['migrate']],
    ['doctor', ['taskgate.db-wal', 'taskgate.db-shm'], ['doctor']],
    ['admin', ['taskgate.db-wal'], ['admin', 'export-user', '--id', '1']],
    ['secrets rotate', ['secrets.json'], ['secrets', 'rotate', '--generate']],
    ['results accept-folder', ['results'], ['results', 'accept-folder']],
    ['restore-copy', ['taskgate.copy', 'taskgate.replacing.draft', 'taskgate.lock'], ['restore-copy', 'COPY']],
  ])('%s writes no file of root', async (_, names, words) => {
    const { dataDir, target } = await trap(...names);
    const place = join(dataDir, 'place');
    const argv = words.map((word) =>
      word === 'PLACE' ? place : word === 'COPY' ? join(dataDir, 'copy.db') : `${word}`,
    );
    copyFileSync(path(dataDir), join(dataDir, 'copy.db'));
    chownSync(join(dataDir, 'copy.db'), NOBODY, NOBODY);
    await asRoot(dataDir, ...argv);
    expect([existsSync(target), strangersIn(dataDir)]).toEqual([false, []]);
  });

  test('a file and a folder of root alone are refused with the user whom the command runs as', async () => {
    const { dataDir } = await trap();
    const ofRoot = temporaryFolder();
    copyFileSync(path(dataDir), join(ofRoot, 'copy.db'));
    writeFileSync(join(ofRoot, 'passphrase'), 'a passphrase of root alone\n', { mode: 0o600 });
    chmodSync(ofRoot, 0o700);
    for (const argv of [
      ['restore-copy', join(ofRoot, 'copy.db')],
      ['import', 'new-api', '--dry-run', '--from', join(ofRoot, 'copy.db')],
      ['backup', 'list', '--from', join(ofRoot, 'place')],
      ['backup', 'create', '--passphrase-file', join(ofRoot, 'passphrase'), '--to', join(dataDir, 'place')],
      ['backup', 'create', '--without-secrets', '--to', join(ofRoot, 'place')],
    ]) {
      const { code, out } = await asRoot(dataDir, ...argv);
      expect([argv[0], code]).toEqual([argv[0], 1]);
      expect(out).toContain(`EACCES`);
      expect(out).toContain(`runs as the user ${NOBODY}, who owns ${dataDir}`);
    }
  });

  test('backup restore writes no file of root', async () => {
    const from = temporaryFolder();
    const source = await trap();
    chownSync(from, NOBODY, NOBODY);
    chmodSync(from, 0o755);
    const made = await asRoot(source.dataDir, 'backup', 'create', '--without-secrets', '--to', from);
    expect([made.code, made.err]).toEqual([0, '']);
    const dataDir = temporaryFolder();
    const target = join(temporaryFolder(), 'of-root');
    symlinkSync(target, join(dataDir, 'taskgate.lock'));
    chownSync(dataDir, NOBODY, NOBODY);
    await asRoot(dataDir, 'backup', 'restore', '--without-secrets', '--from', from);
    expect([existsSync(target), strangersIn(dataDir)]).toEqual([false, []]);
  });

  test('upgrade copies the database as its owner, and replaces the executable as root', async () => {
    const release = await writeReleaseFolder({ version: '99.0.0' });
    const { dataDir, target } = await trap('taskgate.db.before-99.0.0.part');
    const own = installedCopy();
    const env = { UPGRADE_URL: release.folder, UPGRADE_PUBLIC_KEY: release.key.publicKey.text };
    const upgraded = await runCommand(['upgrade', '--json', '--data-dir', dataDir], { program: [own], env, cwd: '/' });
    expect([upgraded.code, upgraded.out, existsSync(target)]).toEqual([0, expect.any(String), false]);
    const copy = join(dataDir, 'taskgate.db.before-99.0.0');
    expect([statSync(copy).uid, statSync(own).uid, strangersIn(dataDir)]).toEqual([NOBODY, 0, []]);
  });

  test('a folder of root whose name is a link of another user is that user’s', async () => {
    const { dataDir } = await trap();
    const link = join(temporaryFolder(), 'data');
    chmodSync(join(link, '..'), 0o755);
    symlinkSync(dataDir, link);
    const lock = join(dataDir, 'taskgate.lock');
    rmSync(lock);
    expect((await asRoot(link, 'migrate')).code).toBe(0);
    expect(statSync(lock).uid).toBe(NOBODY);
  });

  test('where root cannot become the owner, the command is refused and says so', async () => {
    const { dataDir } = await trap();
    const prefix = ['setpriv', '--bounding-set', '-setuid,-setgid', '--inh-caps', '-setuid,-setgid'];
    const refused = await runCommand(['doctor', '--json', '--data-dir', dataDir], {
      program: [program],
      prefix,
      cwd: '/',
    });
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('root cannot become that user here')]);
  });
});
