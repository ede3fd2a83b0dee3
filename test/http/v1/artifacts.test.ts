/**
 * Artifacts of finished tasks over HTTP: the list, who may download, and which headers pass between
 * client and vendor.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { artifactCapability } from '../../../src/results/links/sign-artifact-links.ts';
import { ask, signIn, startGateway } from '../../support/gateway.ts';
import { holdOpen } from '../../support/hold-open.ts';
import { until } from '../../support/until.ts';
import { type ArtifactGateway, FILE, LARGE, startArtifactGateway, VENDOR_KEY } from './artifact-harness.ts';

const INVALID_A_MINUTE = 4;
let world: ArtifactGateway;
beforeAll(async () => {
  world = await startArtifactGateway({
    UPSTREAM_ALLOW_PRIVATE: 'true',
    DEBUG: 'true',
    LOG_LEVEL: 'debug',
    TASK_ARTIFACT_INVALID_RATE_LIMIT_PER_MINUTE: String(INVALID_A_MINUTE),
    TASK_ARTIFACT_GLOBAL_CONCURRENCY: '4',
    TASK_ARTIFACT_IP_CONCURRENCY: '3',
    TASK_ARTIFACT_OBJECT_CONCURRENCY: '2',
  });
});
afterAll(() => world.stop());

const content = (id: string, key = 'video') => `/v1/tasks/${id}/artifacts/${key}/content`;
const list = (id: string) => world.get(`/v1/tasks/${id}/artifacts`, { token: world.key });

describe('the list', () => {
  test('is built from the stored answer, with a link for each artifact, and is not cached', async () => {
    const artifacts = [
      { key: 'video', type: 'video', mimeType: 'video/mp4' },
      { key: 'a.b_c~d-1', type: 'file' },
    ];
    const id = await world.finished({ list: artifacts });
    const answer = await list(id);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('private, no-store');
    expect(answer.json).toEqual({
      task_id: id,
      artifacts: artifacts.map((artifact) => ({ ...artifact, content_url: expect.any(String) })),
    });
    const links = (answer.json.artifacts as { content_url: string }[]).map(({ content_url }) => content_url);
    for (const [index, link] of links.entries()) {
      const path = `/v1/tasks/${id}/artifacts/${artifacts[index]?.key}/content`;
      expect(link).toMatch(new RegExp(`^http://localhost:\\d+${path.replaceAll('.', '\\.')}\\?access=[\\w-]{43}$`));
    }
    const panel = await world.admin.call<{ task_id: string; artifacts: unknown[] }>('GET', `/api/task/${id}/artifacts`);
    expect(panel as object).toEqual(answer.json);
  });

  const many = (count: number) => Array.from({ length: count }, (_, i) => ({ key: `k${i}`, type: 'file' }));
  test.each<[string, object, number, string]>([
    ['64 artifacts', { list: many(64) }, 200, ''],
    ['65 artifacts', { list: many(65) }, 500, 'artifact_plugin_error'],
    ['a field that no artifact has', { list: [{ key: 'a', type: 'file', url: 'x' }] }, 500, 'artifact_plugin_error'],
    ['a hook that throws', { list_throws: 'no list today' }, 400, 'plugin_request_invalid'],
    ['a task that failed', { end: 'FAILURE', list_throws: 'never called' }, 200, ''],
  ])('%s', async (_name, answer, status, code) => {
    const answered = await list(await world.finished(answer));
    expect([answered.status, answered.code]).toEqual([status, code]);
  });

  test('is for the owner: for others the task does not exist', async () => {
    const id = await world.finished();
    expect((await world.get(`/v1/tasks/${id}/artifacts`)).status).toBe(401);
    expect((await list('task_of_nobody')).code).toBe('task_not_found');
  });

  test('the version that made the task decides, or the one that adopts it; without one the list is 503', async () => {
    const id = await world.finished({}, 'gone');
    const { video } = await world.links(id);
    expect((await world.get(video ?? '')).status).toBe(200);

    await world.serve('gone', '2.0.0', (source) => source.replace("key: 'video', type", "key: 'newer', type"));
    expect(Object.keys(await world.links(id))).toEqual(['video']);
    await world.admin.call('POST', '/api/plugin/task/gone/activate?adopt=true', { version: '2.0.0' });
    expect(Object.keys(await world.links(id))).toEqual(['newer']);
    expect((await world.get(content(id), { token: world.key })).code).toBe('artifact_not_found');

    await world.admin.call('POST', '/api/plugin/task/gone/status?cascade=true', { enabled: false });
    const refused = await list(id);
    expect([refused.status, refused.code]).toEqual([503, 'artifact_plugin_unavailable']);
    const fetched = await world.get(content(id, 'newer'), { token: world.key });
    expect([fetched.status, fetched.code]).toEqual([503, 'artifact_plugin_unavailable']);
    expect((await world.get(video ?? '')).code).toBe('artifact_not_found');
  });
});

describe('the end of a link', () => {
  test('revoking all ends the links of one user, and new ones work at once', async () => {
    const id = await world.finished();
    const { video: before = '' } = await world.links(id);
    expect((await world.get(before)).status).toBe(200);
    await world.admin.call('POST', '/api/user/links/revoke');
    const dead = await world.get(before);
    expect([dead.status, dead.code]).toEqual([404, 'artifact_not_found']);
    const { video: after = '' } = await world.links(id);
    expect((await world.get(after)).status).toBe(200);
    await world.admin.call('POST', '/api/user/links/revoke');
    expect((await world.get(after)).status).toBe(404);
    const { video: last = '' } = await world.links(id);
    expect((await world.get(last)).status).toBe(200);
  });

  test('an administrator revokes the links of one user only; users and personal tokens may not', async () => {
    const own = (await world.links(await world.finished())).video ?? '';
    const id = await world.admin.createUser({ username: 'linked', quota: 1000 });
    await world.admin.call('PUT', '/api/price', { model: 'acme-1', expression: '0' });
    const user = await signIn(world.url, { username: 'linked' });
    const key = await user.createKey();
    const link = (await world.links(await world.finished({}, 'acme', key), key)).video ?? '';
    expect((await world.get(link)).status).toBe(200);
    const post = (token: string, path: string) => ask(`${world.url}${path}`, { method: 'POST', token, body: {} });
    expect((await post(user.token, '/api/user/1/links/revoke')).status).toBe(403);
    const { token: pat } = await world.admin.call<{ token: string }>('POST', '/api/user/token');
    expect((await post(pat, '/api/user/links/revoke')).body).toMatchObject({ code: 'AUTH_SESSION_REQUIRED' });
    expect((await world.get(link)).status).toBe(200);
    await world.admin.call('POST', `/api/user/${id}/links/revoke`);
    expect((await world.get(link)).status).toBe(404);
    expect((await world.get(own)).status).toBe(200);
  });

  const revoke = async (path: string) =>
    (await ask(`${world.url}/v1/tasks/${path}`, { method: 'DELETE', token: world.key })).status;

  test('a revoked link: all of a task end, or those of one artifact, and new ones work at once', async () => {
    const both = [
      { key: 'video', type: 'video' },
      { key: 'cover', type: 'image' },
    ];
    const [id, otherId] = [await world.finished({ list: both }), await world.finished()];
    const before = await world.links(id);
    const { video: other = '' } = await world.links(otherId);
    const statuses = async ({ video = '', cover = '' }: Record<string, string>) =>
      Promise.all([video, cover, other].map(async (link) => (await world.get(link)).status));
    expect(await statuses(before)).toEqual([200, 200, 200]);
    expect(await revoke(`${id}/artifacts/cover/links`)).toBe(200);
    expect(await statuses(before)).toEqual([200, 404, 200]);
    const between = await world.links(id);
    expect(await statuses(between)).toEqual([200, 200, 200]);
    expect(await revoke(`${id}/artifacts/links`)).toBe(200);
    expect(await statuses(between)).toEqual([404, 404, 200]);
    await world.admin.call('POST', `/api/task/${id}/links/revoke`);
    const last = await world.links(id);
    expect(await statuses(last)).toEqual([200, 200, 200]);
    expect(last.video).toContain('access=0.');
  });

  test('links of a task are revoked by its owner alone, and only of artifacts that it has', async () => {
    const id = await world.finished();
    const { video = '' } = await world.links(id);
    expect(await revoke(`${id}/artifacts/nothing/links`)).toBe(404);
    expect(await revoke('task_of_nobody/artifacts/links')).toBe(404);
    await world.admin.createUser({ username: 'stranger', quota: 0 });
    const stranger = await signIn(world.url, { username: 'stranger' });
    for (const [method, path, token] of [
      ['DELETE', `/v1/tasks/${id}/artifacts/links`, await stranger.createKey()],
      ['DELETE', `/v1/tasks/${id}/artifacts/video/links`, await stranger.createKey()],
      ['POST', `/api/task/${id}/links/revoke`, stranger.token],
    ] as const)
      expect((await ask(`${world.url}${path}`, { method, token, body: {} })).status).toBe(404);
    expect((await world.get(video)).status).toBe(200);
  });

  test('a forged end: a link with an asked life ends then, and names no later end', async () => {
    const id = await world.finished();
    const listFor = (life: string) => world.get(`/v1/tasks/${id}/artifacts?expires_in=${life}`, { token: world.key });
    for (const life of ['0', '-5', '1.5', 'x', '', '99999999999'])
      expect((await listFor(life)).code).toBe('artifact_life_invalid');
    const { json } = await listFor('2');
    const [listed] = json.artifacts as { content_url: string; expires_at: number }[];
    const link = new URL(listed?.content_url ?? '');
    const open = (access: string) => world.get(`${link.pathname}?access=${access}`);
    const access = link.searchParams.get('access') ?? '';
    expect(access).toStartWith(`${listed?.expires_at}.`);
    expect((listed?.expires_at ?? 0) - Date.now() / 1000).toBeLessThanOrEqual(2);
    const later = access.replace(/^\d+/, (end) => String(Number(end) + 3600));
    expect((await open(later)).status).toBe(404);
    await until(async () => (await open(access)).status === 404);
    const panel = await world.admin.call<typeof json>('GET', `/api/task/${id}/artifacts?expires_in=3600`);
    expect((panel.artifacts as { expires_at?: number }[])[0]?.expires_at).toBeGreaterThan(Date.now() / 1000 + 3000);
  });

  test('TASK_ARTIFACT_LINK_DAYS: the list says when a link expires', async () => {
    const secret = 'a secret of links, long enough for this';
    const limited = await startArtifactGateway({
      UPSTREAM_ALLOW_PRIVATE: 'true',
      CRYPTO_SECRET: secret,
      TASK_ARTIFACT_LINK_DAYS: '2',
    });
    try {
      const taskId = await limited.finished();
      const { json } = await limited.get(`/v1/tasks/${taskId}/artifacts`, { token: limited.key });
      const [listed] = json.artifacts as { content_url: string; expires_at: number }[];
      const days = ((listed?.expires_at ?? 0) - Date.now() / 1000) / 86_400;
      expect(days).toBeGreaterThan(1.99);
      expect(days).toBeLessThan(2.1);
      expect(new URL(listed?.content_url ?? '').searchParams.get('access')).toStartWith(`${listed?.expires_at}.0.`);
      const { video = '' } = await limited.links(taskId);
      expect((await limited.get(video)).status).toBe(200);
      const beyond = await limited.get(`/v1/tasks/${taskId}/artifacts?expires_in=172801`, { token: limited.key });
      expect(beyond.code).toBe('artifact_life_invalid');
      const artifact = { taskId, artifactKey: 'video' };
      const open = async (access: string) => (await limited.get(`${content(taskId)}?access=${access}`)).status;
      expect(await open(artifactCapability(secret, artifact, { expiresAt: 1_700_000_000, version: 0 }))).toBe(404);
      // Created before links expired: valid for two days after the end of its task.
      expect(await open(artifactCapability(secret, artifact))).toBe(200);
    } finally {
      await limited.stop();
    }
  });
});

describe('content', () => {
  test('has the vendor’s content headers and the gateway’s own, and no other header of the vendor', async () => {
    const answer = await world.get(content(await world.finished()), { token: world.key });
    expect(answer.status).toBe(200);
    expect(Buffer.compare(answer.bytes, FILE)).toBe(0);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(FILE.length),
      'accept-ranges': 'bytes',
      etag: '"v1"',
      'last-modified': 'Sat, 03 Jan 2026 10:00:00 GMT',
      'content-disposition': 'attachment; filename="a.mp4"',
      'cache-control': 'private, no-store',
      'content-security-policy': "sandbox; default-src 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    expect([answer.headers.get('set-cookie'), answer.headers.get('x-vendor-secret')]).toEqual([null, null]);
  });

  const range = { range: 'bytes=10-19' };
  const direct = {};
  const elsewhere = () => ({
    url: `/redirect?to=${encodeURIComponent(`${world.vendor.other}/file`)}`,
    credentialless: true,
  });
  test.each<[string, object, number, number]>([
    ['a range', range, 206, 10],
    ['a range if unchanged', { ...range, 'if-range': '"v1"' }, 206, 10],
    ['a range of what has changed', { ...range, 'if-range': '"v0"' }, 200, FILE.length],
    ['a range beyond the end', { range: 'bytes=100000-100001' }, 416, 0],
    ['what the client has', { 'if-none-match': '"v1"' }, 304, 0],
    ['what is not newer', { 'if-modified-since': 'Sat, 03 Jan 2026 10:00:00 GMT' }, 304, 0],
  ])('%s, also behind a redirect to another host', async (_name, headers, status, length) => {
    for (const described of [direct, elsewhere()]) {
      const id = await world.finished({ content: described });
      const answer = await world.get(content(id), { token: world.key, headers });
      expect([answer.status, answer.bytes.length]).toEqual([status, length]);
      if (status === 206) expect(answer.headers.get('content-range')).toBe(`bytes 10-19/${FILE.length}`);
      const head = await world.get(content(id), { token: world.key, method: 'HEAD', headers });
      // RFC 9110, 14.2: only GET has ranges.
      expect(head.status).toBe(status === 304 ? 304 : 200);
    }
  });

  test('the first byte of a megabyte is there before the vendor has sent the rest', async () => {
    const [first, rest] = [Buffer.alloc(64 * 1024, 1), Buffer.alloc(960 * 1024, 2)];
    let sendRest = () => {};
    const vendor = createServer((socket) => {
      sendRest = () => void socket.write(rest);
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${first.length + rest.length}\r\n\r\n`);
        socket.write(first);
      });
    });
    await once(vendor.listen(0, '127.0.0.1'), 'listening');
    const { port } = vendor.address() as AddressInfo;
    const to = encodeURIComponent(`http://127.0.0.1:${port}/file`);
    const id = await world.finished({ content: { url: `/redirect?to=${to}`, credentialless: true } });
    const response = await fetch(`${world.url}${content(id)}`, { headers: { authorization: `Bearer ${world.key}` } });
    expect(response.status).toBe(200);
    let received = 0;
    for await (const chunk of response.body ?? []) {
      if (received === 0) sendRest();
      received += chunk.length;
    }
    expect(received).toBe(first.length + rest.length);
    vendor.close();
  });

  test('HEAD has the headers of GET and no body; the vendor never gets the client’s cookies and key', async () => {
    const id = await world.finished({ content: { key: true } });
    const headers = { cookie: 'a=b', 'x-other': '1', accept: 'video/webm' };
    const answer = await world.get(content(id), { token: world.key, method: 'HEAD', headers });
    expect([answer.status, answer.headers.get('content-length'), answer.bytes.length]).toEqual([200, '100000', 0]);
    const forwarded = world.vendor.seen.at(-1);
    expect(forwarded).toMatchObject({ method: 'HEAD', headers: { authorization: `Bearer ${VENDOR_KEY}` } });
    expect(Object.keys(forwarded?.headers ?? {}).sort()).toEqual(
      ['accept', 'accept-encoding', 'authorization', 'connection', 'host', 'user-agent'].sort(),
    );
    expect(forwarded?.headers.accept).toBe('*/*');
  });

  test('HEAD of a result that is signed for GET alone is a GET whose body is dropped', async () => {
    const id = await world.finished({ content: { url: '/signed' } });
    const answer = await world.get(content(id), { token: world.key, method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-length'), answer.bytes.length]).toEqual([200, '100000', 0]);
    const asked = world.vendor.seen.filter(({ path }) => path === '/signed');
    expect(asked.map(({ method }) => method)).toEqual(['HEAD', 'GET']);
  });

  test.each([
    ['a fragment', (url: string) => `${url}/file#t=1`],
    ['blanks around it', (url: string) => ` ${url}/file\t`],
    ['a line break', (url: string) => `${url}/fi\r\nle`],
    ['blanks in its query', (url: string) => `${url}/file?name=a b`],
  ])('an address with %s is fetched as a browser reads it', async (_name, write) => {
    const id = await world.finished({ content: { url: write(world.vendor.url), credentialless: true } });
    expect((await world.get(content(id), { token: world.key })).bytes).toEqual(FILE);
  });

  test('a text of the vendor is downloaded, not shown; pages of other sites may embed a link', async () => {
    const id = await world.finished({ content: { url: '/echo', method: 'POST', body: { a: 1 } } });
    const { video } = await world.links(id);
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await world.get(video ?? '', { method });
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-disposition': 'attachment',
        'cross-origin-resource-policy': 'cross-origin',
      });
    }
    const { headers } = await world.get(content(id), { token: world.key });
    expect(headers.get('cross-origin-resource-policy')).toBe('same-site');
  });

  test('a request for several ranges gets the whole', async () => {
    const headers = { range: 'bytes=0-1,4-5' };
    const answer = await world.get(content(await world.finished()), { token: world.key, headers });
    expect([answer.status, answer.bytes.length]).toEqual([200, FILE.length]);
  });

  test('a large body is streamed', async () => {
    const answer = await world.get(content(await world.finished({ content: { url: '/large' } })), { token: world.key });
    expect([answer.status, answer.bytes.length]).toEqual([200, LARGE]);
  });

  const base64 = (text: string) => Buffer.from(text).toString('base64');
  test.each<[string, string, number, string]>([
    ['padded', `data:audio/mpeg;base64,${base64('some')}`, 200, 'audio/mpeg'],
    ['without padding', `data:audio/mpeg;base64,${base64('some').replaceAll('=', '')}`, 200, 'audio/mpeg'],
    ['without a type', `data:;base64,${base64('some')}`, 200, 'video/mp4'],
    ['with parameters', `data:text/plain;charset=utf-8;base64,${base64('some')}`, 200, 'application/octet-stream'],
    ['not base64', 'data:text/plain,some', 502, ''],
    ['characters that are not base64', 'data:text/plain;base64,c29t!Q==', 502, ''],
    ['a length that is not base64', 'data:text/plain;base64,c29tZ', 502, ''],
    ['too much padding', 'data:text/plain;base64,c29t=', 502, ''],
    ['a type that splits the answer', `data:text/plain\u0001x;base64,${base64('some')}`, 502, ''],
  ])('a data URL %s', async (_name, url, status, type) => {
    const id = await world.finished({ content: { url } });
    for (const method of ['GET', 'HEAD']) {
      const headers = { range: 'bytes=0-1' };
      const answer = await world.get(content(id), { token: world.key, method, headers });
      expect(answer.status).toBe(status);
      if (status !== 200) continue;
      expect([answer.headers.get('content-type'), answer.headers.get('content-length')]).toEqual([type, '4']);
      expect([answer.text, answer.headers.get('content-range')]).toEqual([method === 'GET' ? 'some' : '', null]);
    }
  });

  test('a body built by the plugin is sent unchanged', async () => {
    const id = await world.finished({ content: { url: '/echo', method: 'post', body: { a: 1 } } });
    expect((await world.get(content(id), { token: world.key })).json).toEqual({ method: 'POST', body: '{"a":1}' });
  });

  const headers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, '1']));
  const rejected: [number, string] = [502, 'artifact_request_rejected'];
  test.each<[string, () => object, [number, string]]>([
    ['401', () => ({ url: '/status/401' }), [502, 'artifact_upstream_auth_failed']],
    ['403', () => ({ url: '/status/403' }), [502, 'artifact_upstream_auth_failed']],
    ['404', () => ({ url: '/status/404' }), [410, 'artifact_gone']],
    ['410', () => ({ url: '/status/410' }), [410, 'artifact_gone']],
    ['429', () => ({ url: '/status/429' }), [503, 'artifact_upstream_busy']],
    ['400', () => ({ url: '/status/400' }), [502, 'artifact_upstream_error']],
    ['500', () => ({ url: '/status/500' }), [502, 'artifact_upstream_error']],
    ['no vendor', () => ({ url: 'http://127.0.0.1:1/', credentialless: true }), [502, 'artifact_upstream_error']],
    ['an artifact that the plugin refuses', () => ({ throw: 'artifact_not_found' }), [404, 'artifact_not_found']],
    ['a plugin that refuses', () => ({ throw: 'words' }), [400, 'plugin_request_invalid']],
    ['five redirects', () => ({ url: '/around?left=4' }), [200, '']],
    ['six redirects', () => ({ url: '/around?left=5' }), rejected],
    ['a foreign host', () => ({ url: `${world.vendor.other}/file` }), rejected],
    [
      'a redirect of the key to a foreign host',
      () => ({ url: redirectTo(`${world.vendor.other}/file`), key: true }),
      rejected,
    ],
    ['a redirect to no web address', () => ({ url: redirectTo('file:///etc/passwd') }), rejected],
    ['an address of the cloud’s own', () => ({ url: 'http://169.254.169.254/x', credentialless: true }), rejected],
    ['a redirect to one', () => ({ url: redirectTo('http://169.254.169.254/x'), credentialless: true }), rejected],
    ['credentials in the address', () => ({ url: 'http://a:b@127.0.0.1/x', credentialless: true }), rejected],
    ['headers without credentials', () => ({ credentialless: true, headers: { a: 'b' } }), rejected],
    ['POST without credentials', () => ({ credentialless: true, method: 'POST' }), rejected],
    ['PUT', () => ({ method: 'PUT' }), rejected],
    ['a header of the host’s', () => ({ headers: { Host: 'x' } }), rejected],
    ['64 headers', () => ({ headers: headers(64) }), [200, '']],
    ['65 headers', () => ({ headers: headers(65) }), rejected],
    ['an address above 64 KiB', () => ({ url: `/file?${'a'.repeat(65_536)}` }), rejected],
    ['this gateway', () => ({ url: `${world.url}/v1/tasks/x/artifacts/y/content`, credentialless: true }), rejected],
    [
      'this gateway by another name',
      () => ({ url: `http://localhost.:${world.gateway.port}/v1/videos/x/content`, credentialless: true }),
      rejected,
    ],
    [
      'this gateway behind escapes',
      () => ({ url: `${world.url}/%761/tasks/x/artifacts/y/content`, credentialless: true }),
      rejected,
    ],
    [
      'a redirect to this gateway',
      () => ({ url: redirectTo(`${world.url}/v1/tasks/x/artifacts/y/content`), credentialless: true }),
      rejected,
    ],
  ])('%s', async (_name, described, outcome) => {
    const id = await world.finished({ content: described() });
    const answer = await world.get(content(id), { token: world.key });
    expect([answer.status, answer.code]).toEqual(outcome);
    expect(answer.text).not.toMatch(/secret words|words of the vendor|169\.254/);
    expect(answer.headers.get('retry-after')).toBe(outcome[0] === 503 ? '7' : null);
  });

  test('a body of the plugin above 1 MiB is refused', async () => {
    const PADDED = "if (described.pad) described.body = 'a'.repeat(described.pad); const url = described.url";
    await world.serve('acme', '1.0.1', (source) => source.replace('const url = described.url', PADDED));
    const at = async (pad: number) =>
      (
        await world.get(content(await world.finished({ content: { url: '/echo', method: 'POST', pad } })), {
          token: world.key,
        })
      ).status;
    expect([await at(1_048_576), await at(1_048_577)]).toEqual([200, 502]);
  });

  test('of an unsuccessful task is 409; of an unknown artifact 404', async () => {
    const failed = await world.get(content(await world.finished({ end: 'FAILURE' })), { token: world.key });
    expect([failed.status, failed.code]).toEqual([409, 'artifact_not_ready']);
    const missing = await world.get(content(await world.finished(), 'other'), { token: world.key });
    expect([missing.status, missing.code]).toEqual([404, 'artifact_not_found']);
    const nobodys = await world.get(content('task_of_nobody'), { token: world.key });
    expect([nobodys.status, nobodys.code]).toEqual([404, 'task_not_found']);
  });

  const redirectTo = (to: string) => `/redirect?to=${encodeURIComponent(to)}`;
});

