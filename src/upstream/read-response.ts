import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { err, ok, type Result } from '../kernel/index.ts';
import { abortedFailure, brokenFailure, failure } from './failures.ts';
import type { Answer } from './send-once.ts';
import type { UpstreamFailure, UpstreamResponse } from './types.ts';
import type { Deadlines } from './watch-deadlines.ts';

export type ReadLimits = { idleTimeoutMs: number; maxResponseBytes: number; signal?: AbortSignal };

// A body that is read as a whole is small. In total it may take this many times the idle timeout,
// so that single bytes cannot hold the reader for ever.
const WHOLE_IDLE_TIMES = 4;
// Up to this size, an unwanted answer is read to its end, which keeps the connection usable; a
// larger one is cut off.
const DRAIN_BYTES = 64 * 1024;

const utf8 = new TextDecoder();

/** The vendor's answer with its body still unread. The caller must read, stream or discard it. */
export function readResponse(
  deadlines: Deadlines,
  { incoming, request }: Answer,
  { url, ...limits }: ReadLimits & { url: URL },
): UpstreamResponse {
  const headers = groupHeaders(incoming.rawHeaders);
  let taken = false;

  /**
   * Passes the body to a consumer until its end or one failure. The consumer is never called after
   * `onEnd` or `onFailure`.
   */
  function consume(onChunk: (chunk: Buffer) => void, onEnd: () => void, onFailure: (reason: UpstreamFailure) => void) {
    let total = 0;
    let over = false;
    const finish = (then: () => void) => {
      if (over) return;
      over = true;
      deadline.stop();
      limits.signal?.removeEventListener('abort', onAbort);
      then();
    };
    const fail = (reason: UpstreamFailure) =>
      finish(() => {
        request.destroy();
        onFailure(reason);
      });
    const onAbort = () => fail(abortedFailure(false));
    const deadline = deadlines.watch(limits.idleTimeoutMs, () =>
      fail(failure('timeout', false, `The vendor's answer stalled for ${limits.idleTimeoutMs} ms.`)),
    );
    incoming.on('data', (chunk: Buffer) => {
      if (over) return;
      deadline.extend();
      total += chunk.length;
      if (total > limits.maxResponseBytes) fail(tooLarge(limits.maxResponseBytes));
      else onChunk(chunk);
    });
    incoming.on('end', () => (incoming.complete ? finish(onEnd) : fail(brokenFailure())));
    incoming.on('error', (error) => fail(brokenFailure(error)));
    incoming.on('close', () => fail(brokenFailure()));
    if (limits.signal?.aborted) onAbort();
    else limits.signal?.addEventListener('abort', onAbort, { once: true });
    if (incoming.destroyed && !incoming.readableEnded) fail(brokenFailure());
    return { deadline, fail, cancel: () => finish(() => request.destroy()) };
  }

  // A body that is not requested in time is dropped, so that a forgotten answer cannot hold its
  // connection.
  const unread = deadlines.watch(limits.idleTimeoutMs, () => request.destroy());
  const take = () => {
    if (taken) throw new Error('the body of an answer can be taken once');
    taken = true;
    unread.stop();
  };

  function bytes(): Promise<Result<Uint8Array, UpstreamFailure>> {
    take();
    const { promise, resolve } = Promise.withResolvers<Result<Uint8Array, UpstreamFailure>>();
    const chunks: Buffer[] = [];
    const whole = deadlines.watch(WHOLE_IDLE_TIMES * limits.idleTimeoutMs, () => body.fail(tooSlow()));
    const body = consume(
      (chunk) => chunks.push(chunk),
      () => {
        whole.stop();
        resolve(decode(chunks, headers['content-encoding'] ?? [], limits.maxResponseBytes));
      },
      (reason) => {
        whole.stop();
        resolve(err(reason));
      },
    );
    return promise;
  }

  return {
    status: incoming.statusCode ?? 0,
    headers,
    url: url.href,
    bytes,
    async text() {
      const read = await bytes();
      return read.ok ? ok(utf8.decode(read.value)) : read;
    },
    stream(onEnd = () => {}) {
      take();
      let body: ReturnType<typeof consume> | undefined;
      return new ReadableStream<Uint8Array>(
        {
          start(controller) {
            body = consume(
              (chunk) => {
                controller.enqueue(chunk);
                incoming.pause();
                body?.deadline.suspend();
              },
              () => {
                controller.close();
                onEnd();
              },
              (reason) => {
                controller.error(new Error(reason.message));
                onEnd();
              },
            );
            incoming.pause();
            body.deadline.suspend();
          },
          pull() {
            body?.deadline.extend();
            incoming.resume();
          },
          cancel() {
            body?.cancel();
            onEnd();
          },
        },
        { highWaterMark: 0 },
      );
    },
    discard() {
      if (taken) return;
      take();
      let left = DRAIN_BYTES;
      const ignore = () => {};
      const body = consume(
        (chunk) => {
          left -= chunk.length;
          if (left < 0) body.cancel();
        },
        ignore,
        ignore,
      );
      if (Number(headers['content-length']?.[0] ?? 0) > DRAIN_BYTES) body.cancel();
    },
  };
}

/**
 * Lower-case names, values in order of arrival. Without prototype: a header may be named
 * `__proto__`.
 */
function groupHeaders(raw: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = Object.create(null);
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    const value = raw[i + 1] ?? '';
    const known = headers[name];
    if (known) known.push(value);
    else headers[name] = [value];
  }
  return headers;
}

const tooSlow = () => failure('timeout', false, "The vendor's answer took too long.");
const tooLarge = (max: number) => failure('too_large', false, `The vendor's answer is larger than ${max} bytes.`);

const DECODERS: Record<string, (data: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/**
 * We request no encoding, but decode the answers of vendors that encode anyway. The cap applies to
 * the decoded size, against zip bombs.
 */
async function decode(
  chunks: Buffer[],
  contentEncoding: readonly string[],
  max: number,
): Promise<Result<Uint8Array, UpstreamFailure>> {
  const encodings = contentEncoding
    .flatMap((value) => value.toLowerCase().split(','))
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'identity');
  let data = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  if (data.length === 0) return ok(data);
  if (encodings.length > 1) return err(failure('broken', false, 'The vendor encoded its answer more than once.'));
  for (const encoding of encodings) {
    const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined;
    if (!decoder) return err(failure('broken', false, 'The vendor encoded its answer in an unknown way.'));
    try {
      data = await decoder(data, { maxOutputLength: Math.min(max, MAX_DECODED_BYTES) });
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === 'ERR_BUFFER_TOO_LARGE') return err(tooLarge(Math.min(max, MAX_DECODED_BYTES)));
      return err(failure('broken', false, 'The vendor encoded its answer wrongly.'));
    }
  }
  return ok(data);
}

// The largest decoded body in memory, for callers without a cap of their own.
const MAX_DECODED_BYTES = 256 * 1024 * 1024;
