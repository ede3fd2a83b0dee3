import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { readBody, streamBody } from '../../../src/http/bodies/read-body.ts';
import { type Listening, listen } from '../../../src/http/pipeline/listen.ts';
import { errorResponse, toAppError } from '../../../src/http/responses/errors.ts';
import { until } from '../../support/until.ts';
import { call, openKit, V1_CAP } from '../kit-harness.ts';

const MIB = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };

/** A body without a declared length, sent in chunks. */
function chunked(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      if (left <= 0) return controller.close();
      controller.enqueue(new Uint8Array(Math.min(left, 256 * 1024)).fill(0x20));
      left -= 256 * 1024;
    },
  });
}

describe('bad input gets a clear answer', () => {
  const app = openKit();
  const put = { method: 'PUT', path: '/api/thing', as: 'user' };
  const rows: [
    name: string,
    body: BodyInit | object,
    headers: Record<string, string>,
    status: number,
    code: string,
    says: string,
  ][] = [
    ['broken JSON', '{"name": "ab"', JSON_TYPE, 400, 'BAD_JSON', 'not valid JSON'],
    ['endless nesting', `${'['.repeat(300)}${' '.repeat(9)}${']'.repeat(300)}`, JSON_TYPE, 400, 'BAD_JSON', 'too deep'],
    ['an empty body', '', JSON_TYPE, 400, 'BAD_JSON', 'empty'],
    ['a body that is not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), JSON_TYPE, 400, 'BAD_JSON', 'UTF-8'],
    ['a text', 'name=ab', { 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA', 'application/json'],
    ['a form', new URLSearchParams({ name: 'ab' }), {}, 415, 'UNSUPPORTED_MEDIA', 'application/json'],
    [
      'JSON under a wrong name',
      '{"name":"ab"}',
      { 'content-type': 'application/jsonp' },
      415,
      'UNSUPPORTED_MEDIA',
      'application/json',
    ],
    ['a list', [], {}, 400, 'VALIDATION_FAILED', ''],
    ['null', 'null', JSON_TYPE, 400, 'VALIDATION_FAILED', ''],
    [
      'a missing field',
      {},
      {},
      400,
      'VALIDATION_FAILED',
      'The field "name" is missing. It must be a string of 2 to 5 characters.',
    ],
    [
      'an unknown field',
      { name: 'ab', colour: 'red' },
      {},
      400,
      'VALIDATION_FAILED',
      'Unknown field "colour". Remove it. Accepted here: name, count, tags, mode.',
    ],
    [
      'a wrong type',
      { name: 7 },
      {},
      400,
      'VALIDATION_FAILED',
      'The field "name" must be a string of 2 to 5 characters.',
    ],
    [
      'a number as text',
      { name: 'ab', count: '5' },
      {},
      400,
      'VALIDATION_FAILED',
      'The field "count" must be a whole number of at least 1.',
    ],
    [
      'a fraction',
      { name: 'ab', count: 1.5 },
      {},
      400,
      'VALIDATION_FAILED',
      'The field "count" must be a whole number of at least 1.',
    ],
    [
      'a number too small',
      { name: 'ab', count: 0 },
      {},
      400,
      'VALIDATION_FAILED',
      'The field "count" must be a whole number of at least 1.',
    ],
    [
      'a text too long',
      { name: 'abcdef' },
      {},
      400,
      'VALIDATION_FAILED',
      'The field "name" must be a string of 2 to 5 characters.',
    ],
    [
      'a wrong entry',
      { name: 'ab', tags: ['x', 1] },
      {},
      400,
      'VALIDATION_FAILED',
      'The field "tags.1" must be a string of at most 100 characters.',
    ],
    [
      'a list as text',
      { name: 'ab', tags: '["x"]' },
      {},
      400,
      'VALIDATION_FAILED',
      'The field "tags" must be a list of at most 10 entries.',
    ],
    [
      'none of the choices',
      { name: 'ab', mode: 'c' },
      {},
      400,
      'VALIDATION_FAILED',
      'The field "mode" must be "a" or "b".',
    ],
    [
      'a declared prototype',
      '{"name":"ab","__proto__":{"admin":true}}',
      JSON_TYPE,
      400,
      'VALIDATION_FAILED',
      'Unknown field "__proto__"',
    ],
    [
      'a compressed body',
      Bun.gzipSync(Buffer.from('{"name":"ab"}')),
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
      415,
      'UNSUPPORTED_MEDIA',
      'without Content-Encoding',
    ],
  ];
  test.each(rows)('%s', async (_name, body, headers, status, code, says) => {
    const answer = await call(app, { ...put, body, headers });
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect(answer.json.message).toContain(says);
  });

  test('all faults are reported at once, each once', async () => {
    const { json } = await call(app, { ...put, body: { colour: 1, count: 'x' } });
    expect(
      json.details.errors.map((fault: { field: string; rule: string }) => [fault.field, fault.rule]).sort(),
    ).toEqual([
      ['colour', 'unknown_field'],
      ['count', 'wrong_value'],
      ['name', 'required'],
    ]);
  });

  test('a thousand unknown fields do not get a response of the same size', async () => {
    const body = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`field${i}`.repeat(5), i]));
    const answer = await call(app, { ...put, body });
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(20_000);
  });

  test('the length of a list is checked before its entries', async () => {
    const { json } = await call(app, { ...put, body: { name: 'ab', tags: Array(15_000).fill(0) } });
    expect(json.message).toBe('The field "tags" must be a list of at most 10 entries.');
    expect(json.details.errors.length).toBeLessThanOrEqual(20);
  });

  test('a valid body passes, whatever the case and parameters of its content type', async () => {
    const answer = await call(app, {
      ...put,
      body: '{"name":"ab","count":2}',
      headers: { 'content-type': 'Application/JSON; charset=UTF-8' },
    });
    expect([answer.status, answer.json.data]).toEqual([200, { name: 'ab', count: 2 }]);
  });

  test('a body on a route without one is left unread', async () => {
    const answer = await call(app, { method: 'POST', path: '/api/guess', body: '{broken', headers: JSON_TYPE });
    expect(answer.status).toBe(200);
  });
});

