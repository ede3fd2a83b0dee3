/**
 * A fresh PostgreSQL database for each caller, in the server that `TEST_DATABASE_URL` names or else in one that is started once a
 * process on a free loopback port, with its data in a temporary folder, and stopped when the process ends.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';

let server: Promise<string> | undefined;
let counter = 0;

/** The URL of a new, empty database. Rejects, saying what to install, where no server can be had. */
export async function testDatabaseUrl(): Promise<string> {
  server ??= process.env.TEST_DATABASE_URL ? Promise.resolve(process.env.TEST_DATABASE_URL) : startServer();
  const base = new URL(await server);
  const name = `taskgate_test_${process.pid}_${Date.now().toString(36)}_${++counter}`;
  const admin = new SQL({ url: base.href, max: 1 });
  try {
    await admin.unsafe(`create database ${name}`);
  } finally {
    await admin.close();
  }
  base.pathname = `/${name}`;
  return base.href;
}

async function startServer(): Promise<string> {
  const bin = findBinaries();
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'taskgate-pg-'));
  const data = join(folder, 'data');
  const asRoot = process.getuid?.() === 0;
  // PostgreSQL refuses to run as root, so its own system user gets the folder and the process.
  const as = (program: string, args: string[]): [string, string[]] =>
    asRoot
      ? ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', program, ...args]]
      : [program, args];
  if (asRoot) execFileSync('chown', ['postgres:postgres', folder]);
  const options = {
    stdio: 'ignore' as const,
    cwd: '/',
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
  };
  execFileSync(
    ...as(join(bin, 'initdb'), [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '--no-sync',
    ]),
    options,
  );
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    max_connections: 200,
  };
  const child = spawn(
    ...as(join(bin, 'postgres'), [
      '-D',
      data,
      ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
    ]),
    options,
  );
  child.unref();
  process.on('exit', () => {
    execFileSync(...as(join(bin, 'pg_ctl'), ['stop', '-D', data, '-m', 'immediate', '-w']), options);
    rmSync(folder, { recursive: true, force: true });
  });
  // An interrupted run ends through `exit` too.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await waitUntilReady(url);
  return url;
}

function findBinaries(): string {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  for (const version of versions) {
    const bin = join(root, version, 'bin');
    if (existsSync(join(bin, 'initdb'))) return bin;
  }
  throw new Error('PostgreSQL is not installed: set TEST_DATABASE_URL, or install it (apt-get install postgresql).');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

async function waitUntilReady(url: string): Promise<void> {
  for (const deadline = Date.now() + 20_000; ; ) {
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