describe('downloads with API keys', () => {
  test('denial of service: one key cannot take all connections to a vendor', async () => {
    await world.admin.createUser({ username: 'loader', quota: 1000 });
    await world.admin.call('PUT', '/api/price', { model: 'acme-1', expression: '0' });
    const other = await (await signIn(world.url, { username: 'loader' })).createKey();
    const [own, others] = [
      await world.finished({ content: { url: '/hang/own' } }),
      await world.finished({ content: { url: '/hang/others' } }, 'acme', other),
    ];
    const clients: AbortController[] = [];
    const begin = async (id: string, token: string) => {
      const client = new AbortController();
      const headers = { authorization: `Bearer ${token}` };
      const response = holdOpen(await fetch(`${world.url}${content(id)}`, { headers, signal: client.signal }));
      if (response.status === 200) {
        clients.push(client);
        return 200;
      }
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      return [response.status, error.code, response.headers.get('retry-after'), error.message];
    };
    const refused = (scope: string, limit: number) => [
      429,
      'artifact_access_limited',
      '5',
      `Too many downloads and streams ${scope} are open at once; the limit is ${limit}. Try again when one has ended.`,
    ];
    // The limit is the same for one artifact and for several.
    for (let i = 0; i < 3; i += 1) expect(await begin(own, world.key)).toBe(200);
    expect(await begin(own, world.key)).toEqual(refused('of your account', 3));
    expect(await begin(others, other)).toBe(200);
    expect(await begin(others, other)).toEqual(refused('from this gateway', 4));
    // Links have slots of their own.
    const { video = '' } = await world.links(await world.finished());
    expect((await world.get(video)).status).toBe(200);
    clients[0]?.abort();
    await until('the slot is free', async () => (await begin(others, other)) === 200);
    for (const client of clients) client.abort();
    await until('the vendor is left', () => world.vendor.open.size === 0);
    // A finished and a failed download free their slots too.
    const large = await world.finished({ content: { url: '/large' } });
    const missing = await world.finished({ content: { url: '/status/404' } });
    for (let i = 0; i < 4; i += 1) {
      expect((await world.get(content(large), { token: world.key })).bytes.length).toBe(LARGE);
      expect((await world.get(content(missing), { token: world.key })).status).toBe(410);
    }
  });
});

