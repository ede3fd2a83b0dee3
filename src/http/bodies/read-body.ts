import { httpErrors } from '../errors.ts';
import { tooLarge } from './body-limits.ts';

/**
 * How slowly a body may come: at least so many bytes in each window, and all of it within
 * `totalMs`.
 */
type BodyPace = { windowMs: number; leastBytes: number; totalMs: number };

/**
 * 35 kbit/s, and no more than an hour: who drips on purpose, so that a place stays taken, is told
 * from a slow line.
 */
const BODY_PACE: BodyPace = { windowMs: 60_000, leastBytes: 256 * 1024, totalMs: 3_600_000 };

/** The media type without parameters, in lower case; empty when there is none. */
export const mediaType = (headers: Headers): string =>
  (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Whether a media type stands for JSON. */
export const isJsonType = (type: string): boolean => type === 'application/json' || type.endsWith('+json');

/** Refuses by `Content-Length` before a byte is read. @throws http.too_large */
function assertDeclaredLength(request: Request, cap: number): void {
  const declared = Number(request.headers.get('content-length') ?? '0');
  if (declared > cap) throw tooLarge(cap);
}

/**
 * The whole body, at most `cap` bytes: the declared length is checked first and the bytes are
 * counted while they arrive, so that a chunked body is held to the cap too.
 * @throws what `streamBody` throws
 */
export async function readBody(request: Request, cap: number, pace?: BodyPace): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of streamBody(request, cap, pace)) {
    chunks.push(chunk);
    size += chunk.byteLength;
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/**
 * The body's chunks as they arrive and are asked for, at most `cap` bytes. Whoever stops early lets
 * go of the rest.
 * @throws http.too_large, http.unsupported_media (a compressed body), http.bad_body (the connection
 * broke), http.body_too_slow
 */
export async function* streamBody(
  request: Request,
  cap: number,
  pace = BODY_PACE,
): AsyncGenerator<Uint8Array, void, undefined> {
  assertDeclaredLength(request, cap);
  assertPlain(request);
  if (!request.body) return;
  const reader = request.body.getReader();
  let size = 0;
  let waits = false;
  let isLate = false;
  const watch = watchPace(
    pace,
    // What we ourselves have no time to take is not the client's fault.
    () => (waits ? size : Number.POSITIVE_INFINITY),
    () => {
      isLate = true;
      void reader.cancel().catch(() => undefined);
    },
  );
  try {
    for (;;) {
      waits = true;
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw httpErrors.bad_body({ cause });
      });
      waits = false;
      if (isLate) throw httpErrors.body_too_slow();
      if (done) return;
      size += value.byteLength;
      if (size > cap) throw tooLarge(cap);
      yield value;
    }
  } finally {
    clearInterval(watch);
    await reader.cancel().catch(() => undefined);
  }
}

/** Calls `cut` once `size()` has grown too little within a window, or when the time is up. */
function watchPace({ windowMs, leastBytes, totalMs }: BodyPace, size: () => number, cut: () => void) {
  let windows = 0;
  let seen = 0;
  return setInterval(() => {
    windows += 1;
    const now = size();
    if (now - seen < leastBytes || windows * windowMs >= totalMs) cut();
    seen = Number.isFinite(now) ? now : seen;
  }, windowMs);
}

/** A few compressed bytes can stand for any number of them: compressed bodies are not taken. */
function assertPlain(request: Request): void {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return;
  throw httpErrors.unsupported_media({ message: 'Compressed bodies are not taken: send it without Content-Encoding.' });
}

/** @throws http.unsupported_media */
export function assertJsonType({ headers }: Request): void {
  const type = mediaType(headers);
  if (type === 'application/json') return;
  throw httpErrors.unsupported_media({
    message: `The body's content type is ${type === '' ? 'missing' : 'not taken here'}: send application/json.`,
  });
}
