import { type AppError, type Clock, deadlineSignal, listKeySecrets, redactSecrets } from '../kernel/index.ts';
import { taskErrors } from '../tasks/index.ts';
import type { UpstreamFailure, UpstreamResponse } from '../upstream/index.ts';
import { relayErrors } from './errors.ts';
import type { AnswerEnd, RelayAnswer } from './types.ts';

/**
 * The vendor's headers that are sent to the client. Rate limits, organization and cookies belong to
 * the channel's account and are left out.
 */
const VENDOR_HEADERS = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'content-disposition',
  'retry-after',
] as const;
/** Headers about bytes on the wire, which are wrong for a body that was read and decoded. */
const WIRE_HEADERS = new Set(['content-length', 'content-encoding']);
/** Bytes of a refusal's body that are read; no error message is longer. */
const MAX_REFUSAL_BYTES = 256 * 1024;
/** Shorter keys are ordinary words, such as `ollama` or `not-needed`, and stay in answers. */
const SHORTEST_IN_ANSWER = 16;
const SHORTEST_IN_REFUSAL = 8;
/**
 * Largest answer that is read into memory. Streams that the client does not want have this limit
 * too.
 */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Searching more would block the event loop. */
const MAX_SEARCHED_BYTES = 1024 * 1024;
/** Deadline for the whole body, so that a slow drip of bytes cannot keep a request open. */
const REFUSAL_MS = 10_000;

/** The vendor's headers for the client. `whole`: the body was read into memory, not streamed. */
export function vendorHeaders(response: UpstreamResponse, { whole }: { whole: boolean }): Record<string, string> {
  const names = VENDOR_HEADERS.filter((name) => !whole || !WIRE_HEADERS.has(name));
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = response.headers[name] ?? [];
      // Two content types are invalid; both are shown, so that the client sees this.
      const value = name === 'content-type' && values.length > 1 ? values.join(', ') : values[0];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

export const readMediaEssence = (response: UpstreamResponse): string =>
  (response.headers['content-type']?.[0] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** The client's error when no answer came. */
export function sendFailure({ kind, message }: UpstreamFailure, shouldRetry?: boolean): AppError {
  if (kind === 'refused') return relayErrors.relay_request_invalid({ message, shouldRetry });
  const make = kind === 'timeout' ? taskErrors.vendor_timeout : taskErrors.vendor_unreachable;
  return make({ message, shouldRetry });
}

/**
 * Forwards a vendor's error as it is, without the channel's credential.
 * @throws tasks.vendor_failed for answers that would mislead the client: a refused credential,
 * which is not the client's, and redirects
 */
export async function refusalAnswer(
  clock: Clock,
  response: UpstreamResponse,
  secrets: readonly string[],
): Promise<RelayAnswer> {
  const { status } = response;
  const text = await readBeginning(clock, response);
  if (status === 401 || status === 403) {
    // OpenAI's message repeats parts of the wrong key.
    throw taskErrors.vendor_failed({ message: 'The vendor refused the credential of the channel.' });
  }
  const encoded = response.headers['content-encoding'] !== undefined;
  if (status < 400 || status > 599 || encoded) {
    throw taskErrors.vendor_failed({ message: `The vendor answered ${status}.` });
  }
  const body = new TextEncoder().encode(redactSecrets(text, secretsFrom(secrets, SHORTEST_IN_REFUSAL)));
  return { status, headers: vendorHeaders(response, { whole: true }), body, replayed: false };
}

/** The forms in which an account's secrets may appear, by the list of the secrets. */
const derived = new WeakMap<readonly string[], readonly string[]>();

function secretsFrom(secrets: readonly string[], shortest: number): string[] {
  const all = derived.get(secrets) ?? secrets.flatMap((secret) => listKeySecrets(secret));
  derived.set(secrets, all);
  return all.filter(({ length }) => length >= shortest);
}

/** Redacts the channel's secrets in a whole answer. Short keys and large answers are skipped. */
export function redactKey(body: Uint8Array, known: readonly string[]): Uint8Array {
  if (body.byteLength > MAX_SEARCHED_BYTES) return body;
  const secrets = secretsFrom(known, SHORTEST_IN_ANSWER);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!secrets.some((secret) => bytes.includes(secret))) return body;
  return new TextEncoder().encode(redactSecrets(new TextDecoder().decode(body), secrets));
}

async function readBeginning(clock: Clock, response: UpstreamResponse): Promise<string> {
  const reader = response.stream().getReader();
  const chunks: Uint8Array[] = [];
  const deadline = deadlineSignal(clock, REFUSAL_MS);
  const cancel = () => void reader.cancel().catch(() => undefined);
  deadline.signal.addEventListener('abort', cancel, { once: true });
  try {
    for (let size = 0; size < MAX_REFUSAL_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      size += value.byteLength;
    }
  } catch {
    // The part that came is enough.
  } finally {
    deadline.end();
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_REFUSAL_BYTES));
}

