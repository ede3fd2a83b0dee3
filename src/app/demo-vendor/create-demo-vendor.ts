import { type Clock, constantTimeEqual, randomAlnum } from '../../kernel/index.ts';
import { createJobs, type Job } from './demo-jobs.ts';
import { readOrder } from './read-order.ts';
import { serveVideo } from './serve-video.ts';

export const DEMO_VENDOR_PORT = 4010;

export type DemoVendorOptions = {
  clock: Clock;
  /** The only accepted bearer key. Default: any key that does not begin with `invalid`. */
  key?: string;
  /** The duration of a job without a directive. */
  durationMs?: number;
  /** Requests per second of all keys, then 429 with `Retry-After`. Default: no limit. */
  requestsPerSecond?: number;
  maxJobs?: number;
  /** Jobs that run at once, then 429 without `Retry-After`. Default: no limit. */
  maxRunning?: number;
};

export interface DemoVendor {
  handle(request: Request): Promise<Response>;
  /** Accepts only this bearer key from now on. */
  changeKey(next: string): void;
  /** Listens on loopback; port 0 takes a free one. */
  start(port: number): Promise<{ url: string; stop(): Promise<void> }>;
}

const DEFAULT_DURATION_MS = 6000;
const DEFAULT_MAX_JOBS = 200_000;
const MAX_BATCH = 100;
const MAX_LISTED_DUPLICATES = 100;
// The gateway keeps idle connections for four seconds; the server must keep them longer.
const IDLE_TIMEOUT_SECONDS = 60;

const failed = (
  status: number,
  error: { code: string; message: string },
  headers: Record<string, string> = {},
): Response => Response.json({ error }, { status, headers });
const rateLimited = () => failed(429, { code: 'rate_limited', message: 'Too many requests.' }, { 'retry-after': '1' });
const broken = () => failed(500, { code: 'internal', message: 'Something broke here.' });
const garbage = () => new Response('<html><body>It works!</body></html>', { headers: { 'content-type': 'text/html' } });
const noSuchJob = () => failed(404, { code: 'not_found', message: 'There is no such job.' });

/**
 * An asynchronous video API, all in memory: `POST /v1/jobs` (JSON or multipart), `GET
 * /v1/jobs/:id`, `GET /v1/jobs?ids=a,b`, `GET|HEAD /v1/jobs/:id/content`, and `GET
 * /stats[?reference_id=]`, which counts what arrived and needs no key. Directives in the prompt
 * control a job: see `Script`.
 */