describe('large bodies over a real connection', () => {
  const app = openKit();
  let server: Listening;
  beforeAll(() => {
    server = listen(app.handle, { host: '127.0.0.1', port: 0 });
  });
  afterAll(() => server.stop(0));

  const rows: [name: string, path: string, as: string, body: () => BodyInit, status: number, code: string][] = [
    ['20 MB by a signed-in user', '/api/thing', 'user', () => new Uint8Array(20 * MIB), 413, 'TOO_LARGE'],
    ['20 MB in chunks', '/api/thing', 'user', () => chunked(20 * MIB), 413, 'TOO_LARGE'],
    ['65 KiB by a signed-in user', '/api/thing', 'user', () => 'x'.repeat(65 * 1024), 413, 'TOO_LARGE'],
    ['65 KiB by nobody', '/api/open', '', () => 'x'.repeat(65 * 1024), 413, 'TOO_LARGE'],
    ['65 KiB by nobody, in chunks', '/api/open', '', () => chunked(65 * 1024), 413, 'TOO_LARGE'],
    ['3 MiB to a route of API clients', '/v1/things', 'sk-good', () => new Uint8Array(3 * MIB), 413, 'too_large'],
    ['3 MiB in chunks to a route of API clients', '/v1/things', 'sk-good', () => chunked(3 * MIB), 413, 'too_large'],
  ];
  test.each(rows)('%s', async (_name, path, as, body, status, code) => {
    const response = await fetch(`${server.url}${path}`, {
      method: path === '/api/thing' ? 'PUT' : 'POST',
      headers: { ...JSON_TYPE, ...(as ? { authorization: `Bearer ${as}` } : {}) },
      body: body(),
    });
    const answer = (await response.json()) as { code?: string; error?: { code: string } };
    expect([response.status, answer.code ?? answer.error?.code]).toEqual([status, code]);
  });

  test('an address of more than 16 KiB is refused with a body, the rest by the listener', async () => {
    const long = 'x'.repeat(20_000);
    const tooLong = await fetch(`${server.url}/v1/things?a=${long}`);
    expect([tooLong.status, await tooLong.json()]).toMatchObject([414, { error: { code: 'address_too_long' } }]);
    const headers = { cookie: long, 'x-more': long };
    for (const refused of [fetch(`${server.url}/api/open?a=${long}${long}`), fetch(server.url, { headers })])
      expect((await refused).status).toBe(431);
  });

  test('a body within the limit passes, even in chunks', async () => {
    for (const body of [new Uint8Array(V1_CAP), chunked(V1_CAP)]) {
      const response = await fetch(`${server.url}/v1/things`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk-good' },
        body,
      });
      expect([response.status, await response.json()]).toEqual([200, { bytes: V1_CAP }]);
    }
  });

  test('60 KiB of JSON from a signed-in user are read and checked', async () => {
    const response = await fetch(`${server.url}/api/thing`, {
      method: 'PUT',
      headers: { ...JSON_TYPE, authorization: 'Bearer user' },
      body: JSON.stringify({ name: 'x'.repeat(60 * 1024) }),
    });
    expect(response.status).toBe(400);
    expect((await response.text()).length).toBeLessThan(2000);
  });
});

