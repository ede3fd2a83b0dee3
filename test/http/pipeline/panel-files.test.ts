import { beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { PanelManifest } from '../../../src/http/panel-files/panel-manifest.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { call, openKit } from '../kit-harness.ts';

const SCRIPT = 'console.log("panel");'.repeat(50);
const PICTURE = `<svg>${'<g/>'.repeat(50)}</svg>`;
let folder: string;
let app: ReturnType<typeof openKit>;

let manifest: PanelManifest;
beforeAll(() => {
  folder = temporaryFolder();
  const put = (name: string, content: string | Uint8Array) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  manifest = {
    indexHtml:
      '<meta name="csp-nonce" content="__CSP_NONCE__"><script type="module" src="/assets/main-abc.js"></script>',
    files: [
      {
        path: '/assets/main-abc.js',
        brotli: put('main.js.br', brotliCompressSync(SCRIPT)),
        contentType: 'text/javascript; charset=utf-8',
      },
      {
        path: '/icon.svg',
        brotli: put('icon.svg.br', brotliCompressSync(PICTURE)),
        contentType: 'image/svg+xml',
        etag: '"abc"',
      },
      {
        path: '/icon.png',
        file: put('icon.png', 'png'),
        contentType: 'image/png',
        etag: '"def"',
      },
    ],
  };
  app = openKit({ panel: manifest });
});

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('files', () => {
  const rows: [accepted: string, encoding: string | null, etag: string][] = [
    ['', null, '"abc"'],
    ['gzip', 'gzip', '"abc-gzip"'],
    ['gzip, deflate, br, zstd', 'br', '"abc-br"'],
    ['br;q=0, gzip', 'gzip', '"abc-gzip"'],
    ['br;q=0.0, gzip;q=0', null, '"abc"'],
    ['GZIP;q=0.5', 'gzip', '"abc-gzip"'],
    ['identity', null, '"abc"'],
  ];
  test.each(rows)('Accept-Encoding "%s"', async (accepted, encoding, etag) => {
    const { status, headers } = await call(app, { path: '/icon.svg', headers: { 'accept-encoding': accepted } });
    expect([status, headers.get('content-encoding'), headers.get('etag')]).toEqual([200, encoding, etag]);
    expect(headers.get('content-type')).toBe('image/svg+xml');
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('vary')).toBe('accept-encoding');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('the bytes are those of the file, for a client that takes no compression or no Brotli too', async () => {
    for (const encoding of ['gzip', 'gzip', 'br']) {
      const headers = { 'accept-encoding': encoding };
      const request = new Request('http://gateway.local/assets/main-abc.js', { headers });
      const response = await app.handle(request, { address: '127.0.0.1', keepOpen: () => () => {} });
      const unpack = encoding === 'gzip' ? gunzipSync : brotliDecompressSync;
      expect(unpack(await response.bytes()).toString()).toBe(SCRIPT);
    }
    expect((await call(app, { path: '/assets/main-abc.js' })).text).toBe(SCRIPT);
    expect((await call(app, { path: '/icon.png' })).text).toBe('png');
  });

  test('a known version is not sent again', async () => {
    const send = (tag: string) =>
      call(app, { path: '/icon.svg', headers: { 'if-none-match': tag, 'accept-encoding': 'br' } });
    const answer = await send('W/"abc-br", "x"');
    expect([answer.status, answer.text, answer.headers.get('content-encoding')]).toEqual([304, '', null]);
    expect((await send('"abc"')).status).toBe(200);
  });

  test('a file whose name has a hash of its content is kept for a year and has no tag', async () => {
    const { headers } = await call(app, { path: '/assets/main-abc.js' });
    expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['public, max-age=31536000, immutable', null]);
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  });

  test('HEAD and other methods', async () => {
    const head = await call(app, { method: 'HEAD', path: '/icon.svg' });
    expect([head.status, head.text]).toEqual([200, '']);
    expect((await call(app, { method: 'POST', path: '/icon.svg' })).status).toBe(404);
  });
});

describe('the page', () => {
  test.each(['/', '/setup', '/sign-in', '/tasks/task_1', '/deep/er/path'])('%s', async (path) => {
    const { status, text, headers } = await call(app, { path, headers: HTML });
    expect(status).toBe(200);
    const nonce = /content="([\w-]{22})"/.exec(text)?.[1];
    expect(nonce).toBeDefined();
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain(`style-src 'self' 'nonce-${nonce}'`);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    for (const loose of ['unsafe-inline', 'unsafe-eval', 'http:', 'https:', '*']) expect(policy).not.toContain(loose);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  test.each<[name: string, turnstile: boolean, telegram: boolean, scripts: string, frames: string | undefined]>([
    ['nothing', false, false, "'self'", undefined],
    ['Turnstile', true, false, "'self' https://challenges.cloudflare.com", 'https://challenges.cloudflare.com'],
    ["Telegram's widget", false, true, "'self' https://telegram.org", 'https://oauth.telegram.org'],
    [
      'both',
      true,
      true,
      "'self' https://challenges.cloudflare.com https://telegram.org",
      'https://challenges.cloudflare.com https://oauth.telegram.org',
    ],
  ])(
    'loads from other sites only enabled third parties, here %s, from the next page on',
    async (_name, turnstile, telegram, scripts, frames) => {
      let on = false;
      const switched = openKit({
        panel: manifest,
        thirdParties: () => ({ turnstile: on && turnstile, telegram: on && telegram }),
      });
      const policy = async () => {
        const { headers } = await call(switched, { path: '/sign-in', headers: HTML });
        const rules = (headers.get('content-security-policy') ?? '').split('; ').map((rule) => rule.split(' '));
        return Object.fromEntries(rules.map(([name, ...sources]) => [name, sources.join(' ')]));
      };
      const closed = await policy();
      expect(JSON.stringify(closed)).not.toContain('https:');
      on = true;
      const { 'script-src': script, 'frame-src': frame, ...rest } = await policy();
      expect([script, frame]).toEqual([scripts, ["'self'", frames].filter(Boolean).join(' ')]);
      const { 'script-src': _script, 'style-src': _nonce, 'frame-src': own, ...same } = closed;
      expect(own).toBe("'self'");
      expect(rest).toMatchObject(same);
      expect(Object.values(rest).join(' ')).not.toContain('https:');
    },
  );

  test('every response has a new nonce', async () => {
    const [one, two] = await Promise.all([
      call(app, { path: '/', headers: HTML }),
      call(app, { path: '/', headers: HTML }),
    ]);
    expect(one.text).not.toBe(two.text);
  });

  const never: [name: string, path: string, headers: Record<string, string>][] = [
    ['an unknown API path', '/api/none', HTML],
    ['the API’s root', '/api', HTML],
    ['a path of API clients', '/v1/none', HTML],
    ['a missing asset', '/assets/gone-123.js', HTML],
    ['a path traversal', '/assets/..%2f..%2fetc/passwd.txt', HTML],
    ['an SDK’s wrong base address', '/chat/completions', { accept: 'application/json' }],
    ['curl', '/setup', { accept: '*/*' }],
  ];
  test.each(never)('is not sent for %s', async (_name, path, headers) => {
    const answer = await call(app, { path, headers });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/json;charset=utf-8']);
  });

  const programs: Record<string, string>[] = [{ accept: '*/*' }, { accept: 'application/json' }, {}];
  test.each(programs)('tells a program at / what this is: %o', async (headers) => {
    for (const built of [app, openKit()]) {
      const { status, headers: answered, json } = await call(built, { path: '/', headers });
      expect([status, answered.get('content-type'), answered.get('vary')]).toEqual([200, 'application/json', 'accept']);
      expect(json).toEqual({
        name: 'Taskgate',
        version: '0.0.0',
        panel: '/',
        api: '/v1',
        docs: '/api/docs',
        openapi: '/api/openapi.json',
        health: '/readyz',
      });
      const head = await call(built, { path: '/', method: 'HEAD', headers });
      expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
        200,
        '',
        answered.get('content-length'),
      ]);
      expect((await call(built, { path: '/', method: 'POST', headers })).status).toBe(404);
    }
  });

  test('an unbuilt panel is a plain 404', async () => {
    expect((await call(openKit(), { path: '/', headers: HTML })).status).toBe(404);
  });
});
