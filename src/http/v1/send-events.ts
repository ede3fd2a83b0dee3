import { type AccessWatch, authErrors } from '../../auth/index.ts';

/** `id`: what a client that comes back says that it has seen. */
export type ServerEvent = { id?: string; event: string; data: unknown };

/** Nothing in between may gather the events (nginx does unless told). */
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
};

const HEARTBEAT = ': PING\n\n';
/**
 * Heartbeats in a row for which there was no room until a client that keeps its connection but
 * reads nothing is cut off.
 */
const MAX_MISSED_BEATS = 8;

type StreamOptions = {
  heartbeatMs: number;
  /** What the client is told when its access ends before the events do. */
  lastEvent: () => ServerEvent;
  onFailure: (error: unknown) => void;
  onEnd: () => void;
};

/** How an error looks on the surfaces of OpenAI. */
export function accessEnded() {
  const { message } = authErrors.access_ended();
  return { error: { message, type: 'authentication_error', code: 'access_ended', param: null } };
}

/** Opens what is streamed; where that fails nothing is watched any more. */
export async function openStream<T>(access: AccessWatch, open: (left: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await open(access.signal);
  } catch (error) {
    access.stop();
    throw error;
  }
}

/**
 * Events as a stream of server-sent events, `data` as JSON on one line. An event is asked for when
 * the client has room for it, and in between a comment every `heartbeatMs` tells that the
 * connection lives. When the client leaves, `events` is ended by its `return`; what it waits for
 * must end by the signal of `access` as well. When the access ends, `lastEvent` says so. When
 * `events` throws, the stream ends where it is, as it does when `events` is through: what the
 * client should know of a failure is an event.
 */
export function sendEvents(
  access: AccessWatch,
  events: AsyncIterable<ServerEvent>,
  { heartbeatMs, lastEvent, onFailure, onEnd }: StreamOptions,
): Response {
  const { signal } = access;
  const iterator = events[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let open: ReadableStreamDefaultController<Uint8Array> | undefined;
  let heart: ReturnType<typeof setInterval> | undefined;
  let over = false;
  let missedBeats = 0;

  /** False: it was over already. */
  function end(): boolean {
    if (over) return false;
    over = true;
    clearInterval(heart);
    signal.removeEventListener('abort', leave);
    access.stop();
    onEnd();
    return true;
  }
  function leave(): void {
    if (!end()) return;
    void iterator.return?.().catch(onFailure);
    if (!access.hasEnded() || !open) return;
    open.enqueue(encoder.encode(frame(lastEvent())));
    open.close();
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
        open = controller;
        if (signal.aborted) leave();
        if (over) return access.hasEnded() ? undefined : controller.close();
        signal.addEventListener('abort', leave, { once: true });
        heart = setInterval(() => beat(controller), heartbeatMs);
      },
      async pull(controller) {
        try {
          const next = await iterator.next();
          if (over) return;
          if (!next.done) return controller.enqueue(encoder.encode(frame(next.value)));
        } catch (error) {
          onFailure(error);
        }
        if (end()) controller.close();
      },
      cancel: leave,
    },
    // One event ahead of the client at most: a slow one shall not fill the memory.
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: STREAM_HEADERS });
}

const frame = ({ id, event, data }: ServerEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
