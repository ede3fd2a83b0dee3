import { detachFromRequest, isObject, parseJson, randomBelow, sentence, sleepInStep } from '../../kernel/index.ts';
import type { UnrecordedJob } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';

const TRY_EVERY_MS = 5000;
/** What is held in memory at most; the reserved file has fewer. */
const MAX_JOBS = 1000;
/** How long a recorded job is shown, for somebody to cancel it at the vendor. */
const SHOWN_MS = 24 * 3_600_000;

/** Where jobs are noted while the database cannot be written, and found again after a restart. */
export type JobNotes = {
  read(): Map<number, string>;
  write(slot: number, text: string): boolean;
  slots: number;
};

const NO_NOTES: JobNotes = { read: () => new Map(), write: () => false, slots: 0 };

export type UnrecordedJobs = {
  /**
   * A vendor has this job, and the database could not be told. It is noted now and recorded later.
   */
  add(job: UnrecordedJob): void;
  /** Jobs that are not recorded, and those that were within the last day. */
  list(): (UnrecordedJob & { isRecorded: boolean })[];
  start(): void;
  stop(): Promise<void>;
};

type Held = UnrecordedJob & { slot: number | undefined; recordedAtMs: number | undefined };

/**
 * Keeps the ids of jobs that vendors run although their submissions failed here: nobody polls or
 * bills them, so somebody must know of them. Once the database can be written, the task of each,
 * which has ended and was refunded, gets the vendor's id and a row on its timeline.
 */
export function createUnrecordedJobs(
  { store, clock, logger }: Pick<TaskDeps, 'store' | 'clock' | 'logger'>,
  notes: JobNotes = NO_NOTES,
): UnrecordedJobs {
  const stopping = new AbortController();
  const jobs: Held[] = [];
  /** Ends the pause of a loop that has no job: an idle process sleeps. */
  let wake = () => {};
  let trying: Promise<void> = Promise.resolve();
  let isTrying = false;

  const isOpen = ({ recordedAtMs }: Held): boolean => recordedAtMs === undefined;

  /**
   * Nodes may share the folder of the notes: what others have noted there stays, and two that note
   * a job at the same moment rarely choose the same slot.
   */
  function take(job: UnrecordedJob): Held {
    const taken = notes.read();
    const free = Array.from({ length: notes.slots }, (_, number) => number).filter((number) => !taken.has(number));
    const slot = free.length === 0 ? undefined : free[randomBelow(free.length)];
    const isNoted = slot !== undefined && notes.write(slot, toNote(job));
    return { ...job, slot: isNoted ? slot : undefined, recordedAtMs: undefined };
  }

  function erase(job: Held): void {
    const { slot } = job;
    if (slot === undefined) return;
    const noted = readJob(notes.read().get(slot) ?? '');
    if (noted && toNote(noted) === toNote(job)) notes.write(slot, '');
    job.slot = undefined;
  }

  async function record(job: Held): Promise<void> {
    const task = await store.tasks.byTaskId(job.taskId);
    // Its lease has not run out yet: then it ends and is refunded.
    if (task && task.upstreamTaskId === '' && task.status !== 'FAILURE') return;
    if (task?.upstreamTaskId === '') {
      const detail = sentence('tasks.late', { event: sentence('tasks.late_accepted') });
      const at = clock.unix();
      await store.transaction(async (tx) => {
        if (!(await tx.tasks.noteVendorJob(job.taskId, job.upstreamTaskId))) return;
        await tx.tasks.addEvent({ taskId: job.taskId, at, kind: 'late_success', status: 'FAILURE', detail });
      });
    }
    erase(job);
    job.recordedAtMs = clock.monotonicMs();
    logger.info({ task_id: job.taskId, upstream_task_id: job.upstreamTaskId }, "a vendor's job is recorded now");
  }

  async function tryAll(): Promise<void> {
    if (isTrying) return;
    isTrying = true;
    try {
      for (const job of jobs.filter(isOpen)) await record(job);
    } catch (error) {
      logger.debug({ err: error }, "vendors' jobs cannot be recorded yet");
    } finally {
      isTrying = false;
    }
    const since = clock.monotonicMs() - SHOWN_MS;
    for (const job of jobs.filter(({ recordedAtMs = since }) => recordedAtMs < since))
      jobs.splice(jobs.indexOf(job), 1);
  }

  return {
    add(job) {
      if (jobs.length >= MAX_JOBS)
        jobs.splice(
          Math.max(
            jobs.findIndex((each) => !isOpen(each)),
            0,
          ),
          1,
        );
      jobs.push(take(job));
      wake();
      void detachFromRequest(tryAll);
    },
    list: () =>
      jobs.map(({ taskId, channelId, upstreamTaskId, at, ...held }) => ({
        ...{ taskId, channelId, upstreamTaskId, at },
        isRecorded: held.recordedAtMs !== undefined,
      })),
    start() {
      for (const [slot, text] of notes.read()) {
        const job = readJob(text);
        if (job) jobs.push({ ...job, slot, recordedAtMs: undefined });
        else notes.write(slot, '');
      }
      trying = (async () => {
        while (!stopping.signal.aborted) {
          await tryAll();
          if (jobs.length > 0) await sleepInStep(clock, TRY_EVERY_MS, stopping.signal);
          else if (!stopping.signal.aborted)
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      })();
    },
    async stop() {
      stopping.abort();
      wake();
      await trying;
    },
  };
}

const toNote = ({ taskId, channelId, upstreamTaskId, at }: UnrecordedJob): string =>
  JSON.stringify({ taskId, channelId, upstreamTaskId, at });

function readJob(text: string): UnrecordedJob | undefined {
  const job = parseJson(text);
  if (!isObject(job)) return undefined;
  const { taskId, channelId, upstreamTaskId, at } = job;
  return typeof taskId === 'string' && typeof upstreamTaskId === 'string'
    ? { taskId, upstreamTaskId, channelId: Number(channelId), at: Number(at) }
    : undefined;
}
