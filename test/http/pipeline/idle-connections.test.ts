/** Connections that clients keep after an answer during which the idle timeout was removed. */
import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { type Listening, listen } from '../../../src/http/pipeline/listen.ts';
import { type ServerEvent, sendEvents } from '../../../src/http/responses/send-events.ts';
import { until } from '../../support/until.ts';

/** The shortest useful timeout: the listener checks every four seconds. */
const IDLE_SECONDS = 4;
const quiet = Promise.withResolvers<void>();

const events: Record<string, () => AsyncGenerator<ServerEvent>> = {
  async *'/events'() {
    yield { event: 'task.finished', data: {} };
  },
  async *'/silent'() {
    yield { event: 'task.updated', data: {} };
    await quiet.promise;
    yield { event: 'task.finished', data: {} };
  },
};

const server: Listening = listen(
  async ({ url, signal }, { keepOpen }) => {
    const onEnd = keepOpen();
    const source = events[new URL(url).pathname];
    if (!source) return Response.json('whole');
    return sendEvents({ signal, hasEnded: () => false, stop: () => {} }, source(), {
      lastEvent: () => ({ event: 'error', data: {} }),
      heartbeatMs: 3_600_000,
      onFailure: () => {},
      onEnd,
    });
  },
  { host: '127.0.0.1', port: 0, idleSeconds: IDLE_SECONDS },
);
afterAll(() => server.stop(0));

function ask(path: string) {
  const client = { text: '', closed: false };
  const socket = connect(server.port, '127.0.0.1');
  socket.on('data', (data) => {
    client.text += String(data);
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    client.closed = true;
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: gateway\r\n\r\n`);
  return client;
}

test('connection exhaustion: connections idle after an answer or a stream are closed; a silent stream is not', async () => {
  const [whole, ended, silent] = [ask('/whole'), ask('/events'), ask('/silent')];
  await until(() => whole.closed && ended.closed);
  expect([whole.text, ended.text]).toEqual([
    expect.stringContaining('"whole"'),
    expect.stringContaining('event: task.finished'),
  ]);
  // A second connection, whose timeout begins now: the silent stream must outlast all of it.
  const later = ask('/whole');
  await until(() => later.closed);
  expect(silent.closed).toBe(false);
  quiet.resolve();
  await until(() => silent.closed);
  expect(silent.text).toContain('event: task.finished');
});

test.each([
  ['close', true],
  ['Close', true],
  ['keep-alive, close', true],
  ['keep-alive', false],
  ['x-closed', false],
])('the answer to "Connection: %s" says that it closes: %s', async (option, closes) => {
  let text = '';
  const socket = connect(server.port, '127.0.0.1');
  socket.on('data', (data) => {
    text += String(data);
  });
  socket.write(`GET / HTTP/1.1\r\nHost: gateway\r\nConnection: ${option}\r\n\r\n`);
  await until(() => text.includes('whole'));
  socket.destroy();
  expect(/^connection: close\r$/im.test(text)).toBe(closes);
});
