/** A restore that is killed, and a dump that is damaged: nothing starts on half of a database. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { makeBackupKey } from '../support/backup-key.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { databaseEnvironment, runCommand, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROUNDS = IS_FULL_RUN ? 12 : 1;
const key = await makeBackupKey();

const environment = (databaseUrl: string) => ({
  ...databaseEnvironment(databaseUrl),
  BACKUP_RECIPIENTS: key.recipient,
  PATH: process.env.PATH ?? '',
});

/** A gateway with an account, backed up into a new place. */
async function backUp(databaseUrl: string): Promise<{ place: string; id: string }> {
  const dataDir = join(temporaryFolder(), 'data');
  const place = join(temporaryFolder(), 'backups');
  mkdirSync(dataDir);
  const env = environment(databaseUrl);
  const create = ['admin', 'create-root', '--username', 'root', '--password-stdin', '--data-dir', dataDir];
  expect((await runCommand(create, { env, stdin: 'correct horse battery' })).code).toBe(0);
  const made = await runCommand(['backup', 'create', '--json', '--to', place, '--data-dir', dataDir], { env });
  expect([made.code, made.err]).toEqual([0, '']);
  return { place, id: JSON.parse(made.out).id };
}

const restoreWords = (place: string, dataDir: string) => [
  ...['backup', 'restore', '--json', '--from', place, '--data-dir', dataDir, '--identity', key.identityFile],
];

type Target = { place: string; dataDir: string; databaseUrl: string };

/** Begins a restore and kills it when `reached`, or somewhat later. False: it had ended before. */
async function killRestore(target: Target, reached: () => boolean | Promise<boolean>, laterMs: number) {
  const env = environment(target.databaseUrl);
  const child = spawnCommand(restoreWords(target.place, target.dataDir), { env });
  // Without a pause: there is little time between two steps.
  while (child.exitCode === null && !(await reached())) await new Promise((resolve) => setImmediate(resolve));
  await Promise.race([child.exited, Bun.sleep(laterMs)]);
  child.kill('SIGKILL');
  await child.exited;
  return child.signalCode === 'SIGKILL';
}

async function expectRefusedThenRestored({ place, dataDir, databaseUrl }: Target): Promise<void> {
  const env = environment(databaseUrl);
  const started = await runCommand(['serve', '--port', '0', '--data-dir', dataDir], { env });
  expect([started.code, started.err]).toEqual([1, expect.stringContaining('has not ended')]);
  const restored = await runCommand(restoreWords(place, dataDir), { env });
  expect([restored.code, restored.err, restored.out]).toEqual([0, '', expect.stringContaining('"ok":true')]);
  const doctor = await runCommand(['doctor', '--json', '--data-dir', dataDir], { env });
  expect([doctor.code, doctor.err]).toEqual([0, '']);
  const exported = await runCommand(['admin', 'export-user', '--username', 'root', '--data-dir', dataDir], { env });
  expect(exported.code).toBe(0);
}

describe('SQLite', () => {
  test('killed while it restores, no gateway starts there, and the same command restores', async () => {
    const { place } = await backUp('');
    let kills = 0;
    // A small database is restored in a moment: some come to their end before they are killed.
    for (let round = 0; kills < ROUNDS && round < 100; round += 1) {
      const target = { place, dataDir: join(temporaryFolder(), 'restored'), databaseUrl: '' };
      const begun = () => existsSync(join(target.dataDir, 'taskgate.restoring'));
      if (!(await killRestore(target, begun, (round % 4) * 10))) continue;
      // At the very end, what it has restored is whole.
      if (!begun()) continue;
      kills += 1;
      expect(existsSync(join(target.dataDir, 'taskgate.db'))).toBe(false);
      await expectRefusedThenRestored(target);
      expect(readdirSync(target.dataDir)).not.toContain('taskgate.restoring');
    }
    expect(kills).toBeGreaterThan(0);
  });
});

