import { type AppError, type Clock, redactSecrets, secretsOfKey } from '../../kernel/index.ts';
import type { UpstreamFailure, UpstreamResponse } from '../../upstream/index.ts';
import type { Content } from '../artifacts/open-artifact.ts';
import { taskErrors } from '../errors.ts';
import { deadlineSignal } from '../observation/deadline-signal.ts';

/**
 * What a client is given of a vendor's answer. `replayed`: of an earlier request with the same
 * Idempotency-Key.
 */
export type RelayAnswer = Content & { replayed: boolean };

/**
 * The vendor's headers that reach the client; limits, organization and cookies of the channel's
 * account are its own affair.
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
/** Of headers that describe bytes on the wire nothing holds for a body that was read. */
const WIRE_HEADERS = new Set(['content-length', 'content-encoding']);
/** Of a refusal's body; more is no message for anybody. */
const MAX_REFUSAL_BYTES = 256 * 1024;
/** Shorter keys are words of good answers: `ollama`, `not-needed`. */
const SHORTEST_IN_ANSWER = 16;
const SHORTEST_IN_REFUSAL = 8;
/** A search through more would hold the event loop. */
const MAX_SEARCHED_BYTES = 1024 * 1024;
/** For all of it: a byte now and then must not keep a request open. */
const REFUSAL_MS = 10_000;

export function vendorHeaders(response: UpstreamResponse, { whole }: { whole: boolean }): Record<string, string> {
  const names = VENDOR_HEADERS.filter((name) => !whole || !WIRE_HEADERS.has(name));
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = response.headers[name] ?? [];
      // A type that is told twice is none, and must show as such.
      const value = name === 'content-type' && values.length > 1 ? values.join(', ') : values[0];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

export const mediaTypeOf = (response: UpstreamResponse): string =>
  (response.headers['content-type']?.[0] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** No answer came. */
export function sendFailure({ kind, notSent, message }: UpstreamFailure): AppError {
  if (kind === 'refused') return taskErrors.relay_request_invalid({ message });
  const make = kind === 'timeout' ? taskErrors.vendor_timeout : taskErrors.vendor_unreachable;
  return make({ message, doNotRetry: !notSent });
}

/**
 * A refusal in the vendor's own words, without the channel's credential.
 * @throws tasks.vendor_failed for what would mislead the client: a refused credential is not his,
 * and a redirect leads him elsewhere
 */
export async function refusalAnswer(clock: Clock, response: UpstreamResponse, key: string): Promise<RelayAnswer> {
  const { status } = response;
  const said = await readBeginning(clock, response);
  if (status === 401 || status === 403) {
    // OpenAI repeats the ends of a wrong key in what it says.
    throw taskErrors.vendor_failed({ message: 'The vendor refused the credential of the channel.' });
  }
  const encoded = response.headers['content-encoding'] !== undefined;
  if (status < 400 || status > 599 || encoded) {
    throw taskErrors.vendor_failed({ message: `The vendor answered ${status}.` });
  }
  const body = new TextEncoder().encode(redactSecrets(said, secretsFrom(key, SHORTEST_IN_REFUSAL)));
  return { status, headers: vendorHeaders(response, { whole: true }), body, replayed: false };
}

const secretsFrom = (key: string, shortest: number): string[] =>
  secretsOfKey(key).filter(({ length }) => length >= shortest);

/**
 * An answer that was read whole, without the channel's credential in it. Short keys stay, and large
 * answers are left alone.
 */
export function withoutKey(body: Uint8Array, key: string): Uint8Array {
  if (body.byteLength > MAX_SEARCHED_BYTES) return body;
  const secrets = secretsFrom(key, SHORTEST_IN_ANSWER);
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!secrets.some((secret) => bytes.includes(secret))) return body;
  return new TextEncoder().encode(redactSecrets(new TextDecoder().decode(body), secrets));
}

async function readBeginning(clock: Clock, response: UpstreamResponse): Promise<string> {
  const reader = response.stream().getReader();
  const chunks: Uint8Array[] = [];
  const patience = deadlineSignal(clock, REFUSAL_MS);
  const leave = () => void reader.cancel().catch(() => undefined);
  patience.signal.addEventListener('abort', leave, { once: true });
  try {
    for (let size = 0; size < MAX_REFUSAL_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      size += value.byteLength;
    }
  } catch {
    // What came of it says enough.
  } finally {
    patience.end();
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_REFUSAL_BYTES));
}

/**
 * The vendor's bytes as they come, none ahead of the client; when he leaves, the vendor's
 * connection is closed. `onChunk` is through with a chunk before the client gets it. `onEnd` hears
 * that it is over, however, and may hear it twice.
 */
export function passOn(
  source: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  onEnd: () => void,
  onChunk: (chunk: Uint8Array) => Promise<void> = async () => {},
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const end = () => {
    signal?.removeEventListener('abort', leave);
    onEnd();
  };
  const leave = () => {
    end();
    void reader.cancel().catch(() => undefined);
  };
  if (signal?.aborted) leave();
  else signal?.addEventListener('abort', leave, { once: true });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            await onChunk(value);
            return controller.enqueue(value);
          }
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}
