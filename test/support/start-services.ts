import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { PATIENCE_MS } from './far-limits.ts';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';

/**
 * A server of a test run: its URL, its end together with all its data, and a restart that keeps
 * address and data.
 */
export type StartedService = { url: string; stop(): Promise<void>; restart(): Promise<void> };

/**
 * PostgreSQL on a free loopback port with data in a temporary folder. As root the server runs as
 * the system user `postgres`, since it refuses to be root. Durability is off: the data dies with
 * the run. Throws what the server said when it does not start.
 */
export async function startPostgres(binFolder: string): Promise<StartedService> {
  const owner = process.getuid?.() === 0 ? 'postgres' : null;
  const folder = temporaryFolder('taskgate-postgres-', owner);
  const data = join(folder, 'data');
  const password = crypto.randomUUID();
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (owner !== null) chownSync(passwordFile, ...idsFor(owner));
  const as = owner === null ? [] : [setpriv(), `--reuid=${owner}`, `--regid=${owner}`, '--init-groups', '--'];
  await runOrThrow([
    ...[...as, join(binFolder, 'initdb'), '-D', data, '-U', 'postgres', '--auth=scram-sha-256'],
    ...[`--pwfile=${passwordFile}`, '--no-sync', '--encoding=UTF8', '--locale=C'],
  ]);
  rmSync(passwordFile);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '300',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    // Its workers would go round the hundreds of databases of a run forever.
    autovacuum: 'off',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  return runService([...as, join(binFolder, 'postgres'), '-D', data, ...options], {
    url,
    folder,
    // SIGINT is PostgreSQL's fast shutdown: it ends the connections that are still open.
    stopSignal: 'SIGINT',
    isReady: async () => {
      const sql = new SQL(url, { max: 1, connectionTimeout: 2 });
      try {
        await sql`select 1`;
        return true;
      } finally {
        await sql.close({ timeout: 0 });
      }
    },
  });
}

/**
 * Redis or Valkey on a free loopback port, nothing written to disk. Throws what the server said
 * when it does not start.
 */
export async function startRedis(program: string): Promise<StartedService> {
  const folder = temporaryFolder('taskgate-redis-', null);
  const port = await freePort();
  const options = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no', '--dir', folder];
  return runService([program, ...options], {
    url: `redis://127.0.0.1:${port}`,
    folder,
    stopSignal: 'SIGTERM',
    isReady: () => answersPing(port),
  });
}

type ServiceOptions = {
  url: string;
  folder: string;
  stopSignal: NodeJS.Signals;
  isReady(): Promise<boolean>;
};

async function runService(command: string[], options: ServiceOptions): Promise<StartedService> {
  const spawn = () => Bun.spawn(command, { cwd: options.folder, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' });
  let child = spawn();
  const end = async (): Promise<void> => {
    child.kill(options.stopSignal);
    const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await child.exited;
    clearTimeout(deadline);
  };
  const stop = async (): Promise<void> => {
    await end();
    rmSync(options.folder, { recursive: true, force: true });
  };
  const becomeReady = async (): Promise<void> => {
    const complaint = lastLines(child.stderr);
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await options.isReady().catch(() => false))) {
      if (child.exitCode !== null || performance.now() > deadline) {
        await stop();
        throw new Error(`${command.join(' ')} did not start:\n${complaint()}`);
      }
      await Bun.sleep(50);
    }
  };
  await becomeReady();
  return {
    url: options.url,
    stop,
    async restart() {
      await end();
      child = spawn();
      await becomeReady();
    },
  };
}

/** Keeps the end of what a server complains about, and its pipe empty. */
function lastLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): () => string {
  let text = '';
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) text = (text + decoder.decode(chunk, { stream: true })).slice(-4000);
  };
  void read();
  return () => text;
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    void Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        open: (socket) => void socket.write('PING\r\n'),
        data: (socket, data) => {
          socket.end();
          resolve(data.toString().startsWith('+PONG'));
        },
        connectError: (_socket, error) => reject(error),
      },
    }).catch(reject);
  });
}

function temporaryFolder(prefix: string, owner: string | null): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  if (owner !== null) chownSync(folder, ...idsFor(owner));
  return folder;
}

function idsFor(user: string): [uid: number, gid: number] {
  const read = (flag: string): number => Number(Bun.spawnSync(['id', flag, user]).stdout.toString());
  return [read('-u'), read('-g')];
}

function setpriv(): string {
  const path = findProgram(['setpriv']);
  if (path === null) throw new Error('setpriv (package util-linux) is needed to run PostgreSQL as its own user.');
  return path;
}

async function runOrThrow(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { cwd: '/', stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' });
  const [complaint, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(' ')} failed:\n${complaint}`);
}
