import { type Clock, err, ok, type Result } from '../../kernel/index.ts';
import { NOT_CONFINED } from './exit-codes.ts';
import type { ConfinedProgram, ConfinedStart, ProgramFault, ProgramLimits } from './types.ts';

/** What is read of a program's complaints, for the log. */
const MAX_SAID_BYTES = 2000;

export type ProgramRun = ConfinedProgram & {
  limits: ProgramLimits;
  /** An open descriptor: the program's standard input. The caller closes it. */
  input: number | 'ignore';
  signal: AbortSignal;
};

export type RunProgram = (run: ProgramRun) => Promise<Result<Uint8Array, ProgramFault>>;

/**
 * Runs programs of the system on files that strangers made. `command` starts the child that
 * confines itself (`become-program.ts`). Whatever the program does, the run ends soon after
 * `timeMs` or an abort, and gives at most `outputBytes`.
 */
export function createProgramRunner({ command, clock }: { command: readonly string[]; clock: Clock }): RunProgram {
  return async ({ path, args, limits, input, signal }) => {
    const { timeMs, outputBytes, cpuSeconds, memoryBytes } = limits;
    const start: ConfinedStart = { path, args, cpuSeconds, memoryBytes };
    const child = Bun.spawn([...command, JSON.stringify(start)], {
      env: {},
      cwd: '/',
      stdio: [input, 'pipe', 'pipe'],
    });
    const ended = new AbortController();
    let cut: 'time' | 'output' | undefined;
    const stop = (reason: typeof cut): void => {
      cut ??= reason;
      child.kill('SIGKILL');
    };
    const abort = (): void => stop(undefined);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    void clock.sleep(timeMs, ended.signal).then(() => {
      if (!ended.signal.aborted) stop('time');
    });
    try {
      const [output, said, code] = await Promise.all([
        readUpTo(child.stdout, { maxBytes: outputBytes, onMore: () => stop('output') }),
        readUpTo(child.stderr, { maxBytes: MAX_SAID_BYTES, onMore: () => {} }),
        child.exited,
      ]);
      signal.throwIfAborted();
      if (cut === 'time') return err({ kind: 'time', message: `it took longer than ${timeMs / 1000} s` });
      if (cut === 'output') return err({ kind: 'output', message: `it wrote more than ${outputBytes} bytes` });
      if (code === 0) return ok(output);
      const words = new TextDecoder().decode(said).replaceAll(/\s+/g, ' ').trim();
      if (code === NOT_CONFINED) return err({ kind: 'not_confined', message: words });
      const how = child.signalCode ? `it was ended by ${child.signalCode}` : `it ended with code ${code}`;
      return err({ kind: 'failed', message: words === '' ? how : `${how}: ${words}` });
    } finally {
      ended.abort();
      signal.removeEventListener('abort', abort);
      child.kill('SIGKILL');
    }
  };
}

/** The first `maxBytes` of a stream; goes on reading to its end, so that its writer never waits. */
async function readUpTo(
  stream: ReadableStream<Uint8Array>,
  { maxBytes, onMore }: { maxBytes: number; onMore(): void },
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    if (bytes < maxBytes) chunks.push(chunk.subarray(0, maxBytes - bytes));
    bytes += chunk.byteLength;
    if (bytes > maxBytes) onMore();
  }
  return Buffer.concat(chunks);
}
