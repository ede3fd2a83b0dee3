/**
 * Reads all pages, indexes and the ledger once a week at quiet hours, by `taskgate doctor --data`
 * in a process of its own: on SQLite such a check blocks the process that makes it.
 */
import { type Clock, isObject, isOver, type Logger, parseJson, sleepInStep } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { isQuietHour, type QuietHours } from '../retention/run-retention.ts';

/** Stored as an option that the catalogue does not list: all nodes share it. */
const NOTE = 'data_check.latest';
const WEEK_SECONDS = 7 * 86_400;
/**
 * A gateway that never runs at its quiet hours checks at any hour, once it is this long overdue.
 */
const GRACE_SECONDS = 2 * 86_400;
const FIRST_LOOK_MS = 60_000;
const LOOK_MS = 600_000;
/** After a check that could not be made. */
const TRY_AGAIN_MS = 3_600_000;
const SHOWN_FAULTS = 5;
const FAULT_LENGTH = 500;
const ANSWER_BYTES = 256 * 1024;

/** `checkedAt`: Unix seconds; 0: none has ended yet. `faults`: what is damaged, in words. */
export type DataCheckResult = { checkedAt: number; faults: string[] };

/** `since`: when checks began to count, in Unix seconds. */
type Note = DataCheckResult & { since: number };

export type DataCheck = {
  /** The latest check of any node. */
  latest(): Promise<DataCheckResult>;
  /** Checks now if a check is due and no other node makes it. Never rejects. */
  run(): Promise<void>;
  /** Looks every ten minutes from now on. */
  start(): void;
  stop(): Promise<void>;
};

type Deps = {
  store: Pick<Store, 'options' | 'exclusively'>;
  clock: Clock;
  logger: Logger;
  dataDir: string;
  /** This program, as a command to which words are added. */
  program: readonly string[];
  quietHours: () => QuietHours;
};

export function createDataCheck({ store, clock, logger, dataDir, program, quietHours }: Deps): DataCheck {
  const stopping = new AbortController();
  let child: Bun.Subprocess | undefined;
  let looking: Promise<void> = Promise.resolve();
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function readNote(): Promise<Note> {
    const note = parseJson((await store.options.get(NOTE)) ?? '');
    if (!isObject(note)) return { checkedAt: 0, since: 0, faults: [] };
    const faults = Array.isArray(note.faults) ? note.faults.map(String) : [];
    return { checkedAt: Number(note.checkedAt ?? 0), since: Number(note.since ?? 0), faults };
  }

  const writeNote = (note: Note): Promise<void> => store.options.put(NOTE, JSON.stringify(note));

  /** Undefined: it could not be made. */
  async function findFaults(): Promise<string[] | undefined> {
    const command = [...program, 'doctor', '--data', '--json', '--data-dir', dataDir];
    const running = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'ignore' });
    child = running;
    try {
      const text = (await new Response(running.stdout).text()).slice(0, ANSWER_BYTES);
      const code = await running.exited;
      const findings = readFindings(text);
      if (stopping.signal.aborted) return undefined;
      if (findings) return findings.map((fault) => fault.slice(0, FAULT_LENGTH)).slice(0, SHOWN_FAULTS);
      logger.warn({ code }, 'the weekly check of the data could not be made; it is tried again in an hour');
      return undefined;
    } finally {
      child = undefined;
    }
  }

  async function checkIfDue(): Promise<void> {
    if (clock.monotonicMs() < notBeforeMs) return;
    const now = clock.unix();
    const note = await readNote();
    if (note.since === 0) return writeNote({ ...note, since: now - WEEK_SECONDS });
    const from = Math.max(note.checkedAt, note.since);
    if (!isOver(from + WEEK_SECONDS, { now, longest: WEEK_SECONDS })) return;
    if (!isQuietHour(now, quietHours()) && now - from < WEEK_SECONDS + GRACE_SECONDS) return;
    notBeforeMs = clock.monotonicMs() + TRY_AGAIN_MS;
    const faults = await findFaults();
    if (!faults) return;
    await writeNote({ ...note, checkedAt: clock.unix(), faults });
    if (faults.length > 0) logger.error({ faults }, 'the weekly check found damaged data: run taskgate doctor');
    else logger.info({}, 'the weekly check found no damage in pages, indexes or ledger');
  }

  const run = async (): Promise<void> => {
    await store
      .exclusively('data check', checkIfDue)
      .catch((error) => logger.warn({ err: error }, 'could not read whether a data check is due'));
  };

  return {
    run,
    async latest() {
      const { checkedAt, faults } = await readNote();
      return { checkedAt, faults };
    },
    start() {
      looking = (async () => {
        await clock.sleep(FIRST_LOOK_MS, stopping.signal);
        while (!stopping.signal.aborted) {
          await run();
          await sleepInStep(clock, LOOK_MS, stopping.signal);
        }
      })();
    },
    async stop() {
      stopping.abort();
      child?.kill();
      await looking;
    },
  };
}

/** The details of an error that has kept the doctor from checking. */
export const UNCHECKED = { checked: false } as const;

/** The messages of errors about data; undefined where the doctor could not check it. */
function readFindings(text: string): string[] | undefined {
  const answer = parseJson(text.trim().split('\n').at(-1) ?? '');
  if (!isObject(answer) || !Array.isArray(answer.findings)) return undefined;
  const isUnchecked = ({ details }: { details?: unknown }) => isObject(details) && details.checked === false;
  if (answer.findings.some((finding) => isObject(finding) && isUnchecked(finding))) return undefined;
  return answer.findings.flatMap((finding) => {
    const { check, level, message } = isObject(finding) ? finding : {};
    return level === 'error' && (check === 'database' || check === 'ledger') ? [String(message)] : [];
  });
}
