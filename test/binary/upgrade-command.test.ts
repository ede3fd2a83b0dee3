import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { generateSigningKey } from '../../src/plugins/index.ts';
import { databaseVersion } from '../../src/store/index.ts';
import { listChildren } from '../support/child-processes.ts';
import { testInFullRun } from '../support/full-run.ts';
import { startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import {
  fakeExecutable,
  installedCopy,
  type ReleaseFolder,
  signFolder,
  writeReleaseFolder,
} from '../support/release-folder.ts';
import { BINARY, runCommand, SECRETS, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const NEXT = '99.0.0';
let release: ReleaseFolder;
let dataDir: string;

beforeAll(async () => {
  release = await writeReleaseFolder({ version: NEXT });
  dataDir = temporaryFolder();
  const gateway = await startGateway({ dataDir });
  await gateway.stop();
});

type Upgrade = { path: string; from?: ReleaseFolder; key?: string; dataDir?: string };

const upgrade = ({ path, from = release, key = from.key.publicKey.text, ...rest }: Upgrade, ...argv: string[]) =>
  runCommand(['upgrade', '--json', '--data-dir', rest.dataDir ?? dataDir, ...argv], {
    program: [path],
    env: { UPGRADE_URL: from.folder, UPGRADE_PUBLIC_KEY: key },
  });

const readVersion = async (path: string): Promise<string> =>
  (JSON.parse((await runCommand(['version', '--json'], { program: [path] })).out) as { version: string }).version;

/** A program of that version whose dry run prints `text`. */
const answering = (text: string): string => `#!/bin/sh
if [ "$1" = version ]; then echo '{"name":"taskgate","version":"${NEXT}","database":20}'; else echo '${text}'; fi
`;

const copies: string[] = [];
const install = (): string => {
  const path = installedCopy();
  copies.push(path);
  return path;
};
afterAll(() => {
  for (const path of copies) rmSync(dirname(path), { recursive: true, force: true });
});

/** The new executable that an upgrade writes beside the current one. */
const nextFor = (path: string): string | undefined => {
  const name = readdirSync(dirname(path)).find((each) => each.startsWith('taskgate.next'));
  return name && join(dirname(path), name);
};

/** Nothing beside the executable, and it is what it was. */
async function expectUntouched(path: string): Promise<void> {
  expect(nextFor(path)).toBeUndefined();
  expect(existsSync(join(dirname(path), 'taskgate.previous'))).toBe(false);
  expect(statSync(path).size).toBe(statSync(BINARY).size);
}

test('a newer release is found, takes the place of the executable after a backup, and keeps the former one', async () => {
  const path = install();
  const former = await readVersion(path);
  const check = await upgrade({ path }, '--check');
  expect([check.code, JSON.parse(check.out)]).toMatchObject([0, { available: true, release: NEXT, version: former }]);
  await expectUntouched(path);

  const done = await upgrade({ path });
  expect([done.code, JSON.parse(done.out)]).toMatchObject([0, { version: NEXT, former }]);
  expect(await readVersion(path)).toBe(NEXT);
  expect(statSync(path).mode & 0o777).toBe(0o755);
  const { backup, previous } = JSON.parse(done.out) as { backup: string; previous: string };
  expect(statSync(backup).mode & 0o777).toBe(0o600);
  expect(await readVersion(previous)).toBe(former);
});

testInFullRun('where BACKUP_TO is set, it makes a backup there, and says what is missing in it', async () => {
  const path = install();
  const place = temporaryFolder();
  const { code, out, err } = await runCommand(['upgrade', '--json', '--data-dir', dataDir], {
    program: [path],
    env: { UPGRADE_URL: release.folder, UPGRADE_PUBLIC_KEY: release.key.publicKey.text, BACKUP_TO: place },
  });
  expect([code, err]).toEqual([0, '']);
  const { backup, warnings } = JSON.parse(out) as { backup: string; warnings: string[] };
  const [, id = ''] = /^backup (\S+)$/.exec(backup) ?? [];
  // Nothing is set that would encrypt them.
  expect(warnings).toEqual([expect.stringContaining('secrets')]);
  expect(existsSync(join(place, id, 'manifest.json'))).toBe(true);
});

test('settings that lead to no database stop it: nothing would be backed up', async () => {
  const path = install();
  const nowhere = join(temporaryFolder(), 'nowhere');
  for (const argv of [[], ['--no-backup'], ['--back']]) {
    const { code, out } = await upgrade({ path, dataDir: nowhere }, ...argv);
    if (argv[0] === '--no-backup') {
      expect(code).toBe(0);
      // As --back expects it: the former one is there.
      copyFileSync(BINARY, path);
    } else {
      expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining(`no database in ${nowhere}`)]);
    }
  }
});

testInFullRun('an upgrade beside a running gateway does not disturb it', async () => {
  const path = install();
  const running = await startGateway({ program: [path] });
  try {
    const done = await upgrade({ path, dataDir: running.dataDir });
    expect([done.code, done.err]).toEqual([0, '']);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(await readVersion(path)).toBe(NEXT);
  } finally {
    await running.stop();
  }
});