export function createDemoVendor(options: DemoVendorOptions): DemoVendor {
  const { clock, requestsPerSecond = Number.POSITIVE_INFINITY, maxJobs = DEFAULT_MAX_JOBS, maxRunning } = options;
  let { key } = options;
  const durationMs = options.durationMs ?? DEFAULT_DURATION_MS;
  const jobs = createJobs(clock, { prefix: `job_${randomAlnum(6)}`, maxJobs, durationMs });
  const counts = {
    creates: 0,
    jobs: 0,
    polls: 0,
    batch_polls: 0,
    downloads: 0,
    unauthorized: 0,
    rate_limited: 0,
    full: 0,
    most_running: 0,
  };
  const window = { second: 0, requests: 0 };

  function isAuthorized(request: Request): boolean {
    const given = /^Bearer (\S+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
    if (given === undefined) return false;
    return key === undefined ? !given.startsWith('invalid') : constantTimeEqual(given, key);
  }

  function isOverLimit(): boolean {
    const second = clock.unix();
    if (window.second !== second) Object.assign(window, { second, requests: 0 });
    window.requests += 1;
    return window.requests > requestsPerSecond;
  }

  const pause = async (ms: number, request: Request) => {
    if (ms > 0) await clock.sleep(ms, request.signal);
  };

  /** The job as its client sees it. */
  function show(job: Job) {
    const { id, model, prompt, seconds, resolution, reference, image, script } = job;
    const { status, progress } = jobs.readProgress(job);
    return {
      id,
      object: 'video.job',
      status,
      progress,
      model,
      prompt,
      seconds,
      resolution,
      reference_id: reference,
      created_at: Math.floor(job.createdMs / 1000),
      ...(image && { image }),
      ...(status === 'succeeded' && {
        content_path: `/v1/jobs/${id}/content`,
        usage: { seconds: script.actualSeconds ?? seconds, resolution },
      }),
      ...(status === 'failed' && {
        error: { code: 'generation_failed', message: 'The video could not be generated.' },
      }),
    };
  }

  async function create(request: Request): Promise<Response> {
    const order = await readOrder(request);
    if (!order.ok) return failed(400, { code: 'invalid_request', message: order.error });
    const { script, reference } = order.value;
    counts.creates += 1;
    if (reference !== '') jobs.noteOrder(reference);
    if (script.submit === '429') return rateLimited();
    if (script.submit === '400') return failed(400, { code: 'content_policy', message: 'This prompt is not allowed.' });
    if (script.submit === '500') return broken();
    if (maxRunning !== undefined) {
      const running = jobs.countRunning();
      counts.most_running = Math.max(counts.most_running, running + 1);
      if (running >= maxRunning) {
        counts.full += 1;
        return failed(429, { code: 'concurrency_limit', message: `At most ${maxRunning} jobs run at once.` });
      }
    }
    const job = jobs.create(order.value);
    if (!job)
      return failed(503, { code: 'no_capacity', message: 'Too many jobs are running.' }, { 'retry-after': '5' });
    counts.jobs += 1;
    await pause(script.delayMs, request);
    return script.submit === 'garbage' ? garbage() : Response.json(show(job));
  }

  async function poll(job: Job, request: Request): Promise<Response> {
    counts.polls += 1;
    job.polls += 1;
    const { script, polls } = job;
    await pause(script.delayMs, request);
    if (script.lost) return noSuchJob();
    if (polls <= script.rateLimited) return rateLimited();
    if (polls <= script.broken) return broken();
    if (polls <= script.garbage) return garbage();
    return Response.json(show(job));
  }

  /** Leaves out unknown jobs and those with the directive `404`. */
  async function pollBatch(ids: readonly string[], request: Request): Promise<Response> {
    counts.batch_polls += 1;
    if (ids.length === 0 || ids.length > MAX_BATCH)
      return failed(400, { code: 'invalid_request', message: `ids takes 1 to ${MAX_BATCH} ids.` });
    const found = ids.map((id) => jobs.find(id)).filter((job) => job !== undefined);
    for (const job of found) job.polls += 1;
    await pause(Math.max(0, ...found.map((job) => job.script.delayMs)), request);
    if (found.some((job) => job.script.poisonsBatch)) return noSuchJob();
    if (found.some((job) => job.polls <= job.script.rateLimited)) return rateLimited();
    if (found.some((job) => job.polls <= job.script.broken)) return broken();
    const visible = found.filter((job) => !job.script.lost);
    return Response.json({
      jobs: visible.map((job) => (job.polls <= job.script.garbage ? { id: job.id, status: 'wobbling' } : show(job))),
    });
  }

  function download(job: Job, request: Request): Response {
    counts.downloads += request.method === 'GET' ? 1 : 0;
    job.downloads += request.method === 'GET' ? 1 : 0;
    if (jobs.readProgress(job).status !== 'succeeded')
      return failed(409, { code: 'not_ready', message: 'The job has no result.' });
    return serveVideo(job, request);
  }

  function stats(reference: string | null): Response {
    if (reference === null) {
      const duplicates = [...jobs.references].filter(([, { creates }]) => creates > 1);
      return Response.json({
        ...counts,
        jobs_kept: jobs.size,
        references: jobs.references.size,
        duplicate_references: Object.fromEntries(
          duplicates.slice(0, MAX_LISTED_DUPLICATES).map(([name, { creates }]) => [name, creates]),
        ),
      });
    }
    const count = jobs.references.get(reference);
    return Response.json({
      reference_id: reference,
      creates: count?.creates ?? 0,
      jobs: (count?.jobs ?? []).flatMap((id) => {
        const job = jobs.find(id);
        return job ? [{ id, polls: job.polls, downloads: job.downloads, status: jobs.readProgress(job).status }] : [];
      }),
    });
  }

  async function handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { method } = request;
    if (url.pathname === '/stats' && method === 'GET') return stats(url.searchParams.get('reference_id'));
    if (url.pathname === '/' && method === 'GET') return new Response(describeApi());
    const match = /^\/v1\/jobs(?:\/([^/]+)(\/content)?)?$/.exec(url.pathname);
    if (!match) return failed(404, { code: 'not_found', message: 'There is nothing here. The API is under /v1/jobs.' });
    if (!isAuthorized(request)) {
      counts.unauthorized += 1;
      return failed(
        401,
        { code: 'unauthorized', message: 'The key is missing or wrong.' },
        { 'www-authenticate': 'Bearer' },
      );
    }
    if (isOverLimit()) {
      counts.rate_limited += 1;
      return rateLimited();
    }
    const [, id, content] = match;
    if (id === undefined && method === 'POST') return create(request);
    if (id === undefined && method === 'GET') {
      return pollBatch((url.searchParams.get('ids') ?? '').split(',').filter(Boolean), request);
    }
    const allowed = id === undefined ? 'GET, POST' : content ? 'GET, HEAD' : 'GET';
    if (id === undefined || !allowed.includes(method)) {
      return failed(
        405,
        { code: 'method_not_allowed', message: 'This method is not allowed here.' },
        { allow: allowed },
      );
    }
    const job = jobs.find(id);
    if (!job) {
      counts.polls += content ? 0 : 1;
      return noSuchJob();
    }
    return content ? download(job, request) : poll(job, request);
  }

  return {
    handle,
    changeKey(next) {
      key = next;
    },
    async start(port) {
      const server = Bun.serve({ port, hostname: '127.0.0.1', idleTimeout: IDLE_TIMEOUT_SECONDS, fetch: handle });
      return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
    },
  };
}

/** The page at the vendor's address. */
const describeApi = (): string => `Demo vendor: an asynchronous video API, all in memory.

POST /v1/jobs               {model, prompt, seconds?, resolution?, image?, reference_id?, script?}, or a form with a file "image"
GET  /v1/jobs/:id           the job
GET  /v1/jobs?ids=a,b       up to 100 jobs
GET  /v1/jobs/:id/content   the video; HEAD and Range too
GET  /stats                 what arrived here; ?reference_id= for one order

Send any key as "Authorization: Bearer KEY"; keys that begin with "invalid" are refused.

Directives in the prompt, "a cat [fail] [duration=2]", or in "script" control a job:

[instant]            done when it is created
[duration=SECONDS]   takes this long
[slow]               takes ten times as long
[fail]               ends as failed
[seconds=N]          the length of the result, whatever was ordered
[bytes=N]            the file is padded to about this size
[delay=SECONDS]      every answer about the job waits this long
[404]                every poll answers that there is no such job
[429] [500] [garbage]   the first three polls fail; =N polls, or =always
[submit=400] [submit=429] [submit=500]   the order is refused
[submit=garbage]     the order is accepted, but the answer is not JSON
[batch=404]          a batch with this job is answered 404 as a whole
`;
