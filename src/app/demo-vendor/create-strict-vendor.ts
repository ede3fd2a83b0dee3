import { createHash, createHmac } from 'node:crypto';
import { type Clock, constantTimeEqual, randomAlnum } from '../../kernel/index.ts';
import { createJobs, type Job, type Order } from './demo-jobs.ts';
import { readOrder } from './read-order.ts';
import { serveVideo } from './serve-video.ts';

/** The only key that the vendor knows: the id of an account and its secret. */
export const STRICT_VENDOR_KEY = 'demo|strict-secret-0123456789';

const DEFAULT_DURATION_MS = 6000;
const DEFAULT_LINK_SECONDS = 30;
const MAX_JOBS = 10_000;
/** How far the time of a request may be from the vendor's. */
const MAX_SKEW_SECONDS = 300;
const IDLE_TIMEOUT_SECONDS = 60;

export type StrictVendorOptions = { clock: Clock; durationMs?: number; linkSeconds?: number };

const failed = (status: number, code: string, message: string): Response =>
  Response.json({ error: { code, message } }, { status });
const noSuchJob = (): Response => failed(404, 'not_found', 'There is no such job.');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex');

/**
 * The part of a request that is signed: a text as it is, a form as its fields by name, without
 * files.
 */
async function readContent(request: Request): Promise<string> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('multipart/form-data')) return request.clone().text();
  const form = await request.clone().formData();
  const fields = [...form].flatMap(([name, value]) => (typeof value === 'string' ? [`${name}=${value}`] : []));
  return fields.sort().join('\n');
}

/**
 * A vendor that is as demanding as real ones: every request is signed, a job is created and then
 * started, and the links to its files expire. All in memory, with the jobs and directives of the
 * demo vendor.
 */
