import type { Faults } from './faults.ts';
import type { Site, WireAnswer, WireRequest } from './network.ts';
import type { Queue } from './plan-queue.ts';
import type { SeededRandom } from './random.ts';
import type { World } from './world.ts';

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed';

/** A job that the vendor has, and bills. */
export type Job = {
  id: string;
  /** The name of the order that it was made for, which stands in the prompt. */
  order: string;
  /** Whose it is. */
  account: string;
  /** The key that it was made with: no other may look at it. */
  key: string;
  /** The gateway's id of the task. */
  reference: string;
  seconds: number;
  createdMs: number;
  endsMs: number;
  end: 'succeeded' | 'failed';
  /** The process that sent the order. */
  by: string;
};

/** What the vendor said about a job, and whether the whole answer arrived. */
export type Statement = {
  atMs: number;
  call: 'submit' | 'poll';
  by: string;
  /** Empty for an answer about no job, such as a refusal. */
  job: string;
  order: string;
  httpStatus: number;
  /** What a valid answer said. */
  status?: JobStatus | undefined;
  seconds?: number | undefined;
  seenMs?: number;
};

/** A request to make a job, as it arrived. `running`: the jobs of its account before it. */
export type Arrival = {
  atMs: number;
  order: string;
  account: string;
  key: string;
  running: number;
  isFull: boolean;
  isDead: boolean;
};

/** `runs`: what the vendor runs at once in an account. `dead`: a key that it refuses for a time. */
export type Accounts = { runs: number; isShared: boolean; dead: Queue['dead'] };

export type Vendor = {
  site: Site;
  readonly arrivals: readonly Arrival[];
  /** What the account of each channel runs now, by its key. */
  running(account: string): number;
  readonly jobs: ReadonlyMap<string, Job>;
  readonly statements: readonly Statement[];
  /** The bytes of a job's result. */
  content(job: Job): string;
};

const ORDER = /order-\d+/;

export function readKey(headers: Record<string, string>): string {
  const [, value = ''] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization') ?? [];
  return value.replace(/^Bearer /, '');
}

/** The account that a key is of. */
export const nameAccount = (key: string): string => key.replace(/^vendor-key-of-/, '').replace(/\/.*/, '');

const EARLIER: Record<JobStatus, JobStatus> = {
  queued: 'queued',
  running: 'queued',
  succeeded: 'running',
  failed: 'running',
};
const RETRY_AFTER = ['1', '7', '60', '900'] as const;

/** How the vendor will treat an order, by its name. */
export type OrderFate = { durationMs: number; end: Job['end']; usedSeconds: number; refused: boolean };

