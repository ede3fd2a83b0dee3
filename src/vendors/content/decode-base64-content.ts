import { createBase64Splitter, createByteBuffer } from '../../kernel/index.ts';
import { BASE64_FROM } from '../answer/cut-base64.ts';
import { vendorErrors } from '../errors.ts';
import type { VendorContent } from '../types.ts';

/** Where a file is in a JSON answer: the `index`-th text of long Base64, counted from 0. */
export type Base64Place = { index: number; mimeType: string };

/**
 * Turns a vendor's JSON into the file that it contains, while it arrives.
 * @throws tasks.artifact_gone when the answer does not contain it
 */
export async function decodeBase64Content(
  content: VendorContent,
  { index, mimeType }: Base64Place,
): Promise<VendorContent> {
  const headers = { 'content-type': mimeType };
  const { status, body } = content;
  if (body === null) return { status, headers, body };
  const chunks: Uint8Array[] = [];
  if (body instanceof Uint8Array) {
    const reader = createBase64Reader(index, (bytes) => chunks.push(bytes));
    reader.take(body);
    reader.end();
    if (chunks.length === 0) throw vendorErrors.artifact_gone();
    return { status, headers, body: Buffer.concat(chunks) };
  }
  return { status, headers, body: await startsWithBytes(body.pipeThrough(decoder(index))) };
}

/**
 * Finds the `index`-th run of Base64 that is long enough to be media, and hands on its bytes.
 * Shorter runs are words and ids.
 */
function createBase64Reader(index: number, emit: (bytes: Uint8Array) => void) {
  /**
   * The rest of the current run: what may not be media yet, then what is not a group of four yet.
   */
  const held = createByteBuffer();
  let run = 0;
  let mediaBefore = 0;

  function decodeHeld(isEnd: boolean): void {
    const text = Buffer.from(held.take());
    const whole = isEnd ? text.length : text.length - (text.length % 4);
    const bytes = Buffer.from(text.toString('latin1', 0, whole), 'base64');
    held.append(text, whole, text.length);
    if (bytes.length > 0) emit(bytes);
  }

  function endRun(): void {
    if (run >= BASE64_FROM) {
      if (mediaBefore === index) decodeHeld(true);
      mediaBefore += 1;
    }
    held.clear();
    run = 0;
  }

  const splitter = createBase64Splitter({
    addToRun(bytes, from, to) {
      run += to - from;
      if (mediaBefore !== index) return;
      held.append(bytes, from, to);
      if (run >= BASE64_FROM) decodeHeld(false);
    },
    addLineEnd() {},
    addOther: endRun,
  });
  return {
    take: (bytes: Uint8Array) => splitter.split(bytes),
    end(): void {
      splitter.end();
      endRun();
    },
  };
}

function decoder(index: number): TransformStream<Uint8Array, Uint8Array> {
  let reader: ReturnType<typeof createBase64Reader>;
  return new TransformStream({
    start(controller) {
      reader = createBase64Reader(index, (bytes) => controller.enqueue(bytes));
    },
    transform: (chunk) => reader.take(chunk),
    flush: () => reader.end(),
  });
}

/** Returns the stream once its first bytes are there: until then the answer can be an error. */
async function startsWithBytes(stream: ReadableStream<Uint8Array>): Promise<ReadableStream<Uint8Array>> {
  const reader = stream.getReader();
  const first = await reader.read().catch((cause: unknown) => {
    throw vendorErrors.artifact_upstream_error({ cause });
  });
  if (first.done) throw vendorErrors.artifact_gone();
  return new ReadableStream({
    start: (controller) => controller.enqueue(first.value),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