/** Sees the bytes that pass, and may change them. */
export type Transfer = {
  /** Returns what the client gets of the chunk. */
  push(chunk: Uint8Array): Promise<Uint8Array>;
  /** Called once, at the end of the stream. */
  end(): Promise<Uint8Array | undefined>;
};

/** How far a stream is read whose client has left. */
export type ReadOn = {
  until: AbortSignal;
  /** Called before each read, with the bytes of the one before. */
  wantsMore(bytes: number): boolean;
  end(): void;
};

type Streaming = {
  /** Aborted when the client leaves. */
  signal: AbortSignal | undefined;
  /** Called once, as soon as nothing more is read: frees the client's slot. */
  onStop: () => void;
  /** Called once after it, with all that was read. The client waits for it. */
  onEnd?: (how: AnswerEnd) => Promise<void>;
  transfer?: Transfer | undefined;
  /** Asked when the client leaves; undefined: the vendor's connection is closed then. */
  readOn?: (() => ReadOn | undefined) | undefined;
  /** Called with work that goes on without the client. */
  track?: (work: Promise<unknown>) => void;
};

/** Streams the vendor's bytes to the client as they come; nothing is read ahead of the client. */
export function streamThrough(
  source: ReadableStream<Uint8Array>,
  { signal, onStop, onEnd, transfer, readOn = () => undefined, track = () => {} }: Streaming,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let client: ReadableStreamDefaultController<Uint8Array> | undefined;
  let ending: Promise<Uint8Array | undefined> | undefined;
  let pulling = Promise.resolve();
  let hasLeft = false;
  let isCut = false;

  /** Reads the next chunk and returns its size and what the client gets of it. */
  async function read(): Promise<{ size: number; passed: Uint8Array } | undefined> {
    const { done, value } = await reader.read();
    if (done) return undefined;
    const size = value.byteLength;
    return { size, passed: transfer ? await transfer.push(value) : value };
  }
  function end(how: AnswerEnd): Promise<Uint8Array | undefined> {
    ending ??= (async () => {
      signal?.removeEventListener('abort', leave);
      onStop();
      const rest = await transfer?.end();
      await onEnd?.(isCut ? 'cut' : how);
      return rest;
    })();
    track(ending);
    return ending;
  }
  function cut(): void {
    isCut = true;
    void reader.cancel().catch(() => undefined);
  }

  async function readRest(limits: ReadOn): Promise<void> {
    if (limits.until.aborted) cut();
    else limits.until.addEventListener('abort', cut, { once: true });
    let how: AnswerEnd = 'cut';
    try {
      await pulling;
      for (let size = 0; !ending && !isCut && limits.wantsMore(size); ) {
        const chunk = await read();
        if (!chunk) {
          how = 'ended';
          break;
        }
        ({ size } = chunk);
      }
      limits.until.removeEventListener('abort', cut);
      if (how === 'cut') cut();
    } catch {
      how = 'broke';
    }
    limits.end();
    await end(how);
  }
  function leave(): void {
    if (hasLeft || ending) return;
    hasLeft = true;
    const limits = readOn();
    if (limits) track(readRest(limits));
    else {
      cut();
      // `track` is told of a failure.
      end('cut').catch(() => undefined);
    }
    try {
      client?.close();
    } catch {
      // A client that cancelled has closed it already.
    }
  }
  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const chunk = await read();
        if (hasLeft) return;
        if (!chunk) break;
        if (chunk.passed.length > 0) return controller.enqueue(chunk.passed);
      }
      const rest = await end('ended');
      if (hasLeft) return;
      if (rest && rest.length > 0) controller.enqueue(rest);
      controller.close();
    } catch (error) {
      await end('broke');
      if (!hasLeft) throw error;
    }
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        client = controller;
      },
      pull(controller) {
        const pulled = pull(controller);
        pulling = pulled.catch(() => undefined);
        return pulled;
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
  if (signal?.aborted) leave();
  else signal?.addEventListener('abort', leave, { once: true });
  return body;
}
