import { type AccessWatch, authErrors } from '../../auth/index.ts';

/** `id`: a client that reconnects sends the last one it received. */
export type ServerEvent = { id?: string; event: string; data: unknown };

/** Proxies must not buffer the events; nginx does by default. */
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
};

const HEARTBEAT = ': PING\n\n';
/**
 * Heartbeats in a row that found the client's buffer full before the client is disconnected: it
 * keeps its connection open but reads nothing.
 */
const MAX_MISSED_BEATS = 8;

type StreamOptions = {
  heartbeatMs: number;
  /** The event to send when the client's access ends before the events do. */
  lastEvent: () => ServerEvent;
  onFailure: (error: unknown) => void;
  onEnd: () => void;
};

/** The error `access_ended` in OpenAI's format. */
export function accessEnded() {
  const { message } = authErrors.access_ended();
  return { error: { message, type: 'authentication_error', code: 'access_ended', param: null } };
}

/** Opens a stream; if that fails, stops the access watch. */
export async function openStream<T>(access: AccessWatch, open: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await open(access.signal);
  } catch (error) {
    access.stop();
    throw error;
  }
}

/**
 * Sends events as server-sent events, with `data` as JSON on one line. The next event is requested
 * when the client's buffer has space. In between, a comment every `heartbeatMs` keeps the
 * connection alive.
 *
 * - The client leaves: `events` is ended by its `return`. Whatever `events` waits for must also end
 * by the signal of `access`.
 * - The client's access ends: `lastEvent` is sent, then the stream closes.
 * - `events` ends or throws: the stream closes. A failure that the client should know about must be
 * an event.
 */
export function sendEvents(
  access: AccessWatch,
  events: AsyncIterable<ServerEvent>,
  { heartbeatMs, lastEvent, onFailure, onEnd }: StreamOptions,
): Response {
  const { signal } = access;
  const iterator = events[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let output: ReadableStreamDefaultController<Uint8Array> | undefined;
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  let hasEnded = false;
  let missedBeats = 0;

  /** Returns false if the stream had ended before. */
  function end(): boolean {
    if (hasEnded) return false;
    hasEnded = true;
    clearInterval(heartbeat);
    signal.removeEventListener('abort', leave);
    access.stop();
    onEnd();
    return true;
  }
  function leave(): void {
    if (!end()) return;
    void iterator.return?.().catch(onFailure);
    if (!access.hasEnded() || !output) return;
    output.enqueue(encoder.encode(frame(lastEvent())));
    output.close();
  }

  function beat(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if ((controller.desiredSize ?? 0) > 0) {
      missedBeats = 0;
      controller.enqueue(encoder.encode(HEARTBEAT));
      return;
    }
    missedBeats += 1;
    if (missedBeats < MAX_MISSED_BEATS) return;
    leave();
    controller.error();
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller;
        if (signal.aborted) leave();
        if (hasEnded) return access.hasEnded() ? undefined : controller.close();
        signal.addEventListener('abort', leave, { once: true });
        heartbeat = setInterval(() => beat(controller), heartbeatMs);
      },
      async pull(controller) {
        try {
          const next = await iterator.next();
          if (hasEnded) return;
          if (!next.done) return controller.enqueue(encoder.encode(frame(next.value)));
        } catch (error) {
          onFailure(error);
        }
        if (end()) controller.close();
      },
      cancel: leave,
    },
    // At most one event ahead of the client, so that a slow client cannot fill the memory.
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: STREAM_HEADERS });
}

const frame = ({ id, event, data }: ServerEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * The error event at the end. OpenAI's clients know `error` as an event of responses; in any other
 * stream they throw only what has a member `error`. The empty line first ends an event that was
 * sent only in part.
 */
function accessEndedEvent(isResponse: boolean): string {
  const data = isResponse ? { ...accessEnded().error, type: 'error' } : accessEnded();
  return `\n\n${frame({ event: 'error', data })}`;
}

type Watched = { access: AccessWatch; isResponse: boolean; onEnd?: (() => void) | undefined };

/**
 * Passes a vendor's stream of events on, and ends it with an error event when the client's access
 * ends, whether the client reads or not. `Promise.race` of each read against that end would keep
 * every chunk in memory: a promise that lives as long as the stream holds everything raced with it.
 */
export function endStreamWithAccess(
  body: ReadableStream<Uint8Array>,
  { access, isResponse, onEnd }: Watched,
): ReadableStream<Uint8Array> {
  const { signal } = access;
  const reader = body.getReader();
  let output: ReadableStreamDefaultController<Uint8Array> | undefined;
  let hasEnded = false;

  /** Returns false if the stream had ended before. */
  function end(): boolean {
    if (hasEnded) return false;
    hasEnded = true;
    signal.removeEventListener('abort', onAbort);
    access.stop();
    onEnd?.();
    void reader.cancel().catch(() => undefined);
    return true;
  }
  function onAbort(): void {
    // When the client leaves, it cancels the stream itself.
    if (!access.hasEnded() || !end() || !output) return;
    output.enqueue(new TextEncoder().encode(accessEndedEvent(isResponse)));
    output.close();
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller;
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      },
      async pull(controller) {
        try {
          const step = await reader.read();
          if (hasEnded) return;
          if (!step.done) return controller.enqueue(step.value);
          if (end()) controller.close();
        } catch (error) {
          // After the end, a failure of the vendor's stream is of no interest.
          if (end()) throw error;
        }
      },
      cancel: () => void end(),
    },
    { highWaterMark: 0 },
  );
}