test.skipIf(process.platform !== 'linux')(
  'until it is restarted, a gateway starts processes of its own executable, not of the next one',
  async () => {
    const path = install();
    const { ino } = statSync(path);
    const running = await startGateway({ program: [path] });
    try {
      const done = await upgrade({ path, dataDir: running.dataDir });
      expect([done.code, statSync(path).ino === ino]).toEqual([0, false]);
      const former = listChildren(running.pid);
      for (const pid of former) process.kill(pid, 'SIGKILL');
      await until('a plugin process of the same executable serves', async () => {
        if ((await fetch(`${running.url}/readyz`)).status !== 200) return false;
        const others = listChildren(running.pid).filter((pid) => !former.includes(pid));
        return others.some((pid) => statSync(`/proc/${pid}/exe`, { throwIfNoEntry: false })?.ino === ino);
      });
    } finally {
      await running.stop();
    }
  },
);

test('nothing is done while no address or no key is set', async () => {
  const incomplete: Record<string, string>[] = [{}, { UPGRADE_URL: release.folder }];
  for (const env of incomplete) {
    const { code, err } = await runCommand(['upgrade'], { env });
    expect([code, err]).toEqual([1, expect.stringMatching(/UPGRADE_(URL|PUBLIC_KEY) is not set/)]);
  }
});

describe('forged releases are refused, and nothing is replaced', () => {
  const refuse = async (from: ReleaseFolder, reason: string, key?: string) => {
    const path = install();
    const { code, out } = await upgrade({ path, from, ...(key ? { key } : {}) });
    expect([code, JSON.parse(out)]).toMatchObject([1, { error: expect.stringContaining(reason) }]);
    await expectUntouched(path);
  };

  test('tampered archive', async () => {
    const forged = await writeReleaseFolder({ version: NEXT });
    appendFileSync(forged.archive, 'x');
    await refuse(forged, 'does not match SHA256SUMS');
  });

  test('tampered checksums', async () => {
    const forged = await writeReleaseFolder({ version: NEXT });
    appendFileSync(join(forged.folder, 'SHA256SUMS'), '\n');
    await refuse(forged, 'the signature does not fit');
  });

  test('removed signature', async () => {
    const forged = await writeReleaseFolder({ version: NEXT });
    rmSync(join(forged.folder, 'SHA256SUMS.minisig'));
    await refuse(forged, 'the release is not signed');
  });

  test('signature of another key', async () => {
    await refuse(release, 'signed by another key', generateSigningKey().publicKey.text);
  });

  test('signature of another file by the same key, such as the index of a marketplace', async () => {
    const forged = await writeReleaseFolder({ version: NEXT, comment: 'timestamp:1\tfile:index.json' });
    await refuse(forged, 'the signature is not that of a release');
  });

  test('replayed signature of another version', async () => {
    const forged = await writeReleaseFolder({ version: NEXT });
    signFolder(forged.folder, forged.key, 'taskgate release 98.0.0');
    await refuse(forged, 'the signature is not that of a release');
  });
});

test('downgrade: an older release with its genuine signature is not an upgrade', async () => {
  const path = install();
  const older = await writeReleaseFolder({ version: '0.0.1' });
  const { code, out } = await upgrade({ path, from: older });
  expect([code, JSON.parse(out)]).toMatchObject([0, { available: false, release: '0.0.1' }]);
  await expectUntouched(path);
});

test('an executable that does not run here, or whose start would be refused, is not installed', async () => {
  const rows = [
    [await writeReleaseFolder({ version: NEXT, executable: '\x7fELF, of another machine' }), 'does not run here'],
    [await writeReleaseFolder({ version: NEXT, executable: fakeExecutable('99.0.1') }), 'does not run here'],
    [
      await writeReleaseFolder({ version: NEXT, executable: fakeExecutable(NEXT, { problem: 'A row is wrong.' }) }),
      'would not start; nothing was replaced:\n  A row is wrong.',
    ],
    [
      // It refuses the settings, or its check falls over.
      await writeReleaseFolder({ version: NEXT, executable: answering('{"ok":false,"error":"PORT: not allowed"}') }),
      'would not start; nothing was replaced:\n  PORT: not allowed',
    ],
    [await writeReleaseFolder({ version: NEXT, executable: answering('') }), 'would not start'],
    [
      // A problem of the data directory that the upgrade was told, and of no other.
      await writeReleaseFolder({
        version: NEXT,
        executable: answering(`{"ok":false,"problems":["'"$*"'"]}`),
      }),
      `--data-dir ${dataDir}`,
    ],
  ] as const;
  const path = install();
  for (const [from, reason] of rows) {
    const { code, out } = await upgrade({ path, from });
    expect([code, JSON.parse(out)]).toMatchObject([1, { error: expect.stringContaining(reason) }]);
    await expectUntouched(path);
  }
});

