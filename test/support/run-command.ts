/** Commands of the compiled binary, as processes of their own. */
import { describeProcesses } from './child-processes.ts';
import { PATIENCE_MS } from './far-limits.ts';

export const BINARY = process.env.TASKGATE_BINARY ?? new URL('../../dist/taskgate', import.meta.url).pathname;

/** The program from source, with options of the runtime. */
export const sourceProgram = (options: readonly string[]): string[] => [
  process.execPath,
  ...options,
  new URL('../../src/main.ts', import.meta.url).pathname,
];

/**
 * Secrets that PostgreSQL nodes need; fixed so that a restarted node reads what its predecessor
 * sealed.
 */
export const SECRETS = {
  SESSION_SECRET: 'session-secret-of-the-tests-0123456789',
  CRYPTO_SECRET: 'crypto-secret-of-the-tests-0123456789',
};

/** The variables of a node on this PostgreSQL; none on SQLite, where it is empty. */
export const databaseEnvironment = (databaseUrl: string): Record<string, string> =>
  databaseUrl === '' ? {} : { DATABASE_URL: databaseUrl, ...SECRETS };

export type CommandOptions = {
  /** The whole environment. */
  env?: Record<string, string>;
  stdin?: string;
  cwd?: string;
  /** A program and its arguments that become the command: `unshare`, `sh -c`. */
  prefix?: readonly string[];
  /** Default: the compiled binary. */
  program?: readonly string[];
};

export type CommandResult = { code: number; out: string; err: string };

export const spawnCommand = (
  argv: readonly string[],
  { env = {}, stdin = '', cwd, prefix = [], program = [BINARY] }: CommandOptions = {},
) =>
  Bun.spawn([...prefix, ...program, ...argv], {
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stdin: new TextEncoder().encode(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  });

/**
 * Runs a command to its end; one that has not ended after `PATIENCE_MS` is killed, and its errors
 * say what it was doing.
 */
export async function runCommand(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const child = spawnCommand(argv, options);
  let hung = '';
  const timer = setTimeout(() => {
    hung = `\nkilled after ${PATIENCE_MS / 1000} s:\n${describeProcesses(child.pid)}`;
    child.kill('SIGKILL');
  }, PATIENCE_MS);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  clearTimeout(timer);
  return { code, out, err: err + hung };
}

/** Runs a command on a gateway's data directory and database. */
export const runBeside = (
  { dataDir, databaseUrl }: { dataDir: string; databaseUrl: string },
  argv: readonly string[],
  { env, ...options }: CommandOptions = {},
): Promise<CommandResult> =>
  runCommand([...argv, '--data-dir', dataDir], { ...options, env: { ...databaseEnvironment(databaseUrl), ...env } });
