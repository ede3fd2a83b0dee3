import { OperatorError, sentence } from '../../kernel/index.ts';
import { libpqVariables } from '../../store/index.ts';
import type { BackupDeps } from './types.ts';

const MAX_SAID = 2000;
/** Folders to search if PATH lacks the programs: distributions keep one for each version. */
const FOLDERS = [
  '/usr/lib/postgresql/*/bin',
  '/usr/pgsql-*/bin',
  '/opt/homebrew/opt/libpq/bin',
  '/usr/local/pgsql/bin',
];

type Program = 'pg_dump' | 'pg_restore';

type Call = { program: Program; args: readonly string[]; input?: ReadableStream<Uint8Array> };

/**
 * Starts a program of PostgreSQL on the configured database. Its password is in the environment of
 * that process alone, never among its arguments.
 * @throws `OperatorError` when there is no such program
 */
export function runPostgresProgram({ config, signal }: Pick<BackupDeps, 'config' | 'signal'>, call: Call) {
  const { program, args, input } = call;
  signal.throwIfAborted();
  const child = Bun.spawn([findProgram(program), ...args], {
    env: { ...libpqVariables(config.databaseUrl), LC_ALL: 'C' },
    stdin: input ?? 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const stop = () => child.kill();
  signal.addEventListener('abort', stop, { once: true });
  const said = readStart(child.stderr);
  const ended = async (): Promise<void> => {
    const code = await child.exited;
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
    if (code === 0) return;
    const reason = (await said).trim().replaceAll(/\s+/g, ' ');
    throw new OperatorError(
      sentence(program === 'pg_dump' ? 'backup.pg_dump' : 'backup.pg_restore', {
        words: reason || `exit code ${code}`,
      }),
    );
  };
  return {
    /** What it writes; rejects at the end when it failed. */
    async *output(): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of child.stdout) yield chunk;
        await ended();
      } finally {
        signal.removeEventListener('abort', stop);
        child.kill();
      }
    },
    ended,
  };
}

function findProgram(program: Program): string {
  const onPath = Bun.which(program);
  if (onPath) return onPath;
  for (const pattern of FOLDERS) {
    const [found] = [...new Bun.Glob(`${pattern.slice(1)}/${program}`).scanSync({ cwd: '/', absolute: true })]
      .sort()
      .reverse();
    if (found) return found;
  }
  throw new OperatorError(sentence('backup.program_missing', { program }));
}

export const databaseName = (databaseUrl: string): string =>
  decodeURIComponent(new URL(databaseUrl).pathname.slice(1)) || 'postgres';

async function readStart(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream) if (text.length < MAX_SAID) text += decoder.decode(chunk, { stream: true });
  return text.slice(0, MAX_SAID);
}
