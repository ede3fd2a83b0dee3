/**
 * Request lines and hosts that only a hand-made client sends, over a real connection: the pipeline
 * and the framework's router must read an address alike.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { Elysia } from 'elysia';
import { type Listening, listen } from '../../../src/http/pipeline/listen.ts';
import { ok } from '../../../src/http/pipeline/route-kit.ts';
import { openKit } from '../kit-harness.ts';

const app = openKit({
  routes: (kit) =>
    new Elysia().use(kit).get('/api/:word/secret', ({ params }) => ok(`secret of ${params.word}`), {
      root: true,
    }) as never,
});
let listening: Listening;
beforeAll(() => {
  listening = listen(app.handle, { host: '127.0.0.1', port: 0 });
});
afterAll(() => listening.stop(0));

/** Writes raw bytes to the socket and returns the whole response. */
function send(line: string, headers: string, { version = '1.1', port = listening.port } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${line} HTTP/${version}\r\n${headers}connection: close\r\n\r\n`);
    });
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

test('a fragment in the request line: a user who is admitted to one route does not reach a root route', async () => {
  const answer = await send('GET /api/self#/secret', 'host: gateway.local\r\nauthorization: Bearer user\r\n');
  expect(answer).not.toContain('secret of');
  expect(answer).toStartWith('HTTP/1.1 404');
});

test.each(['a', 'tg', 'a.b', 'abc', '[::1]', 'gateway.local:3000'])(
  'the host %s reaches the requested route',
  async (host) => {
    expect(await send('GET /api/open', `host: ${host}\r\n`)).toStartWith('HTTP/1.1 200');
    expect(await send('GET /api/self/x/', `host: ${host}\r\nauthorization: Bearer user\r\n`)).toContain('"data":"x"');
    expect(await send('GET /api/root', `host: ${host}\r\nauthorization: Bearer user\r\n`)).toStartWith('HTTP/1.1 403');
  },
);

test.each(['[', 'a b', 'a@b', 'a/../b', 'a?b', 'a#b', 'a:99999', ''])(
  'the broken host "%s" is refused in words and logged',
  async (host) => {
    app.lines.length = 0;
    const answer = await send('GET /api/root', `host: ${host}\r\n`);
    expect(answer).toStartWith('HTTP/1.1 400');
    expect(answer.toLowerCase()).toContain('x-request-id');
    expect(answer).toContain('"code":"bad_address"');
    expect(app.lines.filter(({ message }) => message === 'request')).toHaveLength(1);
  },
);

test.each(['%FF', '%', '%E0%A4%A', '%zz', 'a%C3'])(
  'the broken percent escape "%s" in a path is refused in words',
  async (broken) => {
    for (const path of [`/api/self/${broken}`, `/v1/things/${broken}`, `/${broken}`]) {
      const answer = await send(`GET ${path}`, 'host: gateway.local\r\nauthorization: Bearer user\r\n');
      expect(answer).toStartWith('HTTP/1.1 400');
      expect(answer.toLowerCase()).toContain('bad_address');
    }
  },
);

test.each(['/livez', '/readyz', '/readyz/', '/readyz?verbose=1', '/metrics'])(
  'HTTP/1.0 without a host: the check of a load balancer reaches %s',
  async (path) => {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      const answer = await send(`${method} ${path}`, '', { version: '1.0' });
      expect(answer).toStartWith(`HTTP/1.1 ${method === 'OPTIONS' ? '405' : '200'}`);
      expect(answer.toLowerCase()).toContain('x-request-id');
    }
  },
);

test.each([
  ['', false],
  ['http://results.example', false],
  ['http://results.example', true],
])(
  'HTTP/1.0 without a host is refused elsewhere and recorded: results at %j, on their listener: %p',
  async (origin, resultsOnly) => {
    const kit = openKit({ config: { results: { origin, ownListener: resultsOnly } } });
    const other = listen(kit.handle, { host: '127.0.0.1', port: 0, resultsOnly });
    try {
      for (const line of [
        'GET /',
        'GET /api/open',
        'POST /v1/videos',
        'GET //x/readyz',
        'GET /v1/videos/1/content?access=x',
      ]) {
        kit.lines.length = 0;
        const answer = await send(line, '', { version: '1.0', port: other.port });
        expect([line, answer.slice(0, 12)]).toEqual([line, `HTTP/1.1 ${resultsOnly ? '404' : '400'}`]);
        expect(answer.toLowerCase()).toContain('x-request-id');
        expect(kit.lines.length).toBeGreaterThan(0);
      }
    } finally {
      await other.stop(0);
    }
  },
);

test('a fault before the request is known is answered, logged and counted', async () => {
  const kit = openKit({ config: { trustedProxies: ['127.0.0.0/8'] } });
  // As a client that is gone before its address is read.
  const broken = {
    keepOpen: () => () => {},
    get address(): string {
      throw new Error('SELECT secret');
    },
  };
  const answer = await kit.handle(new Request('http://localhost/api/open'), broken as never);
  expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining('secret')]);
  expect(answer.headers.get('x-request-id')).toBeString();
  expect(kit.lines).toContainEqual(expect.objectContaining({ level: 'error' }));
});
