import { describe, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { listen } from '../../../src/http/pipeline/listen.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { until } from '../../support/until.ts';
import { call, openKit } from '../kit-harness.ts';

describe('health', () => {
  test('/livez answers even if parts fail', async () => {
    const app = openKit({ checks: { database: () => Promise.reject(new Error('gone')) } });
    const answer = await call(app, { path: '/livez' });
    expect([answer.status, answer.json]).toEqual([200, { status: 'ok' }]);
  });

  test('/readyz names the parts', async () => {
    const app = openKit({ checks: { database: async () => {}, migrations: async () => {}, sandbox: async () => {} } });
    const answer = await call(app, { path: '/readyz' });
    expect([answer.status, answer.json]).toEqual([
      200,
      { status: 'ready', checks: { database: 'ok', migrations: 'ok', sandbox: 'ok' } },
    ]);
  });

  test('/readyz is 503 while a part fails, and shows no cause', async () => {
    const app = openKit({
      checks: { database: () => Promise.reject(new Error('password=hunter2')), sandbox: async () => {} },
    });
    const answer = await call(app, { path: '/readyz' });
    expect([answer.status, answer.json]).toEqual([
      503,
      { status: 'not_ready', checks: { database: 'failed', sandbox: 'ok' } },
    ]);
    expect(answer.text).not.toContain('hunter2');
    expect(app.lines.some((line) => line.level === 'warn' && line.fields.check === 'database')).toBe(true);
  });

  test('/readyz has a deadline for a part that hangs, and concurrent callers share one check', async () => {
    let asked = 0;
    const app = openKit({
      checks: {
        database: () => {
          asked += 1;
          return new Promise(() => {});
        },
      },
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(app, { path: '/readyz' })));
    expect(answers.every(({ status }) => status === 503)).toBe(true);
    expect(asked).toBe(1);
  });
});

describe('metrics', () => {
  const rows: [name: string, token: string, peer: string, headers: Record<string, string>, status: number][] = [
    ['this machine without a token', '', '127.0.0.1', {}, 200],
    ['this machine over IPv6', '', '::1', {}, 200],
    ['this machine under 127.0.0.1', '', '127.0.0.1', { host: '127.0.0.1:3000' }, 200],
    ['this machine under [::1]', '', '::1', { host: '[::1]:3000' }, 200],
    ['DNS rebinding: a name that was given our address', '', '127.0.0.1', { host: 'evil.example:3000' }, 401],
    ['DNS rebinding: a name that begins like an address', '', '127.0.0.1', { host: '127.0.0.1.evil.example' }, 401],
    ['DNS rebinding: a name that ends like one', '', '127.0.0.1', { host: 'evil.localhost.example' }, 401],
    ['another address of this machine', '', '127.0.0.1', { host: '192.168.1.5:3000' }, 401],
    ['a page of another site', '', '127.0.0.1', { origin: 'https://evil.example' }, 401],
    ['a page, as browsers say it', '', '127.0.0.1', { 'sec-fetch-site': 'cross-site' }, 401],
    ['a proxy that says X-Forwarded-Port', '', '127.0.0.1', { 'x-forwarded-port': '443' }, 401],
    ['a proxy that says CF-Connecting-IP', '', '127.0.0.1', { 'cf-connecting-ip': '203.0.113.9' }, 401],
    ['a proxy that says True-Client-IP', '', '127.0.0.1', { 'true-client-ip': '203.0.113.9' }, 401],
    ['another machine without a token', '', '10.0.0.5', {}, 401],
    ['a proxy on this machine', '', '127.0.0.1', { 'x-forwarded-for': '127.0.0.1' }, 401],
    ['a proxy that says Forwarded', '', '127.0.0.1', { forwarded: 'for=127.0.0.1' }, 401],
    ['a proxy that says Via', '', '127.0.0.1', { via: '1.1 proxy' }, 401],
    ['a proxy that says X-Real-IP', '', '127.0.0.1', { 'x-real-ip': '127.0.0.1' }, 401],
    ['the right token from anywhere', 'm3trics', '203.0.113.9', { authorization: 'Bearer m3trics' }, 200],
    ['the right token through a proxy', 'm3trics', '127.0.0.1', { authorization: 'Bearer m3trics', via: 'x' }, 200],
    ['this machine without the token that is set', 'm3trics', '127.0.0.1', {}, 401],
    ['a wrong token', 'm3trics', '127.0.0.1', { authorization: 'Bearer m3tric' }, 401],
    ['a longer token', 'm3trics', '127.0.0.1', { authorization: 'Bearer m3trics1' }, 401],
    ['a root’s access token', 'm3trics', '203.0.113.9', { authorization: 'Bearer root' }, 401],
  ];
  test.each(rows)('%s', async (_name, metricsToken, peer, headers, status) => {
    const answer = await call(openKit({ config: { metricsToken } }), {
      path: '/metrics',
      peer,
      headers: { host: 'localhost:3000', ...headers },
    });
    expect(answer.status).toBe(status);
    expect(answer.text.includes('taskgate_http_requests_total')).toBe(status === 200);
  });

  test('count by declared route, so that no caller can create a series', async () => {
    const app = openKit();
    await call(app, { path: '/api/self/one', as: 'user' });
    await call(app, { path: '/api/self/two', as: 'user' });
    await call(app, { path: '/api/none-1' });
    await call(app, { path: '/api/none-2' });
    await call(app, { method: 'PROPFIND', path: '/api/self' });
    const { text } = await call(app, { path: '/metrics', peer: '127.0.0.1', headers: { host: 'localhost' } });
    expect(text).toContain('taskgate_http_requests_total{method="GET",route="/api/self/:name",status="200"} 2');
    expect(text).toContain('taskgate_http_requests_total{method="GET",route="none",status="404"} 2');
    expect(text).toContain('taskgate_http_requests_total{method="other",route="none",status="405"} 1');
    expect(text).not.toContain('none-1');
  });
});

describe('the listener', () => {
  test('finishes requests in flight before it stops', async () => {
    let begun = () => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const server = listen(
      async (request) => {
        if (!request.url.endsWith('/slow')) return new Response('late');
        begun();
        await finished;
        return new Response('complete');
      },
      { host: '127.0.0.1', port: 0 },
    );
    const answer = fetch(`${server.url}/slow`).then((response) => response.text());
    await started;
    const stopped = server.stop(10_000);
    await until('a new connection is refused', () =>
      fetch(server.url, { keepalive: false }).then(
        () => false,
        () => true,
      ),
    );
    finish();
    expect(await answer).toBe('complete');
    await stopped;
  });

  test('closes requests that do not end within the drain time', async () => {
    let begun = () => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const server = listen(
      () => {
        begun();
        return new Promise<Response>(() => {});
      },
      { host: '127.0.0.1', port: 0 },
    );
    const answer = fetch(server.url).then(
      () => 'answered',
      () => 'cut',
    );
    await started;
    await server.stop(50);
    expect(await answer).toBe('cut');
  });

  test('shows no stack when the handler itself breaks', async () => {
    const server = listen(() => Promise.reject(new Error('SELECT secret')), { host: '127.0.0.1', port: 0 });
    const response = await fetch(server.url);
    expect([response.status, await response.text()]).toEqual([500, '']);
    await server.stop(0);
  });

  test('a flood of pipelined requests: one connection gets few answers in a row, then it is closed', async () => {
    let calls = 0;
    const answer = async () => {
      calls += 1;
      return new Response('');
    };
    const server = listen(answer, { host: '127.0.0.1', port: 0 });
    const send = async (count: number): Promise<string> => {
      let said = '';
      const ended = Promise.withResolvers<void>();
      const socket = await Bun.connect({
        hostname: '127.0.0.1',
        port: server.port,
        socket: {
          data(_, chunk) {
            said += chunk.toString();
            if (said.split('HTTP/1.1 200').length > count) ended.resolve();
          },
          close: () => ended.resolve(),
          error: () => ended.resolve(),
        },
      });
      socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(count));
      await ended.promise;
      socket.end();
      return said;
    };
    expect((await send(16)).split('HTTP/1.1 200')).toHaveLength(17);
    calls = 0;
    const said = await send(1000);
    expect(calls).toBe(17);
    expect(said.split('HTTP/1.1 200')).toHaveLength(18);
    expect(said.match(/connection: close/gi)).toHaveLength(1);
    await server.stop(0);
  });

  test('reports its port and fails on a port in use', () => {
    const server = listen(async () => new Response(''), { host: '127.0.0.1', port: 0 });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect(() => listen(async () => new Response(''), { host: '127.0.0.1', port: server.port })).toThrow(
      expect.objectContaining({ code: 'EADDRINUSE' }),
    );
    return server.stop(0);
  });

  test('serves TLS from files', async () => {
    const folder = temporaryFolder();
    try {
      const keyFile = join(folder, 'key.pem');
      const certFile = join(folder, 'cert.pem');
      const made = Bun.spawnSync([
        ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
        ...['-keyout', keyFile, '-out', certFile, '-days', '1', '-subj', '/CN=localhost'],
      ]);
      expect(made.exitCode).toBe(0);
      const { handle } = openKit({ config: { tls: true } });
      const server = listen(handle, {
        host: '127.0.0.1',
        port: 0,
        tls: { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') },
      });
      const response = await fetch(`${server.url}/livez`, { tls: { rejectUnauthorized: false } });
      expect([server.url.slice(0, 8), response.status]).toEqual(['https://', 200]);
      await server.stop(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
