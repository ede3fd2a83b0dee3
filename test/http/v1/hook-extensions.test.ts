/**
 * The optional hooks that only this gateway calls: a vendor's refusal in words, links that are
 * looked up, and redirects to named hosts. A real gateway, a plugin, a scripted vendor.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { pluginSource } from '../../plugins/support.ts';
import { ask, letNothingWait, setUp, startGateway } from '../../support/gateway.ts';
import { waitForEnd } from '../../support/main-job.ts';

const VENDOR_KEY = 'vendor-key-0123456789';
const HOOKS = `
export const protocols = { proto_video: {
  decodeRequest: ({ model, body }) => ({ kind: 'submit', model, requestBody: body.value }),
  render: () => ({}),
} };
export const native = {
  decode: ({ body }) => ({ kind: 'submit', model: 'ext-1', requestBody: body.value }),
  render: () => ({}),
  error: (ctx, error) => ({ vendors: error.code, said: error.message }),
};
export function parseSubmitError(response, ctx) {
  const { verdict, throws } = response.body;
  if (throws) throw new Error(throws);
  if (verdict && verdict.secret) return { class: 'bad_input', message: 'the key ' + ctx.apiKey + ' is wrong' };
  return verdict ?? null;
}
export const listArtifacts = () => ['renewed', 'twice', 'direct', 'none', 'redirected'].map((key) => ({ key, type: 'video' }));
export function resolveArtifact(task, key, ctx) {
  const headers = { Authorization: 'Bearer ' + ctx.apiKey };
  if (key === 'direct') return { url: task.data.direct };
  if (key === 'none' || key === 'redirected') return null;
  if (!ctx.response || key === 'twice') return { url: null, request: { url: ctx.baseUrl + '/links/' + ctx.upstreamTaskId, headers } };
  return { url: ctx.response.body.url, expiresIn: ctx.response.body.ttl };
}
export function buildContentRequest(ctx) {
  const headers = { Authorization: 'Bearer ' + ctx.apiKey };
  return { url: ctx.baseUrl + '/content', headers, ...(ctx.artifactKey === 'redirected' ? { redirectHosts: ctx.data.hosts } : {}) };
}`;
const SOURCE = pluginSource(
  {
    key: 'ext',
    models: ['ext-1'],
    protocols: ['proto_video'],
    routes: [{ method: 'POST', path: '/ext/jobs', type: 'submit', decode: 'decode', render: 'render' }],
  },
  HOOKS,
).replace(
  'return { taskId: response.body.id };',
  `if (response.body.verdict) throw new Error('no job');
  return { taskId: response.body.id, taskData: response.body, immediate: { status: 'SUCCESS' } };`,
);

/** Requests that a vendor has refused once, and accepts next. */
const refused = new Set<string>();

/** A vendor whose submissions are answered as they ask, with links that it may revoke. */
function startVendor() {
  const seen: { method: string; path: string; authorization: string | null }[] = [];
  let serial = 0;
  let valid = 0;
  let ttl: number | undefined;
  let redirect = '';
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, origin } = new URL(request.url);
      seen.push({ method: request.method, path: pathname, authorization: request.headers.get('authorization') });
      if (pathname === '/jobs') {
        const body = (await request.json()) as {
          answer?: { status: number; headers?: Record<string, string> };
          once?: string;
        };
        const isAccepted = body.once !== undefined && refused.has(body.once);
        if (body.once) refused.add(body.once);
        if (isAccepted) return Response.json({ id: `job-${++serial}` });
        if (body.answer) return Response.json(body, body.answer);
        return Response.json({ ...body, id: `job-${++serial}` });
      }
      if (pathname.startsWith('/links/')) return Response.json({ url: `${origin}/signed/${valid}`, ttl });
      if (pathname.startsWith('/signed/')) {
        return pathname === `/signed/${valid}` ? new Response('the film') : new Response('expired', { status: 403 });
      }
      if (redirect && pathname === '/content')
        return new Response(null, { status: 302, headers: { location: redirect } });
      return new Response(`content for ${request.headers.get('authorization')}`);
    },
  });
  return {
    url: server.url.origin,
    host: server.url.host,
    seen,
    count: (path: string) => seen.filter((one) => one.path.startsWith(path)).length,
    expire: () => void valid++,
    lastsFor(seconds: number | undefined) {
      ttl = seconds;
    },
    redirectsTo(to: string) {
      redirect = to;
    },
    stop: () => server.stop(true),
  };
}