describe('links', () => {
  test('open their artifact and no other; a key does not help an invalid link', async () => {
    const id = await world.finished({
      list: [
        { key: 'video', type: 'video' },
        { key: 'other', type: 'file' },
      ],
    });
    const another = await world.finished();
    const { video = '' } = await world.links(id);
    const access = new URL(video).searchParams.get('access') ?? '';
    const opened = await world.get(video, { headers: { range: 'bytes=0-4' } });
    expect([opened.status, opened.bytes.length]).toEqual([206, 5]);
    expect((await world.get(video, { method: 'HEAD' })).status).toBe(200);
    expect((await world.get(`/v1/videos/${id}/content?access=${access}`)).status).toBe(200);

    const flipped = access.slice(0, -1) + String.fromCharCode(access.charCodeAt(access.length - 1) ^ 1);
    const attempts = [
      `${content(another)}?access=${access}`,
      `${content(id, 'other')}?access=${access}`,
      `${content(id)}?access=`,
      `${content(id)}?access=${access}&access=${access}`,
      `${content(id)}?access=${access}=`,
      `${content(id)}?access=${flipped}`,
      `${content(id)}?access=${access}${'a'.repeat(100)}`,
      `${content(id)}?access=${encodeURIComponent('\0')}`,
      `/v1/videos/${another}/content?access=${access}`,
      `${content('t'.repeat(192))}?access=${access}`,
    ];
    for (const [index, attempt] of attempts.entries()) {
      for (const token of ['', world.key]) {
        const refused = await world.get(attempt, { address: `203.0.113.${index}`, token });
        expect([refused.status, refused.code]).toEqual([404, 'artifact_not_found']);
      }
    }
  });

  test('give the same error for every fault', async () => {
    const troubles = [
      { content: { url: '/status/500' } },
      { content: { url: '/status/404' } },
      { content: { throw: 'x' } },
      { content: { url: 'http://169.254.169.254/', credentialless: true } },
    ];
    for (const trouble of troubles) {
      const { video = '' } = await world.links(await world.finished(trouble));
      const refused = await world.get(video, { address: '203.0.113.20' });
      expect([refused.status, refused.code]).toEqual([404, 'artifact_not_found']);
    }
    // The log tells the operator.
    for (const code of ['upstream_error', 'gone', 'plugin_error', 'request_rejected']) {
      await world.gateway.logged(`tasks.artifact_${code}`);
    }
  });

  test('of a disabled owner do not work until the owner is enabled again', async () => {
    const id = await world.admin.createUser({ username: 'owner', quota: 1000 });
    await world.admin.call('PUT', '/api/price', { model: 'acme-1', expression: '0' });
    const owner = await signIn(world.url, { username: 'owner' });
    const token = await owner.createKey();
    const task = await world.finished({}, 'acme', token);
    const { video = '' } = await world.links(task, token);
    // Administrators see it in the panel; keys of other users do not open it.
    const path = `/api/task/${task}/artifacts`;
    expect((await world.admin.call<{ artifacts: unknown[] }>('GET', path)).artifacts).toHaveLength(1);
    expect((await world.get(content(task), { token: world.key })).code).toBe('task_not_found');
    expect(
      (await ask(`${world.url}/api/task/${await world.finished()}/artifacts`, { token: owner.token })).status,
    ).toBe(404);

    const opened = async () => (await world.get(video, { address: '203.0.113.30' })).status;
    const manage = (action: string) => world.admin.call('POST', '/api/user/manage', { id, action });
    expect(await opened()).toBe(200);
    await manage('disable');
    expect(await opened()).toBe(404);
    await manage('enable');
    expect(await opened()).toBe(200);
  });

  test('outlive a new secret while the former one is configured, and end with it', async () => {
    const [former, next] = ['crypto-secret-of-the-tests-0123456789', 'another-secret-of-the-tests-0123456789'];
    const old = await startArtifactGateway({ CRYPTO_SECRET: former });
    const { video = '' } = await old.links(await old.finished());
    const { pathname, search } = new URL(video);
    await old.gateway.stop();
    const statuses: number[] = [];
    const known: Record<string, string>[] = [{ CRYPTO_SECRET_PREVIOUS: former }, {}];
    for (const previous of known) {
      const gateway = await startGateway({ dataDir: old.gateway.dataDir, env: { CRYPTO_SECRET: next, ...previous } });
      statuses.push((await fetch(`${gateway.url}${pathname}${search}`)).status);
      await gateway.stop();
    }
    await old.vendor.stop();
    expect(statuses).toEqual([200, 404]);
  });

  test('guessed links are counted per address and minute; genuine links still work', async () => {
    const { video = '' } = await world.links(await world.finished());
    const guess = (address: string) => world.get(`${video}x`, { address });
    for (let i = 0; i < INVALID_A_MINUTE; i += 1) expect((await guess('2001:db8::1')).status).toBe(404);
    const limited = await guess('2001:db8::2');
    expect([limited.status, limited.code, limited.headers.get('retry-after')]).toEqual([
      429,
      'artifact_access_limited',
      '60',
    ]);
    expect(limited.json.error).toMatchObject({
      type: 'rate_limit_error',
      message: 'Too many downloads at once. Try again later.',
    });
    expect((await guess('2001:db9::1')).status).toBe(404);
    expect((await world.get(video, { address: '2001:db8::1' })).status).toBe(200);
  });

  test('concurrent downloads are limited per artifact, address and node; a client that leaves frees its slot', async () => {
    const hanging = async (name: string) =>
      (await world.links(await world.finished({ content: { url: `/hang/${name}` } }))).video ?? '';
    const clients: AbortController[] = [];
    const begin = async (link: string, address: string) => {
      const client = new AbortController();
      const response = holdOpen(await fetch(link, { headers: { 'x-forwarded-for': address }, signal: client.signal }));
      if (response.status === 200) clients.push(client);
      else client.abort();
      return response.status;
    };
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(hanging));
    expect([await begin(a ?? '', '192.0.2.1'), await begin(a ?? '', '192.0.2.1')]).toEqual([200, 200]);
    // The artifact is at its limit for all clients, the address is not.
    expect(await begin(a ?? '', '192.0.2.2')).toBe(429);
    expect(await begin(b ?? '', '192.0.2.1')).toBe(200);
    expect(await begin(c ?? '', '192.0.2.1')).toBe(429);
    expect(await begin(c ?? '', '192.0.2.2')).toBe(200);
    expect(await begin(c ?? '', '192.0.2.3')).toBe(429);
    // A client with an API key is not limited like one without.
    expect((await world.get(content(await world.finished()), { token: world.key })).status).toBe(200);
    clients[0]?.abort();
    await until('the slot is free', async () => (await begin(c ?? '', '192.0.2.3')) === 200);
    for (const client of clients) client.abort();
    await until('the vendor is left', () => world.vendor.open.size === 0);
  });

  test('a finished body frees its slot', async () => {
    const { video = '' } = await world.links(await world.finished({ content: { url: '/large' } }));
    for (let i = 0; i < 6; i += 1) {
      expect((await world.get(video, { address: '192.0.2.9' })).bytes.length).toBe(LARGE);
    }
  });

  test('their secret appears in no log line and no metric', async () => {
    const { video = '' } = await world.links(await world.finished());
    const access = new URL(video).searchParams.get('access') ?? '';
    await world.get(video);
    await world.get(`${video}x`, { address: '203.0.113.77' });
    await world.gateway.logged('203.0.113.77');
    expect(world.gateway.log()).not.toContain(access);
    expect(world.gateway.log()).not.toContain('access=');
    expect(world.gateway.log()).not.toContain(VENDOR_KEY);
    expect((await world.get('/metrics')).text).not.toContain(access);
  });
});