testInFullRun('killed at any moment, it leaves a whole executable, and the next upgrade succeeds', async () => {
  const former = await readVersion(BINARY);
  // The real executable, of which a kill could leave a part; a signed version number goes before.
  const slow = await writeReleaseFolder({
    version: NEXT,
    executable: `${fakeExecutable(NEXT)}exit\n${'#'.repeat(32 * 1024 * 1024)}`,
  });
  for (const moment of ['begun', 'written', 'swapped']) {
    const path = install();
    const previous = join(dirname(path), 'taskgate.previous');
    const child = spawnCommand(['upgrade', '--data-dir', dataDir], {
      program: [path],
      env: { UPGRADE_URL: slow.folder, UPGRADE_PUBLIC_KEY: slow.key.publicKey.text },
    });
    const reached = {
      begun: () => nextFor(path) !== undefined,
      written: () => (statSync(nextFor(path) ?? '', { throwIfNoEntry: false })?.size ?? 0) > 32 * 1024 * 1024,
      swapped: () => existsSync(previous),
    }[moment];
    await until(`the upgrade has ${moment}`, () => child.exitCode !== null || reached?.());
    child.kill('SIGKILL');
    await child.exited;
    expect([former, NEXT]).toContain(await readVersion(path));
    expect(await upgrade({ path, from: slow })).toMatchObject({ code: 0 });
    if ((await readVersion(path)) !== NEXT) expect.unreachable();
  }
});

test('two at once: the one that comes later replaces nothing, and what a killed one left goes', async () => {
  const path = install();
  const left = join(dirname(path), `taskgate.next-${2 ** 31 - 2}`);
  const other = join(dirname(path), `taskgate.next-${process.pid}`);
  writeFileSync(left, 'half');
  writeFileSync(other, 'half');
  const { code, out } = await upgrade({ path });
  expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining(`process ${process.pid}`)]);
  expect(statSync(path).size).toBe(statSync(BINARY).size);
  rmSync(other);
  expect((await upgrade({ path })).code).toBe(0);
  expect([await readVersion(path), nextFor(path)]).toEqual([NEXT, undefined]);
});

describe('back', () => {
  const previousFor = (path: string, text: string) => {
    const previous = join(dirname(path), 'taskgate.previous');
    writeFileSync(previous, text, { mode: 0o755 });
    return previous;
  };
  const back = (path: string) => upgrade({ path }, '--back');

  test('is refused without a former executable, or with one that does not say which database it knows', async () => {
    const path = install();
    expect(JSON.parse((await back(path)).out).error).toContain('no previous executable');
    previousFor(path, '#!/bin/sh\necho \'{"name":"taskgate","version":"0.0.9"}\'\n');
    expect(JSON.parse((await back(path)).out).error).toContain('does not say which database');
    expect(statSync(path).size).toBe(statSync(BINARY).size);
  });

  test('is refused across a migration that cannot be taken back', async () => {
    const path = install();
    previousFor(path, fakeExecutable('0.0.9', { database: 3 }));
    const { code, out } = await back(path);
    expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('cannot go back beyond 00')]);
    expect(statSync(path).size).toBe(statSync(BINARY).size);
  });

  for (const dialect of ['sqlite', 'postgres'] as const) {
    (dialect === 'postgres' ? testInFullRun : test)(
      `${dialect}: crosses migrations that only add, and the next start finds what they held`,
      async () => {
        const path = install();
        const to = 37;
        const previous = previousFor(path, fakeExecutable('0.0.9', { database: to }));
        const place = join(temporaryFolder(), 'data');
        const databaseUrl = dialect === 'postgres' ? await migratedDatabaseUrl() : '';
        const env = databaseUrl ? { ...SECRETS, DATABASE_URL: databaseUrl } : {};
        const command = async (argv: string[], program = BINARY) => {
          const options = { program: [program], env, stdin: 'correct horse battery' };
          const ran = await runCommand([...argv, '--json', '--data-dir', place], options);
          return { code: ran.code, body: JSON.parse(ran.out) };
        };
        const createRoot = () => command(['admin', 'create-root', '--username', 'ada', '--password-stdin']);
        expect((await createRoot()).code).toBe(0);

        const gone = await command(['upgrade', '--back'], path);
        expect(gone).toMatchObject({ code: 0, body: { version: '0.0.9', former: await readVersion(BINARY) } });
        expect(gone.body.reverted).toContain('0038_budgets');
        // The one in its place would be refused a database that it does not know.
        expect(await databaseVersion({ databaseUrl, dataDir: place })).toBe(to);

        expect(await command(['migrate'], previous)).toMatchObject({
          body: { migrations: gone.body.reverted.reverse() },
        });
        expect(await createRoot()).toMatchObject({
          code: 1,
          body: { error: expect.stringContaining('a root account exists') },
        });
        expect((await command(['doctor'])).code).toBe(0);
      },
    );
  }

  test('puts the former one back while the database is one that it knows, and forth again', async () => {
    const path = install();
    const { database } = JSON.parse((await runCommand(['version', '--json'])).out) as { database: number };
    const previous = previousFor(path, fakeExecutable('0.0.9', { database }));
    expect((await back(path)).code).toBe(0);
    expect(await readVersion(path)).toBe('0.0.9');
    expect(readFileSync(previous).equals(readFileSync(BINARY))).toBe(true);
  });
});