/** A vendor that speaks the demo vendor's language, forgets, stammers and refuses. */
export function createVendor(
  { world, faults, accounts }: { world: World; faults: Faults; accounts: Accounts },
  fateFor: (order: string) => OrderFate,
): Vendor {
  const random: SeededRandom = world.random.fork();
  const jobs = new Map<string, Job>();
  const forgotten = new Set<string>();
  const statements: Statement[] = [];
  const arrivals: Arrival[] = [];
  const content = (job: Job): string => `the result of ${job.id}, `.repeat(40);

  function say(statement: Omit<Statement, 'atMs'>, answer: Omit<WireAnswer, 'onSeen'>): WireAnswer {
    const said: Statement = { ...statement, atMs: world.nowMs() };
    statements.push(said);
    world.note(`vendor to ${said.by}: ${said.call} ${said.order} ${said.httpStatus} ${said.status ?? ''}`);
    return {
      ...answer,
      onSeen: () => {
        said.seenMs ??= world.nowMs();
      },
    };
  }

  const refuse = (statement: Omit<Statement, 'atMs' | 'httpStatus'>, status: number, headers = {}): WireAnswer =>
    say({ ...statement, httpStatus: status }, { status, headers, body: '{"error":{"message":"not now"}}' });

  /** A fault of this request, if it has one, before anything was done. */
  function findFault(statement: Omit<Statement, 'atMs' | 'httpStatus'>): WireAnswer | undefined {
    if (faults.draw('busy'))
      return refuse(statement, 429, random.chance(0.5) ? { 'retry-after': random.pick(RETRY_AFTER) } : {});
    if (faults.draw('broken')) return refuse(statement, random.pick([500, 502, 503, 504]));
    return undefined;
  }

  function readProgress(job: Job): JobStatus {
    const now = world.nowMs();
    if (now >= job.endsMs) return job.end;
    return now < job.createdMs + (job.endsMs - job.createdMs) / 4 ? 'queued' : 'running';
  }

  function show(job: Job, status: JobStatus) {
    const { usedSeconds } = fateFor(job.order);
    return {
      id: job.id,
      status,
      progress: { queued: 0, running: 40, succeeded: 100, failed: 100 }[status],
      prompt: job.order,
      seconds: job.seconds,
      ...(status === 'succeeded' ? { usage: { seconds: usedSeconds, resolution: '720p' } } : {}),
      ...(status === 'failed' ? { error: { message: `${job.order} cannot be generated` } } : {}),
    };
  }

  /** What it has forgotten it does not run. */
  const countRunning = (account: string): number =>
    [...jobs.values()].filter((job) => job.account === account && job.endsMs > world.nowMs() && !forgotten.has(job.id))
      .length;

  function create({ body, from, headers }: WireRequest): WireAnswer {
    const given = JSON.parse(body) as { prompt: string; seconds: number; reference_id: string };
    const order = ORDER.exec(given.prompt)?.[0] ?? '';
    const fate = fateFor(order);
    const about = { call: 'submit' as const, by: from.name, order, job: '' };
    const key = readKey(headers);
    const account = accounts.isShared ? 'one account' : nameAccount(key);
    const running = countRunning(account);
    const isFull = running >= accounts.runs;
    const { dead } = accounts;
    const isDead = dead?.key === key && dead.fromMs <= world.nowMs() && world.nowMs() < dead.untilMs;
    arrivals.push({ atMs: world.nowMs(), order, account, key, running, isFull, isDead });
    if (isDead) return refuse(about, 401);
    if (fate.refused) return refuse(about, 400);
    if (isFull) return refuse(about, 429, random.chance(0.3) ? { 'retry-after': '2' } : {});
    const fault = findFault(about);
    if (fault) return fault;
    const createdMs = world.nowMs();
    const job: Job = {
      id: `job_${jobs.size + 1}`,
      ...{ order, account, key },
      reference: given.reference_id,
      seconds: given.seconds,
      createdMs,
      endsMs: createdMs + fate.durationMs,
      end: fate.end,
      by: from.name,
    };
    jobs.set(job.id, job);
    const made = { ...about, job: job.id };
    if (faults.draw('brokenAfter')) return refuse(made, 502);
    if (faults.draw('garbage'))
      return say({ ...made, httpStatus: 200 }, { status: 200, body: '<html>It works!</html>' });
    return answerAbout(made, job);
  }

  function answerAbout(statement: Omit<Statement, 'atMs' | 'httpStatus'>, job: Job): WireAnswer {
    const status = stateToTell(job);
    const seconds = fateFor(job.order).usedSeconds;
    return say(
      { ...statement, httpStatus: 200, status, seconds },
      { status: 200, body: JSON.stringify(show(job, status)) },
    );
  }

  const stateToTell = (job: Job): JobStatus => {
    const status = readProgress(job);
    return faults.draw('backwards') ? EARLIER[status] : status;
  };

  function isForgotten({ id }: Job): boolean {
    if (!forgotten.has(id) && faults.draw('forgotten')) forgotten.add(id);
    return forgotten.has(id);
  }

  function poll(id: string, { from, headers }: WireRequest): WireAnswer {
    const job = jobs.get(id);
    const about = { call: 'poll' as const, by: from.name, order: job?.order ?? '', job: id };
    if (job && job.key !== readKey(headers)) return refuse({ ...about, job: '' }, 404);
    if (!job || isForgotten(job)) return refuse(about, 404);
    const fault = findFault(about);
    if (fault) return fault;
    if (faults.draw('garbage'))
      return say({ ...about, httpStatus: 200 }, { status: 200, body: '{"status":"wobbling"}' });
    return answerAbout(about, job);
  }

  function pollBatch(ids: readonly string[], { from }: WireRequest): WireAnswer {
    const asked = ids.map((id) => jobs.get(id)).filter((job) => job !== undefined);
    const about = { call: 'poll' as const, by: from.name, order: '', job: '' };
    const fault = findFault(about);
    if (fault) return fault;
    const seen: (() => void)[] = [];
    const shown = asked
      .filter((job) => !isForgotten(job))
      .map((job) => {
        const status = stateToTell(job);
        const seconds = fateFor(job.order).usedSeconds;
        const said = { ...about, order: job.order, job: job.id, httpStatus: 200, status, seconds };
        seen.push(say(said, { status: 200, body: '' }).onSeen ?? (() => {}));
        return show(job, status);
      });
    return { status: 200, body: JSON.stringify({ jobs: shown }), onSeen: () => void seen.map((see) => see()) };
  }

  return {
    jobs,
    statements,
    arrivals,
    running: countRunning,
    content,
    site(request) {
      const [, id, isContent] = /^\/v1\/jobs(?:\/([^/]+)(\/content)?)?$/.exec(request.url.pathname) ?? [];
      if (request.method === 'POST') return create(request);
      if (id === undefined) return pollBatch((request.url.searchParams.get('ids') ?? '').split(','), request);
      if (!isContent) return poll(id, request);
      const job = jobs.get(id);
      const about = { call: 'poll' as const, by: request.from.name, order: job?.order ?? '', job: id };
      const fault = findFault(about);
      if (fault) return fault;
      return job && !forgotten.has(id)
        ? { status: 200, headers: { 'content-type': 'video/mp4' }, body: content(job) }
        : { status: 404, body: '' };
    },
  };
}
