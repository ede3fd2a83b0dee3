/**
 * Real vendors' APIs, played on loopback from a table. A vendor checks every request that it
 * receives against what its API description asks for; a difference is answered with 400 and kept
 * for the test. Requests find their scenario by a word that the prompt, the job's id and the
 * result's address carry: see {@link mark}.
 */
import { isDeepStrictEqual } from 'node:util';

/** What a vendor received. */
export type Received = {
  method: string;
  path: string;
  query: Record<string, string>;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** The body as it came; for a multipart body only the text of the boundary, see `fields`. */
  text: string;
  /** The JSON body; undefined where there is none. */
  json: unknown;
  /** A multipart or urlencoded body: texts, and files as `{file, type, bytes}`. */
  fields: Record<string, string | { file: string; type: string; bytes: Uint8Array<ArrayBuffer> }> | undefined;
};

/**
 * What a request must be. What is not named is not looked at, except that a body must then be
 * absent.
 */
export type Expected = {
  method: string;
  path: string;
  /** The whole query; without it there must be none. */
  query?: Record<string, string>;
  /** Lower-case names; null: the header must be absent. */
  headers?: Record<string, string | RegExp | null>;
  /**
   * The JSON body must equal this. `"{vendor}"` in texts stands for the vendor's own address, here
   * and in answers.
   */
  json?: unknown;
  /** The multipart fields must equal these. */
  fields?: Received['fields'];
  /**
   * Anything else: a sentence says what is wrong. `body` is checked by this alone where neither
   * `json` nor `fields` is given.
   */
  check?: (received: Received) => string | undefined;
};

export type Answer = {
  /** 200 by default. */
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string;
  bytes?: Uint8Array<ArrayBuffer>;
};

/** What the gateway and its client must have in the end. */
export type Outcome = {
  /**
   * The answer to the client's submission where it is not 200; then nothing below is looked at but
   * `attempts` and `jobs`.
   */
  refused?: { status: number; message: string };
  status?: 'SUCCESS' | 'FAILURE';
  /** The exact fail_reason; "" by default. */
  reason?: string;
  /** The artifacts' bytes by key, fetched through the gateway. */
  artifacts?: Record<string, Uint8Array>;
  /** Members that `GET /v1/videos/:id` must have. */
  video?: Record<string, unknown>;
  /** In quota units; 0 by default. */
  bill?: number;
  /**
   * Submissions that reach the vendor; 1 by default, 2 after one 429 since the plugin has two
   * channels.
   */
  attempts?: number;
  /** Jobs that the vendor has made of them; 1 by default. */
  jobs?: number;
};

/**
 * A request to the plugin's own routes; `{task:name}` in it stands for the task of that scenario.
 * POST where there is a body.
 */
export type NativeRequest = {
  path: string;
  json?: Record<string, unknown>;
  /** A multipart body in place of JSON. */
  form?: Record<string, string | File>;
};

// biome-ignore lint/suspicious/noExplicitAny: every vendor's are different
type VendorAnswer = any;

/** A client that speaks to the gateway as it would to the vendor. */
export type NativeClient = {
  via: 'native';
  submit: NativeRequest;
  taskIdIn: (answer: VendorAnswer) => unknown;
  read: (id: string) => NativeRequest;
  isEnded: (answer: VendorAnswer) => boolean;
  /**
   * The vendor's answers as the gateway gives them: to the submission, and the last one to a query.
   * `{task}` stands for the task's id.
   */
  answers: { submitted: unknown; finished: unknown };
};

export type Scenario = {
  /**
   * Words of `a-z 0-9` with dashes; unique in its vendor. Write it into the prompt, ids and
   * addresses as `mark(name)`.
   */
  name: string;
  client:
    | { via: 'video'; json: Record<string, unknown> }
    /** `POST /v1/videos` as multipart. */
    | { via: 'video'; form: Record<string, string | File> }
    | { via: 'generic'; json: Record<string, unknown> }
    | NativeClient;
  /**
   * The scenario whose job this one builds on: its word may stand in this one's requests as well.
   */
  origin?: string;
  /** Absent where the gateway must refuse before it calls the vendor. */
  submit?: { expect: Expected; answers: Answer[] };
  /** One answer a poll; the last one for all that follow. `batch` vendors: see {@link Batch}. */
  poll?: { expect?: Expected; answers: Answer[] };
  /** Where the results are fetched. */
  content?: { expect: Expected; answer: Answer }[];
  outcome: Outcome;
};

