/**
 * Filters a vendor's answer for the client of a relayed request: which headers and refusals pass,
 * and no secrets.
 */
import { type AppError, type Clock, deadlineSignal, listKeySecrets, redactSecrets } from '../../kernel/index.ts';
import { taskErrors } from '../../tasks/index.ts';
import type { UpstreamFailure, UpstreamResponse } from '../../upstream/index.ts';
import { relayErrors } from '../errors.ts';
import type { RelayAnswer } from '../types.ts';

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
    throw taskErrors.vendor_failed({ message: "The vendor rejected the channel's key." });
  }
  const encoded = response.headers['content-encoding'] !== undefined;
  if (status < 400 || status > 599 || encoded) {
    throw taskErrors.vendor_failed({ message: `The vendor responded with HTTP ${status}.` });
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