const vendor = startVendor();
const second = startVendor();
const cdn = startVendor();
let gateway: Awaited<ReturnType<typeof startGateway>>;
let key = '';
let channels: number[] = [];
let admin: Awaited<ReturnType<typeof setUp>>;
beforeAll(async () => {
  gateway = await startGateway({ env: { UPSTREAM_ALLOW_PRIVATE: 'true' } });
  admin = await setUp(gateway);
  // A client reads each refusal at once, and none lets an account rest.
  await letNothingWait(admin);
  await admin.call('POST', '/api/plugin/task', { source: SOURCE });
  // Tasks of which nobody knows whether they run take no room from the next test.
  const limits = { max_running: 1000 };
  const channel = { models: ['ext-1'], task_plugin_key: 'ext', key: VENDOR_KEY, limits };
  channels = [
    await admin.createChannel(vendor.url, { ...channel, priority: 10 }),
    await admin.createChannel(second.url, { ...channel, priority: 1 }),
  ];
  key = await admin.createKey();
});
afterAll(async () => {
  await gateway.stop();
  for (const one of [vendor, second, cdn]) await one.stop();
});

type Failure = { error?: { message: string; type: string; code: string; param: string | null } };
const submit = (body: object, path = '/v1/tasks/ext') =>
  ask(`${gateway.url}${path}`, { method: 'POST', token: key, body: { model: 'ext-1', ...body } });
const finished = async (body: object = {}): Promise<string> => {
  const { body: answer } = await submit(body);
  return (answer as { id: string }).id;
};
const download = async (id: string, artifact: string, init: RequestInit = {}) => {
  const headers = { authorization: `Bearer ${key}`, ...init.headers };
  const response = await fetch(`${gateway.url}/v1/tasks/${id}/artifacts/${artifact}/content`, { ...init, headers });
  const text = await response.text();
  const code = text.startsWith('{') ? (JSON.parse(text) as Failure).error?.code : undefined;
  return { status: response.status, text, code };
};

/** Forgets what earlier refusals said of the accounts. */
const wake = async (): Promise<void> => {
  for (const id of channels)
    for (const path of ['wake', 'clear-ceilings', 'clear-abandoned'])
      await admin.call('POST', `/api/channel/${id}/${path}`);
};