/**
 * A vendor that tells of many jobs in one answer: each scenario's `json` answer is an item of it;
 * any other answer stands for the whole.
 */
export type Batch = {
  expect: Expected;
  /** The names of the jobs that are asked for, as texts that carry their marks. */
  jobs: (received: Received) => string[];
  compose: (items: unknown[]) => unknown;
};

/**
 * Everything a test needs of a plugin: one object a file, `test/factory/<key>.ts`, exported as
 * `vendor`.
 */
export type Vendor = {
  key: string;
  /** `{vendor}` in the key stands for the vendor's own address. */
  channel: {
    key: string;
    models: string[];
    model_mapping?: Record<string, string>;
    settings?: Record<string, unknown>;
  };
  /** Expressions by model. */
  prices: Record<string, string>;
  /** Checks the credentials of every request except those to `content`. Gives what is wrong. */
  authorize: (received: Received) => string | undefined;
  batch?: Batch;
  /** Answers a request that no scenario has, such as one for a token; `undefined` for others. */
  serve?: (received: Received, origin: string) => Promise<Answer | undefined>;
  scenarios: Scenario[];
};

/** What clients read where every account's key is refused. */
export const REFUSED_KEY = "The vendor rejected the channel's key.";

/** What a client reads when the channel's account is empty. */
export const NO_QUOTA =
  'The gateway has no quota left at the vendor for this model. Try again later, or tell the operator.';

/** The word that binds requests to their scenario; it may stand in a text, an id or an address. */
export const mark = (name: string): string => `x-${name}-x`;

/** A result file: different for every name. */
export const videoBytes = (name: string): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(`\0\0\0\u0018ftypisom the video of ${name}`);

type Played = { submits: number; jobs: number; polls: number; faults: string[] };

export type RunningVendor = {
  url: string;
  played: (scenario: string) => Played;
  /** Requests that belong to no scenario. */
  strays: string[];
  stop: () => Promise<void>;
};

/** Starts a vendor on a free loopback port. */
export function startVendor(vendor: Vendor): RunningVendor {
  const counts = new Map<string, Played>();
  const strays: string[] = [];
  const played = (name: string): Played => {
    const found = counts.get(name) ?? { submits: 0, jobs: 0, polls: 0, faults: [] };
    counts.set(name, found);
    return found;
  };
  const carries = (text: string) => vendor.scenarios.filter(({ name }) => text.includes(mark(name)));
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, { url }) {
      const origin = url.href.replace(/\/$/, '');
      const received = await readRequest(request);
      const served = await vendor.serve?.(received, origin);
      if (served) return respond(served, origin);
      const reply = vendor.batch && matches(vendor.batch.expect, received) ? replyInBatch(vendor.batch) : replyToOne();
      return respond(reply, origin);

      function replyToOne(): Answer {
        const fields = Object.values(received.fields ?? {}).map((value) =>
          typeof value === 'string' ? value : value.file,
        );
        const named = carries([request.url, received.text, ...fields].join('\n'));
        const [scenario, ...others] = named.filter(({ name }) => !named.some(({ origin }) => origin === name));
        if (!scenario || others.length > 0) {
          strays.push(`${received.method} ${received.path} ${received.text}`);
          return { status: 404, json: { message: 'no scenario for this request' } };
        }
        const own = played(scenario.name);
        const { submit, poll, content = [] } = scenario;
        const file = content.find(({ expect }) => isAsked(expect, received));
        if (file)
          return checkRequest(own, { expected: file.expect, got: received, answer: file.answer, authorized: false });
        if (poll?.expect && isAsked(poll.expect, received)) {
          const answer = nth(poll.answers, own.polls);
          own.polls += 1;
          return checkRequest(own, { expected: poll.expect, got: received, answer, authorized: true });
        }
        const expected = submit?.expect ?? { method: '(no submission)', path: '' };
        const answer = nth(submit?.answers ?? [], own.submits);
        own.submits += 1;
        const given = checkRequest(own, { expected, got: received, answer, authorized: true });
        if ((given.status ?? 200) < 300) own.jobs += 1;
        return given;
      }

      function replyInBatch(batch: Batch): Answer {
        const asked = batch.jobs(received).flatMap((job) => carries(job));
        const answers = asked.map((scenario) => {
          const own = played(scenario.name);
          own.polls += 1;
          return checkRequest(own, {
            expected: batch.expect,
            got: received,
            answer: nth(scenario.poll?.answers ?? [], own.polls - 1),
            authorized: true,
          });
        });
        const whole = answers.find(({ status = 200, json }) => status !== 200 || json === undefined);
        return whole ?? { json: batch.compose(answers.map(({ json }) => json)) };
      }

      /** The scripted answer when the request is as it must be; else 400, and the fault is kept. */
      function checkRequest(
        own: Played,
        {
          expected,
          got,
          answer,
          authorized,
        }: { expected: Expected; got: Received; answer: Answer; authorized: boolean },
      ): Answer {
        const faults = compare(fill(expected, origin), got);
        const refusal = authorized ? vendor.authorize(got) : undefined;
        if (refusal !== undefined) faults.push(refusal);
        if (faults.length === 0) return answer;
        own.faults.push(`${got.method} ${got.path}: ${faults.join('; ')}`);
        return { status: 400, json: { error: { message: faults.join('; ') } } };
      }
    },
  });
  return {
    url: server.url.href.replace(/\/$/, ''),
    played,
    strays,
    stop: () => server.stop(true),
  };
}