describe('slow loris', () => {
  const RATE = { windowMs: 100, minBytes: 1000, totalMs: 1000 };
  /** A rate that even a busy machine keeps. */
  const CALM_RATE = { windowMs: 3000, minBytes: 1000, totalMs: 60_000 };
  let server: Listening;
  beforeAll(() => {
    server = listen(
      async (request) => {
        try {
          const pace = request.url.endsWith('/calm') ? CALM_RATE : RATE;
          return Response.json((await readBody(request, 1024 * 1024, pace)).byteLength);
        } catch (error) {
          return errorResponse(toAppError(error), 'openai', 'request');
        }
      },
      { host: '127.0.0.1', port: 0 },
    );
  });
  afterAll(() => server.stop(0));

  test.each([
    ['a body that drips is cut off', { declared: 1_000_000, bytes: 1, everyMs: 20, mostDrips: 150 }],
    [
      'a body that comes steadily, but for too long, is cut off',
      { declared: 1_000_000, bytes: 100, everyMs: 5, mostDrips: 1000 },
    ],
    ['a small body that drips is cut off', { declared: 1000, bytes: 1, everyMs: 20, mostDrips: 150 }],
  ])('%s', async (_name, { declared, bytes, everyMs, mostDrips }) => {
    let drips = 0;
    const socket = connect(server.port, '127.0.0.1');
    let answer = '';
    let isClosed = false;
    socket.on('data', (data) => {
      answer += String(data);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      isClosed = true;
    });
    socket.write(`POST / HTTP/1.1\r\nHost: gateway\r\nContent-Length: ${declared}\r\n\r\n`);
    // The byte counts show how long it took, not a clock: on a busy machine both sides wait.
    const drip = setInterval(() => {
      drips += 1;
      socket.write('x'.repeat(bytes));
    }, everyMs);
    await until('the client is answered', () => answer.includes('too slowly'));
    expect(answer).toStartWith('HTTP/1.1 400 ');
    await until('the client is cut off', () => isClosed);
    clearInterval(drip);
    expect(drips).toBeLessThan(mostDrips);
  });

  test('a slow line, and a body that the gateway reads slowly, pass', async () => {
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        // Enough bytes for the first window, and none in the second.
        controller.enqueue(new Uint8Array(2000));
        await Bun.sleep(CALM_RATE.windowMs + 100);
        controller.enqueue(new Uint8Array(2000));
        controller.close();
      },
    });
    expect(await (await fetch(new URL('/calm', server.url), { method: 'POST', body })).json()).toBe(4000);
    const request = new Request('http://gateway.local/', { method: 'POST', body: new Uint8Array(500_000) });
    let size = 0;
    for await (const chunk of streamBody(request, 1024 * 1024, RATE)) {
      await Bun.sleep(300);
      size += chunk.byteLength;
    }
    expect(size).toBe(500_000);
  });
});
