/** PostgreSQL servers of one test alone, which it may kill, and poolers in front of them. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { findProgram, postgresFolders } from './find-program.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

export type OwnPostgres = {
  port: number;
  pid: number;
  url: string;
  /** Makes a standby the primary. */
  promote(): Promise<void>;
  /** Starts it on its data after `kill`. */
  restart(): Promise<void>;
  /** SIGKILL to the server and to all its processes: the whole machine is gone. */
  kill(): Promise<void>;
};

// PostgreSQL and PgBouncer refuse to run as root.
const isRoot = process.getuid?.() === 0;
const AS_POSTGRES = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
const ENVIRONMENT = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C.UTF-8' };

function program(name: string): string {
  const found = findProgram([name], [...postgresFolders(), '/usr/sbin']);
  if (found) return found;
  throw new Error(`this test needs ${name}: apt-get install postgresql pgbouncer`);
}

const spawn = (command: readonly string[]) =>
  Bun.spawn([...AS_POSTGRES, ...command], { cwd: '/', env: ENVIRONMENT, stdout: 'ignore', stderr: 'ignore' });

async function run(command: readonly string[]): Promise<void> {
  const options = { cwd: '/', env: ENVIRONMENT, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' } as const;
  const child = Bun.spawn([...AS_POSTGRES, ...command], options);
  const text = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${text}`);
}

/** A folder that PostgreSQL's user owns, with these files. */
function ownedFolder(files: Record<string, string> = {}): string {
  const folder = temporaryFolder();
  // PostgreSQL's user passes through, and through the folder of the run, which is root's alone.
  for (const path of [folder, process.env.TASKGATE_TEST_FOLDER]) if (path) chmodSync(path, 0o711);
  const inner = join(folder, 'own');
  mkdirSync(inner);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(inner, name), text, { mode: 0o600 });
  if (isRoot) Bun.spawnSync(['chown', '-R', 'postgres:postgres', inner]);
  return inner;
}

/** `standbyOf`: a copy of that server, which follows it. `tls`: PEM texts. */
export async function startOwnPostgres(
  options: { settings?: readonly string[]; standbyOf?: OwnPostgres; tls?: { cert: string; key: string } } = {},
): Promise<OwnPostgres> {
  const { settings = [], standbyOf, tls } = options;
  const folder = ownedFolder(tls ? { 'server.crt': tls.cert, 'server.key': tls.key } : {});
  const [data, port] = [join(folder, 'data'), await freePort()];
  if (standbyOf) {
    const from = ['-h', '127.0.0.1', '-p', `${standbyOf.port}`, '-U', 'postgres'];
    await run([program('pg_basebackup'), ...from, '-D', data, '-R', '-X', 'stream', '-c', 'fast']);
  } else {
    await run([program('initdb'), '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']);
  }
  const all = [
    ...[`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', ...settings],
    ...(tls ? ['ssl=on', `ssl_cert_file=${folder}/server.crt`, `ssl_key_file=${folder}/server.key`] : []),
  ];
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const start = async () => {
    const child = spawn([program('postgres'), '-D', data, ...all.flatMap((each) => ['-c', each])]);
    await until('PostgreSQL answers', () => answers(url));
    return child;
  };
  let child = await start();
  return {
    port,
    get pid() {
      return child.pid;
    },
    url,
    async restart() {
      child = await start();
    },
    promote: () => run([program('pg_ctl'), 'promote', '-w', '-D', data]),
    async kill() {
      const children = readChildren(child.pid);
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await child.exited;
      // Each leads a group of its own, and holds memory without which the server cannot restart.
      for (const pid of children) killIfAlive(pid);
      await until('the processes of PostgreSQL are gone', () => children.every(hasEnded));
    },
  };
}

/** PgBouncer that pools transactions of the server; gives its URL. */
export async function startPgBouncer(server: OwnPostgres, settings: readonly string[] = []) {
  const port = await freePort();
  const config = [
    ...['[databases]', `* = host=127.0.0.1 port=${server.port} user=postgres`, '[pgbouncer]', `listen_port=${port}`],
    ...['listen_addr=127.0.0.1', 'unix_socket_dir=', 'auth_type=any', 'pool_mode=transaction', ...settings, ''],
  ].join('\n');
  const child = spawn([program('pgbouncer'), join(ownedFolder({ 'pgbouncer.ini': config }), 'pgbouncer.ini')]);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await until('PgBouncer answers', () => answers(url));
  return {
    url,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

function readChildren(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** Also true for a process whose end nobody has asked for: it holds no memory any more. */
function hasEnded(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

async function answers(url: string): Promise<boolean> {
  const sql = new SQL({ url, max: 1, connectionTimeout: 2, prepare: false });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.close();
  }
}
