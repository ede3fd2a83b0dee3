import type { Clock } from '../../kernel/index.ts';
import type { Script } from './read-script.ts';

export type Order = {
  model: string;
  prompt: string;
  seconds: number;
  resolution: string;
  /** The client's own id of the order; only counted, never used to find an earlier job. */
  reference: string;
  image: { bytes: number; sha256: string } | undefined;
  script: Script;
};

export type Job = Order & { id: string; createdMs: number; doneMs: number; polls: number; downloads: number };

/** The orders and jobs with one reference. */
export type ReferenceCount = { creates: number; jobs: string[] };

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed';

const QUEUED_SHARE = 0.1;
// If none of the oldest jobs has finished, the vendor is full of running ones and refuses orders.
const EVICTION_LOOKAHEAD = 1000;
const JOBS_KEPT_BY_REFERENCE = 10;

export interface Jobs {
  readonly size: number;
  readonly references: ReadonlyMap<string, ReferenceCount>;
  /** Those that have not ended. */
  countRunning(): number;
  /** Counts an order, before it can fail. */
  noteOrder(reference: string): void;
  /** `undefined` if the capacity is used up. */
  create(order: Order): Job | undefined;
  find(id: string): Job | undefined;
  /** Computed from the elapsed time; nothing runs in between. */
  readProgress(job: Job): { status: JobStatus; progress: number };
}

/** Keeps at most `maxJobs` jobs and evicts the oldest finished ones. `prefix` is unique per run. */
export function createJobs(
  clock: Clock,
  { prefix, maxJobs, durationMs }: { prefix: string; maxJobs: number; durationMs: number },
): Jobs {
  const jobs = new Map<string, Job>();
  const references = new Map<string, ReferenceCount>();
  let created = 0;

  function evictIfFull(): boolean {
    if (jobs.size < maxJobs) return true;
    let visited = 0;
    for (const [id, job] of jobs) {
      if (job.doneMs <= clock.nowMs()) return jobs.delete(id);
      visited += 1;
      if (visited === EVICTION_LOOKAHEAD) break;
    }
    return false;
  }

  return {
    get size() {
      return jobs.size;
    },
    references,
    countRunning() {
      const now = clock.nowMs();
      return [...jobs.values()].filter(({ doneMs }) => doneMs > now).length;
    },
    noteOrder(reference) {
      const count = references.get(reference);
      if (count) count.creates += 1;
      else references.set(reference, { creates: 1, jobs: [] });
      const oldest = references.size > maxJobs ? references.keys().next() : undefined;
      if (oldest && !oldest.done) references.delete(oldest.value);
    },
    create(order) {
      if (!evictIfFull()) return undefined;
      created += 1;
      const { script } = order;
      const runMs = script.instant ? 0 : (script.durationMs ?? durationMs) * (script.slow ? 10 : 1);
      const createdMs = clock.nowMs();
      const id = `${prefix}${created.toString(36).padStart(6, '0')}`;
      const job: Job = { ...order, id, createdMs, doneMs: createdMs + runMs, polls: 0, downloads: 0 };
      jobs.set(id, job);
      const count = references.get(order.reference);
      if (count && count.jobs.length < JOBS_KEPT_BY_REFERENCE) count.jobs.push(id);
      return job;
    },
    find: (id) => jobs.get(id),
    readProgress({ createdMs, doneMs, script }) {
      const now = clock.nowMs();
      if (now >= doneMs) return { status: script.fail ? 'failed' : 'succeeded', progress: 100 };
      const share = (now - createdMs) / (doneMs - createdMs);
      return { status: share < QUEUED_SHARE ? 'queued' : 'running', progress: Math.min(99, Math.floor(share * 100)) };
    },
  };
}
