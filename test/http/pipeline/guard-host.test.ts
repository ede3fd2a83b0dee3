import { describe, expect, test } from 'bun:test';
import { call, openKit } from '../kit-harness.ts';

const open = () =>
  openKit({ config: { hostGuard: { names: () => ['gate.example.com', 'gate.lan'], port: () => 3000 } } });
const REFUSED = 403;
/** Sent by browsers over TLS; no script can set it. */
const BY_TLS = { 'sec-fetch-site': 'same-origin' };

describe('DNS rebinding: a page whose name points to this machine', () => {
  const rows: [host: string, headers: Record<string, string>, refused: boolean][] = [
    ['evil.example:3000', {}, true],
    ['evil.example', {}, true],
    ['EVIL.example.:3000', {}, true],
    ['gate.example.com.evil.example:3000', {}, true],
    ['127.0.0.1.evil.example:3000', {}, true],
    ['localhost.evil.example:3000', {}, true],
    ['evil.example:3000', { 'x-forwarded-host': 'gate.example.com', 'x-forwarded-for': '10.0.0.1' }, true],
    ['evil.example:3000', BY_TLS, true],
    ['evil.example', { ...BY_TLS, origin: 'http://evil.example' }, true],
    ['localhost:3000', {}, false],
    ['panel.localhost:3000', {}, false],
    ['127.0.0.1:3000', {}, false],
    ['[::1]:3000', {}, false],
    ['192.168.1.5:3000', {}, false],
    ['gate.example.com', {}, false],
    ['Gate.Example.com:8443', {}, false],
    ['gate.lan.', {}, false],
    // Behind a proxy that terminates TLS, with a name that is not configured.
    ['unset.example.com', BY_TLS, false],
    ['unset.example.com', { ...BY_TLS, origin: 'https://unset.example.com' }, false],
  ];
  test.each(rows)('Host %s %o: refused %p', async (host, headers, refused) => {
    const app = open();
    const page = await call(app, { path: '/', headers: { host, ...headers } });
    expect(page.status === REFUSED).toBe(refused);
    const api = await call(app, { path: '/api/open', headers: { host, ...headers } });
    expect(api.status).toBe(refused ? REFUSED : 200);
    if (!refused) return;
    expect(page.headers.get('content-type')).toStartWith('text/plain');
    expect(page.text).toContain('TRUSTED_HOSTS=');
    expect(api.json).toMatchObject({ success: false, code: 'HOST_FORBIDDEN' });
  });

  test('is refused before a limit counts it; the log names at most ten hosts', async () => {
    const app = open();
    for (let i = 0; i < 30; i += 1) await call(app, { path: '/api/open', headers: { host: `e${i % 15}.example` } });
    expect(
      app.lines.filter(({ level, message }) => level === 'warn' && message.includes('TRUSTED_HOSTS')),
    ).toHaveLength(10);
  });

  test.each(['/livez', '/readyz', '/v1/none'])('%s answers under every name', async (path) => {
    expect((await call(open(), { path, headers: { host: 'balancer.example' } })).status).not.toBe(REFUSED);
  });
});

test('a listener that other machines reach answers under every name', async () => {
  expect((await call(openKit(), { path: '/api/open', headers: { host: 'any.example' } })).status).toBe(200);
});
