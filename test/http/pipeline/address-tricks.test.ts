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
function send(line: string, headers: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(listening.port, '127.0.0.1', () => {
      socket.write(`${line} HTTP/1.1\r\n${headers}connection: close\r\n\r\n`);
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
