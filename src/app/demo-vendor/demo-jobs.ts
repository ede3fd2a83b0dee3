import type { Clock } from '../../kernel/index.ts';

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
type ReferenceCount = { creates: number; jobs: string[] };

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed';

const QUEUED_SHARE = 0.1;
// If none of the oldest jobs has finished, the vendor is full of running ones and refuses orders.
const EVICTION_LOOKAHEAD = 1000;
const JOBS_KEPT_BY_REFERENCE = 10;

export interface Jobs {
  readonly size: number;
  readonly references: ReadonlyMap<string, ReferenceCount>;
  /** Jobs that have not ended. */
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

/** How many polls fail before they succeed again. */
type Times = number;

/** How a job behaves, from its prompt (`a cat [fail] [duration=2]`) or its field `script`. */
export type Script = {
  /** `fail`: ends as failed. */
  fail: boolean;
  /** `instant`: done at its creation. */
  instant: boolean;
  /** `duration=SECONDS`: how long it takes. */
  durationMs: number | undefined;
  /** `slow`: takes ten times as long. */
  slow: boolean;
  /** `delay=SECONDS`: every answer about the job, its creation included, waits this long. */
  delayMs: number;
  /** `404`: every poll answers that there is no such job. */
  lost: boolean;
  /** `429`, `500`, `garbage`: the first three polls, `=N` polls or `=always`. */
  rateLimited: Times;
  broken: Times;
  garbage: Times;
  /** `submit=429`, `400`, `500`: creates no job. `submit=garbage`: creates one, answers garbage. */
  submit: '429' | '400' | '500' | 'garbage' | undefined;
  /** `batch=404`: a batch with this job is answered 404 as a whole. */
  poisonsBatch: boolean;
  /** `seconds=N`: the length of the result, whatever was ordered. */
  actualSeconds: number | undefined;
  /** `bytes=N`: the file is padded to about this size, at most 64 MiB. */
  bytes: number;
};

const DEFAULT_TIMES = 3;
const MAX_BYTES = 64 * 1024 * 1024;

/** Reads the directives in square brackets; unknown ones are part of the prompt. */
export function readScript(text: string): Script {
  const directives = new Map<string, string>();
  for (const [, name = '', value = ''] of text.matchAll(/\[([a-z0-9]+)(?:=([a-z0-9.]+))?\]/g))
    directives.set(name, value);

  const number = (name: string): number | undefined => {
    const value = Number(directives.get(name) || Number.NaN);
    return Number.isFinite(value) && value >= 0 ? value : undefined;
  };
  const times = (name: string): Times => {
    if (!directives.has(name)) return 0;
    return directives.get(name) === 'always' ? Number.POSITIVE_INFINITY : (number(name) ?? DEFAULT_TIMES);
  };
  const seconds = number('duration');
  const submit = directives.get('submit');
  return {
    fail: directives.has('fail'),
    instant: directives.has('instant'),
    durationMs: seconds === undefined ? undefined : seconds * 1000,
    slow: directives.has('slow'),
    delayMs: (number('delay') ?? 0) * 1000,
    lost: directives.has('404'),
    rateLimited: times('429'),
    broken: times('500'),
    garbage: times('garbage'),
    submit: submit === '429' || submit === '400' || submit === '500' || submit === 'garbage' ? submit : undefined,
    poisonsBatch: directives.get('batch') === '404',
    actualSeconds: number('seconds'),
    bytes: Math.min(number('bytes') ?? 0, MAX_BYTES),
  };
}
