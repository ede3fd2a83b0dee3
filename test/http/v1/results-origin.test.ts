/** RESULTS_ORIGIN: what vendors made has its own origin, and the panel never displays it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { freePort } from '../../support/free-port.ts';
import { FILE, startArtifactGateway } from './artifact-harness.ts';

const PAGE = '<!doctype html><script>document.cookie</script>';
/** What may be on no origin but the panel's. */
const CLOSED = [
  ['GET', '/'],
  ['GET', '/setup'],
  ['GET', '/api/status'],
  ['GET', '/api/docs'],
  ['POST', '/api/user/login'],
  ['POST', '/api/user/auth/refresh'],
  ['GET', '/livez'],
  ['GET', '/metrics'],
  ['GET', '/v1/models'],
  ['OPTIONS', '/v1/models'],
] as const;

let pages: ReturnType<typeof Bun.serve>;
beforeAll(() => {
  const headers = { 'content-type': 'text/html', 'set-cookie': 'stolen=1' };
  pages = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(PAGE, { headers }) });
});
afterAll(() => pages.stop(true));

describe.each([
  ['a host name', false],
  ['a listener', true],
] as const)('%s of its own', (_name, hasListener) => {
  let world: Awaited<ReturnType<typeof startArtifactGateway>>;
  let origin = '';
  let results = '';
  beforeAll(async () => {
    const port = await freePort();
    origin = hasListener ? `http://localhost:${port}` : 'http://results.example';
    world = await startArtifactGateway({
      UPSTREAM_ALLOW_PRIVATE: 'true',
      RESULTS_ORIGIN: origin,
      ...(hasListener ? { RESULTS_PORT: String(port) } : {}),
    });
    results = hasListener ? `http://127.0.0.1:${port}` : world.url;
  });
  afterAll(() => world.stop());

  /** Asks the origin of results. */
  const ask = (path: string, { headers, ...init }: { method?: string; headers?: Record<string, string> } = {}) =>
    fetch(`${results}${path}`, { ...init, redirect: 'manual', headers: { host: new URL(origin).host, ...headers } });
  const readLink = async (answer: object = {}): Promise<URL> => {
    const id = await world.finished(answer);
    const { json } = await world.get(`/v1/tasks/${id}/artifacts`, { token: world.key });
    return new URL((json.artifacts as { content_url: string }[])[0]?.content_url ?? '');
  };

  test('links lead there, and it serves their content, whole and in parts', async () => {
    const link = await readLink();
    expect(link.origin).toBe(origin);
    const path = `${link.pathname}${link.search}`;
    const whole = await ask(path);
    expect([whole.status, Buffer.compare(await whole.bytes(), FILE)]).toEqual([200, 0]);
    expect(whole.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    expect(whole.headers.get('set-cookie')).toBeNull();
    expect((await ask(path, { headers: { range: 'bytes=0-9' } })).status).toBe(206);
    expect((await ask(path, { method: 'HEAD' })).status).toBe(200);
  });

  test('the panel, /api, cookies and keys on the origin of results: there is nothing but links', async () => {
    const headers = { authorization: `Bearer ${world.key}`, accept: 'text/html' };
    const { pathname, search } = await readLink();
    const others = [
      ['GET', pathname],
      ['POST', `${pathname}${search}`],
      ['GET', `/v1/tasks${search}`],
    ] as const;
    for (const [method, path] of [...CLOSED, ...others]) {
      const answer = await ask(path, { method, headers });
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.headers.get('set-cookie')).toBeNull();
      expect(answer.headers.get('content-type')).toStartWith('application/json');
      expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    }
    expect((await ask(`${pathname}?access=forged`)).status).toBe(404);
  });

  test("a page that a vendor made: the panel's origin displays neither it nor any other content", async () => {
    for (const answer of [{ content: { url: `${pages.url}`, credentialless: true } }, {}]) {
      const link = await readLink(answer);
      const path = `${link.pathname}${link.search}`;
      const moved = await fetch(`${world.url}${path}`, { redirect: 'manual' });
      expect([moved.status, moved.headers.get('location')]).toEqual([307, `${origin}${path}`]);
      expect(await moved.text()).toBe('');
      const byKey = await world.get(link.pathname, { token: world.key });
      expect([byKey.status, byKey.headers.get('content-disposition')]).toEqual([
        200,
        expect.stringMatching(/^attachment/),
      ]);
    }
    const link = await readLink({ content: { url: `${pages.url}`, credentialless: true } });
    const there = await ask(`${link.pathname}${link.search}`);
    expect(there.headers.get('content-type')).toBe('application/octet-stream');
    expect([there.headers.get('content-disposition'), there.headers.get('set-cookie')]).toEqual(['attachment', null]);
  });

  test("the panel's pages may load from there, and nothing else of it changes", async () => {
    const page = await fetch(`${world.url}/`, { headers: { accept: 'text/html' } });
    const policy = page.headers.get('content-security-policy') ?? '';
    for (const directive of ["media-src 'self' blob:", "img-src 'self' data: blob:", "connect-src 'self'"])
      expect(policy).toContain(`${directive} ${origin};`);
    expect(policy).toContain("script-src 'self';");
    expect((await fetch(`${world.url}/api/status`)).status).toBe(200);
  });
});
