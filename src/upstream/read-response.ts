import { detachBuffer, err, ok, type Result, sentence } from '../kernel/index.ts';
import { findDecoder, readEncodings } from './content-encodings.ts';
import { abortedFailure, brokenFailure, failure } from './failures.ts';
import type { Answer } from './send-once.ts';
import type { UpstreamFailure, UpstreamResponse } from './types.ts';
import type { Deadlines } from './watch-deadlines.ts';

export type ReadLimits = { idleTimeoutMs: number; maxResponseBytes: number; signal?: AbortSignal };

// A body that is read into memory is small. In total it may take this many times the idle timeout,
// so that single bytes cannot hold the reader without end.
const WHOLE_IDLE_TIMES = 4;
// Up to this size, an unwanted answer is read to its end, which keeps the connection usable; a
// larger one is cut off.
const DRAIN_BYTES = 64 * 1024;

// The beginning of the body tells its kind.
const PEEK_BYTES = 4096;

const utf8 = new TextDecoder();

/** The vendor's answer with its body still unread. The caller must read, stream or discard it. */
export function readResponse(
  deadlines: Deadlines,
  { head, body: arriving }: Answer,
  { url, limits }: { url: URL; limits: ReadLimits },
): UpstreamResponse {
  const { status, headers } = head;
  let taken = false;

  /**
   * Passes the body to a consumer until its end or one failure. The consumer is never called after
   * `onEnd` or `onFailure`.
   */
  function consume(
    onChunk: (chunk: Uint8Array) => void,
    onEnd: () => void,
    onFailure: (reason: UpstreamFailure) => void,
  ) {
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
        arriving.destroy();
        onFailure(reason);
      });
    const onAbort = () => fail(abortedFailure(false));
    const deadline = deadlines.watch(limits.idleTimeoutMs, () =>
      fail(failure('timeout', false, sentence('upstream.stalled', { ms: limits.idleTimeoutMs }))),
    );
    arriving.read({
      onPiece(chunk) {
        if (over) return;
        deadline.extend();
        total += chunk.length;
        if (total > limits.maxResponseBytes) fail(tooLarge(limits.maxResponseBytes));
        else onChunk(chunk);
      },
      onEnd: () => finish(onEnd),
      onFailure: (error) => fail(brokenFailure(error)),
    });
    if (limits.signal?.aborted) onAbort();
    else if (!over) limits.signal?.addEventListener('abort', onAbort, { once: true });
    return { deadline, fail, cancel: () => finish(() => arriving.destroy()) };
  }

  // A body that is not requested in time is dropped, so that a forgotten answer cannot hold its
  // connection.
  const unread = arriving.hasArrived() ? undefined : deadlines.watch(limits.idleTimeoutMs, () => arriving.destroy());
  const take = () => {
    if (taken) throw new Error('the body of an answer can be read only once');
    taken = true;
    unread?.stop();
  };

  function bytes(maxBytes = Number.POSITIVE_INFINITY): Promise<Result<Uint8Array, UpstreamFailure>> {
    take();
    const max = Math.min(maxBytes, limits.maxResponseBytes);
    const contentEncoding = headers['content-encoding'] ?? [];
    const arrived = limits.signal?.aborted ? undefined : arriving.takeWhole();
    if (arrived) return decode(arrived, contentEncoding, max);
    const { promise, resolve } = Promise.withResolvers<Result<Uint8Array, UpstreamFailure>>();
    const chunks: Uint8Array[] = [];
    const whole = deadlines.watch(WHOLE_IDLE_TIMES * limits.idleTimeoutMs, () => body.fail(tooSlow()));
    let total = 0;
    const body = consume(
      (chunk) => {
        total += chunk.length;
        chunks.push(chunk);
        // Later: the first bytes may come before `body` is there to be ended.
        if (total > max) queueMicrotask(() => body.fail(tooLarge(max)));
      },
      () => {
        whole.stop();
        resolve(decode(chunks, contentEncoding, max));
      },
      (reason) => {
        whole.stop();
        resolve(err(reason));
      },
    );
    return promise;
  }

  return {
    status,
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
            // Before there is a reader, only a failure gets through.
            arriving.pause();
            body = consume(
              (chunk) => {
                // First: a reader that waits for another piece resumes in `enqueue`.
                arriving.pause();
                body?.deadline.suspend();
                controller.enqueue(chunk);
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
            body.deadline.suspend();
          },
          pull() {
            body?.deadline.extend();
            arriving.resume();
          },
          cancel() {
            body?.cancel();
            onEnd();
          },
        },
        { highWaterMark: 0 },
      );
    },
    peek(isEnough) {
      const encodings = readEncodings(headers['content-encoding']);
      if (encodings.length === 0) return arriving.peek(isEnough, PEEK_BYTES);
      const decoder = findDecoder(encodings);
      if (!decoder) return Promise.resolve(new Uint8Array(0));
      // The first bytes of an encoded body decode to enough of it, if to anything.
      let decoded: Uint8Array = new Uint8Array(0);
      const decodes = (bytes: Uint8Array) => {
        decoded = decoder.beginning(bytes).subarray(0, PEEK_BYTES);
        return decoded.length > 0 && isEnough(decoded);
      };
      return arriving.peek(decodes, PEEK_BYTES).then((bytes) => {
        decodes(bytes);
        return decoded;
      });
    },
    discard() {
      if (taken) return;
      take();
      if (arriving.hasArrived()) return;
      if (Number(headers['content-length']?.[0] ?? 0) > DRAIN_BYTES) {
        arriving.destroy();
        return;
      }
      let left = DRAIN_BYTES;
      const ignore = () => {};
      consume(
        (chunk) => {
          left -= chunk.length;
          detachBuffer(chunk);
          if (left < 0) arriving.destroy();
        },
        ignore,
        ignore,
      );
    },
  };
}

const tooSlow = () => failure('timeout', false, sentence('upstream.slow'));
const tooLarge = (max: number) => failure('too_large', false, sentence('upstream.size', { max }));

/** The cap applies to the decoded size, against zip bombs. */
async function decode(
  chunks: readonly Uint8Array[],
  contentEncoding: readonly string[],
  max: number,
): Promise<Result<Uint8Array, UpstreamFailure>> {
  const data = joinChunks(chunks);
  if (data.length > max) return err(tooLarge(max));
  if (data.length === 0 || contentEncoding.length === 0) return ok(data);
  const encodings = readEncodings(contentEncoding);
  if (encodings.length === 0) return ok(data);
  if (encodings.length > 1) return err(failure('broken', false, sentence('upstream.encoded_twice')));
  const decoder = findDecoder(encodings);
  if (!decoder) return err(failure('broken', false, sentence('upstream.encoding')));
  try {
    return ok(await decoder.whole(data, { maxOutputLength: Math.min(max, MAX_DECODED_BYTES) }));
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ERR_BUFFER_TOO_LARGE') return err(tooLarge(Math.min(max, MAX_DECODED_BYTES)));
    return err(failure('broken', false, sentence('upstream.encoded_wrongly')));
  }
}

/** Joins the chunks and frees their memory: nothing may use them afterwards. */
function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first && chunks.length === 1) return first;
  const joined = Buffer.concat(chunks);
  for (const chunk of chunks) detachBuffer(chunk);
  return joined;
}

// The largest decoded body in memory, for callers without a cap of their own.
const MAX_DECODED_BYTES = 256 * 1024 * 1024;