const nth = (answers: Answer[], index: number): Answer =>
  answers[Math.min(index, answers.length - 1)] ?? { status: 500, text: 'the script has no answer' };

const matches = (expected: Expected, received: Received): boolean =>
  expected.method === received.method.replace('HEAD', 'GET') && expected.path === received.path;

/** Requests of one path may differ in the query: files, or what a vendor is asked to do. */
const isAsked = (expected: Expected, received: Received): boolean =>
  matches(expected, received) && isDeepStrictEqual(expected.query ?? {}, received.query);

async function readRequest(request: Request): Promise<Received> {
  const url = new URL(request.url);
  const headers = Object.fromEntries(request.headers);
  const base = { method: request.method, path: url.pathname, query: Object.fromEntries(url.searchParams), headers };
  if (/^multipart|urlencoded/.test(headers['content-type'] ?? '')) {
    const fields: NonNullable<Received['fields']> = {};
    for (const [name, value] of await request.formData()) {
      fields[name] =
        typeof value === 'string' ? value : { file: value.name, type: value.type, bytes: await value.bytes() };
    }
    return { ...base, text: '', json: undefined, fields };
  }
  const text = await request.text();
  return { ...base, text, json: parse(text), fields: undefined };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Every difference between a request and what it must be, for people to read. */
function compare(expected: Expected, received: Received): string[] {
  const faults: string[] = [];
  const differ = (what: string, wanted: unknown, got: unknown) => {
    if (!isDeepStrictEqual(wanted, got)) faults.push(`${what}: expected ${show(wanted)}, received ${show(got)}`);
  };
  differ(
    'request',
    `${expected.method} ${expected.path}`,
    `${received.method.replace('HEAD', 'GET')} ${received.path}`,
  );
  differ('query', expected.query ?? {}, received.query);
  for (const [name, wanted] of Object.entries(expected.headers ?? {})) {
    const got = received.headers[name] ?? null;
    if (wanted instanceof RegExp) {
      if (got === null || !wanted.test(got)) faults.push(`header ${name}: expected ${wanted}, received ${show(got)}`);
    } else differ(`header ${name}`, wanted, got);
  }
  if (expected.fields) differ('fields', expected.fields, received.fields);
  else if (expected.json !== undefined) {
    differ('body', expected.json, received.json);
    differ('content-type', 'application/json', received.headers['content-type']?.split(';')[0]);
  } else if (!expected.check && (received.text !== '' || received.fields))
    faults.push(`unexpected body ${received.text}`);
  const more = expected.check?.(received);
  if (more !== undefined) faults.push(more);
  return faults;
}

const show = (value: unknown): string =>
  JSON.stringify(value, (_name, member) => (member instanceof Uint8Array ? `${member.length} bytes` : member));

/** Puts the vendor's address in place of `{vendor}`, at any depth. */
function fill<T>(value: T, origin: string): T {
  if (typeof value === 'string') return value.replaceAll('{vendor}', origin) as T;
  if (Array.isArray(value)) return value.map((item) => fill(item, origin)) as T;
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fill(member, origin)])) as T;
}

function respond({ status = 200, headers = {}, json, text, bytes }: Answer, origin: string): Response {
  if (bytes) return new Response(bytes, { status, headers: { 'content-type': 'video/mp4', ...headers } });
  if (json !== undefined) return Response.json(fill(json, origin), { status, headers });
  return new Response(text ?? null, { status, headers });
}
