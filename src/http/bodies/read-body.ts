import { sentence } from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';
import { tooLarge } from './body-limits.ts';

/** The slowest allowed body: `minBytes` in each window, and the whole body within `totalMs`. */
type MinimumRate = { windowMs: number; minBytes: number; totalMs: number };

/** 35 kbit/s and at most an hour: slow lines get through, clients that drip on purpose do not. */
const MINIMUM_RATE: MinimumRate = { windowMs: 60_000, minBytes: 256 * 1024, totalMs: 3_600_000 };

/** Read in one piece: a stream of its own costs more than all else that reads such a body. */
const SMALL_BYTES = 64 * 1024;

/** The media type without parameters, in lower case; empty if there is none. */
export const mediaType = (headers: Headers): string =>
  (headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** Checks `Content-Length` before a byte is read. @throws http.too_large */
function assertDeclaredLength(request: Request, cap: number): void {
  const declared = Number(request.headers.get('content-length') ?? '0');
  if (declared > cap) throw tooLarge(cap);
}

/**
 * Reads the whole body, at most `cap` bytes. The declared length is checked first, and bytes are
 * counted while they arrive, so that the cap holds for chunked bodies too.
 * @throws what `streamBody` throws
 */
export async function readBody(request: Request, cap: number, rate?: MinimumRate): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of streamBody(request, cap, rate)) {
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
 * Yields the body's chunks as they arrive, at most `cap` bytes. A caller that stops early cancels
 * the rest.
 * @throws http.too_large, http.unsupported_media (a compressed body), http.bad_body (the connection
 * broke), http.body_too_slow
 */
export async function* streamBody(
  request: Request,
  cap: number,
  rate = MINIMUM_RATE,
): AsyncGenerator<Uint8Array, void, undefined> {
  assertDeclaredLength(request, cap);
  assertPlain(request);
  if (isSmall(request)) {
    const whole = await readSmallBody(request, rate);
    if (whole.byteLength > 0) yield whole;
    return;
  }
  if (!request.body) return;
  const reader = request.body.getReader();
  let size = 0;
  let waits = false;
  let isLate = false;
  const watch = watchRate(
    rate,
    // Time that the gateway itself needs is not counted against the client.
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

/** The server reads no more of a body than it declares, unless it comes in chunks. */
const isSmall = ({ headers }: Request): boolean =>
  Number(headers.get('content-length') ?? SMALL_BYTES) < SMALL_BYTES && !headers.has('transfer-encoding');

/** A small body has less than a window's bytes, so it must be complete within the first window. */
async function readSmallBody(request: Request, { windowMs, totalMs }: MinimumRate): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const late = setTimeout(() => reject(httpErrors.body_too_slow()), Math.min(windowMs, totalMs));
  request.bytes().then(resolve, (cause: unknown) => reject(httpErrors.bad_body({ cause })));
  try {
    return await promise;
  } finally {
    clearTimeout(late);
  }
}

/** Calls `cut` when `size()` grew too little within a window, or when the total time is over. */
function watchRate({ windowMs, minBytes, totalMs }: MinimumRate, size: () => number, cut: () => void) {
  let windows = 0;
  let previous = 0;
  return setInterval(() => {
    windows += 1;
    const now = size();
    if (now - previous < minBytes || windows * windowMs >= totalMs) cut();
    previous = Number.isFinite(now) ? now : previous;
  }, windowMs);
}

/** Refuses compressed bodies: a few compressed bytes can expand to any number. */
function assertPlain(request: Request): void {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return;
  throw httpErrors.unsupported_media({
    message: sentence('http.compressed'),
  });
}

/** @throws http.unsupported_media */
export function assertJsonType({ headers }: Request): void {
  const type = mediaType(headers);
  if (type === 'application/json') return;
  throw httpErrors.unsupported_media({
    message: sentence(type === '' ? 'http.type_missing' : 'http.type_refused'),
  });
}