describe('PostgreSQL', () => {
  let place: string;
  let id: string;
  beforeAll(async () => {
    ({ place, id } = await backUp(await testDatabaseUrl()));
  });

  const query = async (databaseUrl: string, text: string): Promise<Record<string, unknown>[]> => {
    const sql = new SQL({ url: databaseUrl, max: 1 });
    const rows = (await sql.unsafe(text)) as Record<string, unknown>[];
    await sql.close();
    return [...rows];
  };
  const findTables = async (databaseUrl: string): Promise<string[]> => {
    const text = "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'";
    return (await query(databaseUrl, text)).map(({ relname }) => String(relname));
  };
  /** Makes each of these steps of a restore last this long, or until `release`. */
  async function hold(databaseUrl: string, step: 'CREATE FUNCTION' | 'DROP TABLE', seconds: number): Promise<void> {
    await query(
      databaseUrl,
      // A restore drops what is not ours from its own schema.
      `create schema hold;
       create function hold.hold() returns event_trigger language plpgsql as $$ begin perform pg_sleep(${seconds}); end $$;
       create event trigger hold on ddl_command_start when tag in ('${step}') execute function hold.hold();`,
    );
  }
  async function release(databaseUrl: string): Promise<void> {
    // The server goes on with the statement of a client that has died.
    const others = 'datname = current_database() and pid <> pg_backend_pid()';
    await query(databaseUrl, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${others}`);
    await query(databaseUrl, 'drop event trigger hold; drop schema hold cascade;');
  }

  test.each([
    ['before the tables are there', 'taskgate_restoring', false],
    ['after they are there', 'users', true],
  ])('killed %s, no gateway starts there, and the same command restores', async (_, table, isLast) => {
    let kills = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const databaseUrl = await testDatabaseUrl();
      const target = { place, databaseUrl, dataDir: join(temporaryFolder(), 'restored') };
      // What loads the tables is not killed: it still runs when the command is repeated.
      await (isLast ? hold(databaseUrl, 'DROP TABLE', 120) : hold(databaseUrl, 'CREATE FUNCTION', 0.5));
      mkdirSync(target.dataDir);
      const reached = async () => (await findTables(databaseUrl)).includes(table);
      const isKilled = await killRestore(target, reached, round * 15);
      if (isLast) await release(databaseUrl);
      if (!isKilled) continue;
      if (!(await findTables(databaseUrl)).includes('taskgate_restoring')) continue;
      kills += 1;
      await expectRefusedThenRestored(target);
      expect(await findTables(databaseUrl)).not.toContain('taskgate_restoring');
    }
    expect(kills).toBeGreaterThan(0);
  });

  test.each<[string, (path: string) => void]>([
    ['cut', (path) => truncateSync(path, Math.floor(readFileSync(path).length / 2))],
    ['empty', (path) => truncateSync(path, 0)],
    [
      'changed',
      (path) => {
        const bytes = readFileSync(path);
        const middle = bytes.length >> 1;
        bytes[middle] = (bytes[middle] ?? 0) ^ 1;
        writeFileSync(path, bytes);
      },
    ],
  ])('a dump that is %s is refused, and the database stays empty', async (_, damage) => {
    const copy = join(temporaryFolder(), 'backups');
    cpSync(place, copy, { recursive: true });
    damage(join(copy, id, 'database.dump'));
    const databaseUrl = await testDatabaseUrl();
    const env = environment(databaseUrl);
    const dataDir = join(temporaryFolder(), 'restored');
    mkdirSync(dataDir);
    const verify = ['backup', 'verify', '--json', '--from', copy, '--data-dir', dataDir];
    const verified = await runCommand([...verify, '--identity', key.identityFile], { env });
    const restored = await runCommand(restoreWords(copy, dataDir), { env });
    for (const { code, out } of [verified, restored])
      expect([code, JSON.parse(out).error]).toEqual([1, expect.stringContaining('damaged')]);
    expect(await findTables(databaseUrl)).toEqual([]);
  });
});

test('PostgreSQL: on a new machine the key of the backups is enough, and gives the secrets back', async () => {
  const { place } = await backUp(await testDatabaseUrl());
  const databaseUrl = await testDatabaseUrl();
  const dataDir = join(temporaryFolder(), 'restored');
  const env = { DATABASE_URL: databaseUrl, PATH: process.env.PATH ?? '' };
  for (const command of ['list', 'verify']) {
    const { code, err } = await runCommand(['backup', command, '--from', place, '--data-dir', dataDir], { env });
    expect([code, err]).toEqual([0, '']);
  }
  const restored = await runCommand(restoreWords(place, dataDir), { env });
  expect([restored.code, restored.err]).toEqual([0, '']);
  const secrets = readFileSync(join(dataDir, 'secrets.restored.env'), 'utf8');
  const { SESSION_SECRET, CRYPTO_SECRET } = databaseEnvironment(databaseUrl);
  expect(secrets).toBe(`SESSION_SECRET=${SESSION_SECRET}\nCRYPTO_SECRET=${CRYPTO_SECRET}\n`);
});
