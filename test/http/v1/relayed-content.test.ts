import { expect, test } from 'bun:test';
import type { ApiPrincipal } from '../../../src/auth/index.ts';
import { forwardObjectCall } from '../../../src/http/v1/relay-requests.ts';
import { contentResponse } from '../../../src/http/v1/send-content.ts';
import type { Relay } from '../../../src/relay/relay.ts';
import type { RelayAnswer, RelayCall } from '../../../src/relay/types.ts';

const answer: RelayAnswer = { status: 200, headers: {}, body: null, replayed: false };
const bytes = new TextEncoder().encode('words of the vendor');
const stream = () => new Response(bytes).body;

test.each([
  ...[204, 205, 304].map((status) => [status, status, ''] as const),
  ...[100, 199, 600, 999].map((status) => [status, 502, 'words of the vendor'] as const),
  ...[200, 206, 416, 599].map((status) => [status, status, 'words of the vendor'] as const),
])('an answer of a vendor with status %i is one with %i', async (status, answered, text) => {
  for (const body of [bytes, stream()]) {
    const response = contentResponse(
      { status, headers: { 'content-type': 'a/b', 'content-length': '19' }, body },
      'key',
    );
    expect([response.status, await response.text()]).toEqual([answered, text]);
    expect(response.headers.has('content-length')).toBe(![204, 205].includes(status));
  }
});

test('the stream of a status without a body is cancelled', async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    cancel() {
      cancelled = true;
    },
  });
  expect(contentResponse({ status: 205, headers: {}, body }, 'key').body).toBeNull();
  expect(cancelled).toBeTrue();
});

const relay = { forward: async () => answer } as unknown as Relay;
const api = { user: { id: 1 }, key: { id: 2 } } as ApiPrincipal;

test('an event stream of a vendor may be silent, so its connection closes with it', async () => {
  const events = { ...answer, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body: bytes };
  const streaming = { forward: async () => events } as unknown as Relay;
  const scope = { request: new Request('http://gateway.local/v1/responses/r'), api, keepOpen: () => () => {} };
  const call = { kind: 'response', id: 'r', operation: 'retrieve' } as const;
  const { headers } = await forwardObjectCall(streaming, scope, call);
  expect([headers.get('connection'), headers.get('x-accel-buffering')]).toEqual(['close', 'no']);
});

test('a stream that has ended leaves its connection to the next request, with its idle timeout', async () => {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('data: 1\n\n'));
      controller.close();
    },
  });
  const events = { ...answer, headers: { 'content-type': 'text/event-stream' }, body };
  const streaming = { forward: async () => events } as unknown as Relay;
  let restored = 0;
  const watchAccess = () => ({ signal: new AbortController().signal, hasEnded: () => false, stop: () => {} });
  const request = new Request('http://gateway.local/v1/responses/r?stream=true');
  const scope = { request, api, watchAccess, keepOpen: () => () => void restored++ };
  const response = await forwardObjectCall(streaming, scope, { kind: 'response', id: 'r', operation: 'retrieve' });
  expect([response.headers.get('connection'), restored]).toEqual([null, 0]);
  expect(await response.text()).toBe('data: 1\n\n');
  expect(restored).toBe(1);
});

test('a flag in the address that says false asks for no stream, and each vendor reads it alike', async () => {
  const asked: unknown[] = [];
  const listening = {
    async forward(_: unknown, call: RelayCall) {
      asked.push(call.query);
      return answer;
    },
  } as unknown as Relay;
  const watchAccess = () => ({ signal: new AbortController().signal, hasEnded: () => false, stop: () => {} });
  const call = { kind: 'response', id: 'r', operation: 'retrieve' } as const;
  const request = new Request('http://gateway.local/v1/responses/r?stream=false&stream=true&include=a');
  await forwardObjectCall(listening, { request, api, keepOpen: () => () => {} }, call);
  await forwardObjectCall(listening, { request, api, watchAccess, keepOpen: () => () => {} }, call);
  expect(asked).toEqual([{ include: ['a'] }, { include: ['a'], stream: ['true'] }]);
});

test('slow reading: a download keeps its idle timeout, calls that wait for the vendor do not', async () => {
  const kept: string[] = [];
  for (const operation of ['content', 'retrieve', 'cancel', 'delete'] as const) {
    const request = new Request('http://gateway.local/v1/videos/v');
    const keepOpen = () => {
      kept.push(operation);
      return () => {};
    };
    const scope = { request, api, keepOpen };
    await forwardObjectCall(relay, scope, { kind: 'video', id: 'v', operation });
  }
  expect(kept).toEqual(['retrieve', 'cancel', 'delete']);
});