export function createStrictVendor(options: StrictVendorOptions) {
  const { clock, durationMs = DEFAULT_DURATION_MS, linkSeconds = DEFAULT_LINK_SECONDS } = options;
  const [accessId = '', secret = ''] = STRICT_VENDOR_KEY.split('|');
  const jobs = createJobs(clock, { prefix: 'run_', maxJobs: MAX_JOBS, durationMs });
  const drafts = new Map<string, { order: Order; job: Job | undefined }>();
  const counts = { creates: 0, starts: 0, refused_starts: 0, polls: 0, links: 0, unsigned: 0, expired: 0 };

  async function findFault(request: Request, { pathname, search }: URL): Promise<string | undefined> {
    const [id, time, signature] = ['x-access-id', 'x-timestamp', 'x-signature'].map(
      (name) => request.headers.get(name) ?? '',
    );
    if (id !== accessId) return `The header X-Access-Id must be "${accessId}".`;
    if (!/^\d+$/.test(time ?? '') || Math.abs(Number(time) - clock.unix()) > MAX_SKEW_SECONDS) {
      return `The header X-Timestamp must be the time in seconds, at most ${MAX_SKEW_SECONDS} s away.`;
    }
    const text = [request.method, pathname + search, time, sha256(await readContent(request))].join('\n');
    return constantTimeEqual(signature ?? '', hmac(secret, text)) ? undefined : 'The header X-Signature is wrong.';
  }

  async function create(request: Request): Promise<Response> {
    const order = await readOrder(request);
    if (!order.ok) return failed(400, 'invalid_request', order.error);
    const { submit } = order.value.script;
    if (submit === '400') return failed(400, 'content_policy', 'This prompt is not allowed.');
    if (submit === '429') return failed(429, 'busy', 'Too many jobs are running.');
    if (drafts.size >= MAX_JOBS) return failed(503, 'no_capacity', 'There are too many jobs.');
    counts.creates += 1;
    const id = `job_${randomAlnum(10)}`;
    drafts.set(id, { order: order.value, job: undefined });
    return Response.json(show(id));
  }

  function show(id: string) {
    const { order, job } = drafts.get(id) ?? {};
    const state = job === undefined ? 'draft' : jobs.readProgress(job).status;
    return {
      job_id: id,
      state,
      ...(order?.image ? { image: order.image } : {}),
      ...(state === 'failed' ? { error: { message: 'The video could not be generated.' } } : {}),
      ...(state === 'succeeded' ? { seconds: order?.script.actualSeconds ?? order?.seconds } : {}),
    };
  }

  function start(id: string): Response {
    const draft = drafts.get(id);
    if (!draft) return noSuchJob();
    if (draft.job) {
      counts.refused_starts += 1;
      return failed(409, 'already_started', 'The job has been started before.');
    }
    draft.job = jobs.create(draft.order);
    if (!draft.job) return failed(503, 'no_capacity', 'There are too many jobs.');
    counts.starts += 1;
    return Response.json(show(id));
  }

  function listFiles(id: string, origin: string): Response {
    const job = drafts.get(id)?.job;
    if (!job || jobs.readProgress(job).status !== 'succeeded')
      return failed(409, 'not_ready', 'There are no files yet.');
    counts.links += 1;
    const expires = clock.unix() + linkSeconds;
    const url = `${origin}/files/${id}.mp4?expires=${expires}&token=${hmac(secret, `${id} ${expires}`)}`;
    return Response.json({ files: [{ name: 'video', url, expires_in: linkSeconds }] });
  }

  function download(request: Request, id: string, query: URLSearchParams): Response {
    const expires = query.get('expires') ?? '';
    const job = drafts.get(id)?.job;
    if (!job || !constantTimeEqual(query.get('token') ?? '', hmac(secret, `${id} ${expires}`))) return noSuchJob();
    if (Number(expires) >= clock.unix()) return serveVideo(job, request);
    counts.expired += 1;
    return failed(403, 'expired', 'This link has expired.');
  }

  async function handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { method } = request;
    if (url.pathname === '/' && method === 'GET') return new Response(describeStrictApi());
    if (url.pathname === '/stats' && method === 'GET') return Response.json(counts);
    const file = /^\/files\/(\w+)\.mp4$/.exec(url.pathname)?.[1];
    if (file !== undefined && (method === 'GET' || method === 'HEAD')) return download(request, file, url.searchParams);
    const [route, id = '', action] = /^\/v2\/jobs(?:\/(\w+)(\/start|\/files)?)?$/.exec(url.pathname) ?? [];
    if (route === undefined) return failed(404, 'not_found', 'There is nothing here.');
    const fault = await findFault(request, url);
    if (fault !== undefined) {
      counts.unsigned += 1;
      return failed(401, 'bad_signature', fault);
    }
    if (id === '' && method === 'POST') return create(request);
    if (action === '/start' && method === 'POST') return start(id);
    if (action === '/files' && method === 'GET') return drafts.has(id) ? listFiles(id, url.origin) : noSuchJob();
    if (id === '' || action !== undefined || method !== 'GET') return failed(405, 'method_not_allowed', 'Not allowed.');
    counts.polls += 1;
    return drafts.has(id) ? Response.json(show(id)) : noSuchJob();
  }

  return {
    async start(port: number) {
      const server = Bun.serve({ port, hostname: '127.0.0.1', idleTimeout: IDLE_TIMEOUT_SECONDS, fetch: handle });
      return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
    },
  };
}

/** The page at the vendor's address. */
const describeStrictApi = (): string => `Strict vendor: an asynchronous video API with signed requests, all in memory.

POST /v2/jobs             creates a job: {model, prompt, seconds?} as JSON, or a form with a file "image"
                          -> {"job_id": "job_1", "state": "draft"}
POST /v2/jobs/ID/start    starts it, once; a second time 409 already_started
GET  /v2/jobs/ID          {"job_id", "state": draft | queued | running | succeeded | failed, "seconds"?, "error"?}
GET  /v2/jobs/ID/files    {"files": [{"name": "video", "url", "expires_in": seconds}]}; the url needs no signature
GET  /stats               what arrived here

Every request but those to a file's url has three headers. The key is ACCESS_ID|SECRET, here ${STRICT_VENDOR_KEY}.

X-Access-Id   ACCESS_ID
X-Timestamp   the time in seconds
X-Signature   hex(HMAC-SHA256(SECRET, METHOD + "\\n" + PATH_AND_QUERY + "\\n" + X-Timestamp + "\\n" + hex(SHA256(CONTENT))))

CONTENT is the body as it is sent, empty for none. For a form it is the fields as NAME=VALUE, sorted, joined by "\\n"; files are
not signed.

Directives in the prompt control a job, as with the demo vendor: [duration=2] [fail] [instant] [submit=400] [submit=429]
`;
