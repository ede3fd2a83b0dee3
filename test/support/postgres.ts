/**
 * A fresh PostgreSQL database for each caller, in the server that `TEST_DATABASE_URL` names or else
 * in one that is started once a process on a free loopback port, with its data in a temporary
 * folder.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { PATIENCE_MS } from './far-limits.ts';
import { postgresFolders } from './find-program.ts';
import { freePort } from './free-port.ts';

let server: Promise<string> | undefined;
let counter = 0;

/**
 * The URL of a new, empty database. Rejects, saying what to install, where no server can be had.
 */
export const testDatabaseUrl = (): Promise<string> => createDatabase(async () => 'template1');

/**
 * The URL of a new copy of the database that `findTemplate` names. Its files are copied, with what
 * the server remembers of its tables: of a copy by the log each first connection would find that
 * out for itself, and a pool opens all of its connections at once.
 */
export async function createDatabase(findTemplate: (admin: SQL, server: URL) => Promise<string>): Promise<string> {
  server ??= process.env.TEST_DATABASE_URL ? Promise.resolve(process.env.TEST_DATABASE_URL) : startServer();
  const base = new URL(await server);
  const name = `taskgate_test_${process.pid}_${Date.now().toString(36)}_${++counter}`;
  const admin = new SQL({ url: base.href, max: 1 });
  try {
    const [version] = await admin`show server_version_num`;
    // Before PostgreSQL 15 there was no other way.
    const strategy = Number(version.server_version_num) >= 150_000 ? 'strategy file_copy' : '';
    await admin.unsafe(`create database ${name} template ${await findTemplate(admin, base)} ${strategy}`);
  } finally {
    await admin.close();
  }
  return readDatabase(base, name);
}

/**
 * The URL of a new, empty database in Turkish, by ICU: `lower('I')` is a dotless i there, and
 * `upper('i')` a dotted I.
 */
export async function turkishDatabaseUrl(): Promise<string> {
  const url = await testDatabaseUrl();
  const admin = new SQL({ url, max: 1 });
  const name = `${new URL(url).pathname.slice(1)}_tr`;
  try {
    await admin.unsafe(
      `create database ${name} template template0 encoding 'UTF8' locale 'C.UTF-8' locale_provider icu icu_locale 'tr-TR'`,
    );
  } finally {
    await admin.close();
  }
  return readDatabase(new URL(url), name);
}

/** The URL of another database of a server, with a far limit of time for its connections. */
export function readDatabase(server: URL, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  url.searchParams.set('connect_timeout', `${PATIENCE_MS / 1000}`);
  return url.href;
}

/** The same database with the gateway's own limits of time. */
export function withOwnTimeouts(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.delete('connect_timeout');
  return url.href;
}

/**
 * Keeps the server of a test process: when that process ends, however it ends, its end of the pipe
 * closes, and the server and its data go. A test runner tells nobody of its end.
 */
const KEEPER = 'folder=$1; shift; "$@" & cat > /dev/null; kill -QUIT $!; wait; rm -rf "$folder"';

async function startServer(): Promise<string> {
  const bin = findBinaries();
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'taskgate-pg-'));
  const data = join(folder, 'data');
  const asRoot = process.getuid?.() === 0;
  // PostgreSQL refuses to run as root, so its own system user gets the folder and the process.
  const as = asRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
  if (asRoot) execFileSync('chown', ['postgres:postgres', folder]);
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C.UTF-8' };

  const keeper = spawn('sh', ['-c', KEEPER, 'sh', folder, ...as, 'sh', '-c', START, bin, data, `${port}`], {
    stdio: ['pipe', 'ignore', 'inherit'],
    cwd: '/',
    env,
    detached: true,
  });
  keeper.unref();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await waitUntilReady(url);
  return url;
}

/** Run as PostgreSQL's user with the folder of its programs, a data folder to make, and a port. */
const START = `
  "$0/initdb" -D "$1" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync > /dev/null || exit 1
  exec "$0/postgres" -D "$1" -c port="$2" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off \
    -c max_connections=200 -c log_min_messages=panic
`;

function findBinaries(): string {
  const bin = postgresFolders().find((folder) => existsSync(join(folder, 'initdb')));
  if (bin) return bin;
  throw new Error('PostgreSQL is not installed: set TEST_DATABASE_URL, or install it (apt-get install postgresql).');
}

async function waitUntilReady(url: string): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; ; ) {
    const sql = new SQL({ url, max: 1, connectionTimeout: 2 });
    try {
      await sql`select 1`;
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await Bun.sleep(30);
    } finally {
      await sql.close();
    }
  }
}
