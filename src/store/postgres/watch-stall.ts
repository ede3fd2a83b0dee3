import type { SQL } from 'bun';
import type { Clock, Logger } from '../../kernel/index.ts';

/** A call that takes longer lets the server be asked whether it answers at all. */
const SUSPECT_MS = 2000;
/** A server that does not answer `select 1` for this long serves nobody, unless told otherwise. */
const SILENT_MS = 2000;
/** How often a server is asked while a long statement runs. */
const PROBE_EVERY_MS = 5000;
/** Connections that wait for an answer at once, while the server hangs. */
const PROBES_AT_ONCE = 3;

type Deps = {
  /** The server is asked by connections of its own. */
  connect: () => SQL;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  silentMs?: number;
  /** Called when it is known that the server hangs. */
  onStall: () => void;
};

/** Distinguishes a server that hangs from one that is busy. */
export function createStallWatch({ connect, clock, logger, signal, silentMs = SILENT_MS, onStall }: Deps) {
  let isStalled = false;
  let isProbing = false;
  let probedMs = Number.NEGATIVE_INFINITY;

  function ask(onAnswer: () => void): SQL {
    const sql = connect();
    Promise.resolve(sql.unsafe('select 1')).then(onAnswer, (error) => {
      // A refusal is an answer: calls fail by themselves. A connection that times out is not.
      if (error?.code !== 'ERR_POSTGRES_CONNECTION_TIMEOUT') onAnswer();
    });
    return sql;
  }

  async function probe(): Promise<void> {
    isProbing = true;
    const asked: SQL[] = [];
    let isAnswered = false;
    const answered = Promise.withResolvers<void>();
    const onAnswer = () => {
      isAnswered = true;
      answered.resolve();
    };
    try {
      while (!isAnswered && !signal.aborted) {
        // What one connection has sent may be lost for good, and a busy server is slow to let in.
        asked.push(ask(onAnswer));
        if (asked.length > PROBES_AT_ONCE) close(asked.shift());
        await Promise.race([answered.promise, clock.sleep(silentMs, signal)]);
        if (isAnswered || isStalled || signal.aborted) continue;
        isStalled = true;
        logger.error({}, 'PostgreSQL does not answer; requests that need it get 503 until it does');
        onStall();
      }
      if (isStalled && isAnswered) logger.info({}, 'PostgreSQL answers again');
    } finally {
      isStalled = false;
      isProbing = false;
      probedMs = clock.monotonicMs();
      for (const sql of asked) close(sql);
    }
  }

  return {
    isStalled: () => isStalled,
    /** `ageMs`: for how long the oldest call has waited. */
    look(ageMs: number): void {
      const isDue = clock.monotonicMs() - probedMs > PROBE_EVERY_MS;
      if (ageMs > SUSPECT_MS && !isProbing && isDue) void probe();
    },
  };
}

const close = (sql: SQL | undefined): void => void sql?.close({ timeout: 0 }).catch(() => undefined);