describe('parseSubmitError', () => {
  beforeEach(wake);
  afterAll(wake);

  const refusal = (status: number, verdict: object | null, more: object = {}) => ({
    answer: { status },
    verdict,
    ...more,
  });
  const input = { class: 'bad_input', message: 'seconds must be 5 or 10', param: 'seconds' };
  type Row = [name: string, body: object, status: number, error: Partial<NonNullable<Failure['error']>>, tries: number];
  test.each<Row>([
    [
      'bad input: the plugin’s words, and the parameter',
      refusal(422, input),
      400,
      { message: input.message, type: 'invalid_request_error', code: 'vendor_rejected', param: 'seconds' },
      0,
    ],
    [
      'content policy, with words of the gateway where the plugin has none',
      refusal(403, { class: 'content_policy' }),
      400,
      { message: 'The vendor rejected the content of the request.', code: 'content_policy_violation' },
      0,
    ],
    [
      'quota: the client learns nothing of the account',
      refusal(402, { class: 'quota', message: 'account 42 owes 7 USD' }),
      503,
      { type: 'server_error', code: 'vendor_quota_exhausted', message: expect.not.stringContaining('42') as string },
      1,
    ],
    ['capacity on 400', refusal(400, { kind: 'capacity' }), 429, { code: 'vendor_busy' }, 0],
    ['balance on 403', refusal(403, { kind: 'balance' }), 503, { code: 'vendor_quota_exhausted' }, 1],
    [
      'a kind outranks a class',
      refusal(429, { kind: 'content', class: 'busy' }),
      400,
      { code: 'content_policy_violation' },
      0,
    ],
    [
      'a class whose kind is null',
      refusal(403, { kind: null, class: 'content_policy' }),
      400,
      { code: 'content_policy_violation' },
      0,
    ],
    ['a kind in a 2xx without a job', refusal(200, { kind: 'rate' }), 429, { code: 'vendor_busy' }, 0],
    [
      'a request refused in a 2xx',
      refusal(200, { ...input, kind: 'request' }),
      400,
      { code: 'vendor_rejected', message: input.message },
      0,
    ],
    [
      'a class in a 2xx proves nothing',
      refusal(200, { class: 'busy' }),
      400,
      { code: 'plugin_submit_response_failed' },
      0,
    ],
    ['a kind in a 5xx', refusal(529, { kind: 'vendor_busy' }), 429, { code: 'vendor_busy' }, 0],
    ['a class in a 5xx proves nothing', refusal(503, input), 502, {}, 0],
    ['an unknown kind leaves it to the status', refusal(429, { kind: 'other' }), 429, { code: 'vendor_busy' }, 1],
    ['busy on 400: no further attempt', refusal(400, { class: 'busy' }), 429, { code: 'vendor_busy' }, 0],
    [
      'busy on 429: another channel, as the status permits',
      refusal(429, { class: 'busy' }),
      429,
      { code: 'vendor_busy' },
      1,
    ],
    [
      'content policy on 429: no other channel',
      refusal(429, { class: 'content_policy' }),
      400,
      { code: 'content_policy_violation' },
      0,
    ],
    ['credential', refusal(400, { class: 'credential', message: 'key 7 is bad' }), 502, { code: 'vendor_failed' }, 1],
    ['null leaves it to the status', refusal(422, null), 400, { code: 'vendor_rejected' }, 0],
    ['a throw leaves it to the status', refusal(400, null, { throws: 'no idea' }), 400, { code: 'vendor_rejected' }, 0],
    ['an unknown class does too', refusal(400, { class: 'other' }), 400, { code: 'vendor_rejected' }, 0],
    [
      'a secret in its words is redacted',
      refusal(400, { secret: true }),
      400,
      { message: 'the key [redacted] is wrong' },
      0,
    ],
  ])('%s', async (_, body, status, error, tries) => {
    const before = second.count('/jobs');
    const answer = await submit(body);
    expect([answer.status, (answer.body as Failure).error]).toEqual([status, expect.objectContaining(error) as never]);
    expect(second.count('/jobs') - before).toBe(tries);
  });

  test.each([
    ['class', refusal(409, { class: 'busy' }), 0],
    ['kind after 409', refusal(409, { kind: 'capacity' }), 0],
    ['kind after a proxy’s 504', refusal(504, { kind: 'vendor_busy' }), 0],
  ])('a vendor that may have the job is still in doubt: %s', async (_, body, tries) => {
    const before = second.count('/jobs');
    const answer = await fetch(`${gateway.url}/v1/tasks/ext`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'ext-1', ...body }),
    });
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([429, 'false']);
    expect(second.count('/jobs') - before).toBe(tries);
  });

  test('a kind lets the task wait, and it is sent again after the time that the plugin gives', async () => {
    await admin.call('PUT', '/api/option', { key: 'queue.max_wait_seconds', value: '60' });
    const before = vendor.count('/jobs') + second.count('/jobs');
    const answers = await Promise.all(
      [200, 503].map((status) =>
        submit(refusal(status, { kind: 'vendor_busy', retryAfterSeconds: 1 }, { once: String(status) })),
      ),
    );
    await letNothingWait(admin);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    for (const { body } of answers)
      expect((await waitForEnd(gateway.url, key, String(body.id))).status).toBe('SUCCESS');
    // Each is refused once, and accepted once.
    expect(vendor.count('/jobs') + second.count('/jobs') - before).toBe(4);
  });

  test('its class reaches every surface', async () => {
    const policy = refusal(400, { class: 'content_policy', message: 'no celebrities' });
    const video = await submit(policy, '/v1/videos');
    expect([video.status, (video.body as Failure).error?.code]).toEqual([400, 'content_policy_violation']);
    const native = await submit(policy, '/ext/jobs');
    expect([native.status, native.body]).toEqual([
      400,
      { vendors: 'invalid_request', said: 'no celebrities' },
    ] as never);
  });
});

