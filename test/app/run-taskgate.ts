/**
 * Runs the program as its own process with only the given environment: from source, or the compiled
 * binary that `TASKGATE_BINARY` names, as `npm test` does.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;
const COMMAND = process.env.TASKGATE_BINARY ? [process.env.TASKGATE_BINARY] : [process.execPath, MAIN];

/** The program from source, whatever `npm test` has built, with options of the runtime. */
export const sourceProgram = (options: readonly string[]) => [process.execPath, ...options, MAIN];

export type Finished = { code: number; out: string; err: string };
export type SpawnOptions = {
  environment?: Record<string, string>;
  stdin?: string;
  /** A program and its arguments that become the gateway. */
  prefix?: readonly string[];
  /** Default: the source, or the compiled binary that `TASKGATE_BINARY` names. */
  program?: readonly string[];
};

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'taskgate-app-'));

export const spawnTaskgate = (
  argv: readonly string[],
  { environment = {}, stdin = '', prefix = [], program = COMMAND }: SpawnOptions = {},
) =>
  Bun.spawn([...prefix, ...program, ...argv], {
    env: { PATH: process.env.PATH ?? '', TRUSTED_PROXIES: 'none', ...environment },
    stdin: new TextEncoder().encode(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  });

/** Runs a command to its end. */
export async function runTaskgate(argv: readonly string[], options: SpawnOptions = {}): Promise<Finished> {
  const child = spawnTaskgate(argv, options);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}

type Announcement = { address: string; port: number; data_dir: string; created: string[]; setup_url?: string };

export type RunningGateway = Announcement & {
  pid: number;
  dataDir: string;
  /** The log so far; complete once the process has ended. */
  log(): string;
  /** Resolves when `text` has appeared in the log. */
  logged(text: string): Promise<void>;
  signal(name: NodeJS.Signals): void;
  exited: Promise<number>;
  /** SIGTERM, then the exit code. */
  stop(): Promise<number>;
};

/**
 * Starts `serve` on a free port and resolves when it is ready; rejects with its output if it exits.
 */
export async function startTaskgate(
  environment: Record<string, string> = {},
  dataDir = temporaryFolder(),
  options: Pick<SpawnOptions, 'prefix' | 'program'> = {},
): Promise<RunningGateway> {
  const child = spawnTaskgate(['serve', '--json', '--port', '0', '--data-dir', dataDir], { ...options, environment });
  let log = '';
  const watchers = new Set<() => void>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      log += decoder.decode(chunk, { stream: true });
      for (const watcher of watchers) watcher();
    }
  })();
  const announcement = await firstLine(child.stdout);
  if (announcement === undefined) {
    await reading;
    throw new Error(`serve ended with ${await child.exited} before it was ready:\n${log}`);
  }
  const exited = child.exited.then(async (code) => {
    await reading;
    return code;
  });
  return {
    ...(JSON.parse(announcement) as Announcement),
    pid: child.pid,
    dataDir,
    log: () => log,
    logged: (text) =>
      new Promise((resolve) => {
        const look = () => {
          if (!log.includes(text)) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    signal: (name) => child.kill(name),
    exited,
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  const reader = stream.getReader();
  while (!text.includes('\n')) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    text += decoder.decode(value, { stream: true });
  }
  reader.releaseLock();
  return text.slice(0, text.indexOf('\n'));
}