describe('resolveArtifact', () => {
  test('looks a link up once, with the credential, and the link is fetched without it', async () => {
    const id = await finished();
    const lookups = vendor.count('/links/');
    const answers = await Promise.all([1, 2, 3].map(() => download(id, 'renewed')));
    expect(answers.map(({ status, text }) => [status, text])).toEqual(Array(3).fill([200, 'the film']));
    expect((await download(id, 'renewed', { method: 'HEAD' })).status).toBe(200);
    expect(vendor.count('/links/') - lookups).toBe(1);
    expect(vendor.seen.findLast(({ path }) => path.startsWith('/links/'))?.authorization).toBe(`Bearer ${VENDOR_KEY}`);
    expect(
      vendor.seen.filter(({ path }) => path.startsWith('/signed/')).map(({ authorization }) => authorization),
    ).toEqual(Array(4).fill(null));
  });

  test('a remembered link that has expired is looked up again, once', async () => {
    const id = await finished();
    await download(id, 'renewed');
    const lookups = vendor.count('/links/');
    vendor.expire();
    expect((await download(id, 'renewed')).text).toBe('the film');
    expect(vendor.count('/links/') - lookups).toBe(1);
  });

  test('expiresIn ends what is remembered', async () => {
    vendor.lastsFor(0.5);
    const id = await finished();
    const lookups = vendor.count('/links/');
    for (let i = 0; i < 2; i++) expect((await download(id, 'renewed')).status).toBe(200);
    vendor.lastsFor(undefined);
    expect(vendor.count('/links/') - lookups).toBe(2);
  });

  test('a url needs no look-up; null leaves it to buildContentRequest', async () => {
    const id = await finished({ direct: `data:text/plain;base64,${Buffer.from('direct').toString('base64')}` });
    expect((await download(id, 'direct')).text).toBe('direct');
    expect((await download(id, 'none')).text).toBe(`content for Bearer ${VENDOR_KEY}`);
  });

  test('a look-up that asks for a second one, and SSRF through its address, are refused', async () => {
    const id = await finished({ direct: 'http://169.254.169.254/latest' });
    expect((await download(id, 'twice')).code).toBe('artifact_request_rejected');
    expect((await download(id, 'direct')).code).toBe('artifact_request_rejected');
  });
});

describe('redirectHosts', () => {
  test('permit a redirect to a named host, which gets no credential', async () => {
    vendor.redirectsTo(`${cdn.url}/film`);
    const answer = await download(await finished({ hosts: ['*.example.com', cdn.host] }), 'redirected');
    expect([answer.status, answer.text]).toEqual([200, 'content for null']);
  });

  test.each([
    ['another host', ['cdn.example.com', '*.example.com']],
    ['another port', ['127.0.0.1:1']],
    ['none', undefined],
    ['a wildcard for everything', ['*.com']],
    ['a URL', ['https://cdn.example.com']],
  ])('%s is refused', async (_, hosts) => {
    vendor.redirectsTo(`${cdn.url}/film`);
    const seen = cdn.seen.length;
    expect((await download(await finished({ hosts }), 'redirected')).code).toBe('artifact_request_rejected');
    expect(cdn.seen.length).toBe(seen);
  });

  test('permit no host that only the channel may reach', async () => {
    vendor.redirectsTo('http://169.254.169.254/latest');
    const answer = await download(await finished({ hosts: ['169.254.169.254'] }), 'redirected');
    expect(answer.code).toBe('artifact_request_rejected');
  });
});
