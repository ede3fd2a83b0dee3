import { Dicer } from '@fastify/busboy';
import { httpErrors } from '../errors.ts';
import { collectForm, type Form, type FormLimits, type PartTaker } from './collect-form.ts';
import { MAX_PART_HEADER_BYTES, readPartHeader } from './read-part-header.ts';

/** So much of the body is taken apart in one go: a fault is found before many more parts are. */
const SLICE_BYTES = 64 * 1024;
/** RFC 2046 5.1.1 allows 70 characters; some clients write longer ones. */
const MAX_BOUNDARY = 200;

/**
 * Takes a multipart body apart while it arrives, at the pace at which its files can be stored. When
 * it throws, nothing is left behind.
 * @throws http.bad_body, http.too_large, http.unsupported_media, http.upload_storage,
 * http.uploads_limited, and what reading `body` throws
 */
export async function readMultipart(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
  limits: FormLimits,
): Promise<Form> {
  const form = collectForm(limits);
  const open: { stream: Dicer.PartStream; taker: PartTaker | undefined }[] = [];
  let fault: unknown;
  // Parts are emptied after each slice, so the parser has no need to hold the body back by itself.
  const options = {
    boundary: boundaryOf(contentType),
    maxHeaderSize: MAX_PART_HEADER_BYTES,
    partHwm: Number.MAX_SAFE_INTEGER,
  };
  const parser = new Dicer(options);
  const finished = Promise.withResolvers<void>();
  finished.promise.catch(() => undefined);
  parser.on('finish', () => finished.resolve());
  parser.on('error', (cause) => finished.reject(brokenForm(cause)));
  parser.on('part', (stream) => {
    const part: (typeof open)[number] = { stream, taker: undefined };
    open.push(part);
    // A part that is cut off is told by the parser as well.
    stream.on('error', () => undefined);
    stream.on('header', (lines) => {
      try {
        part.taker = form.begin(readPartHeader(lines as Record<string, string[]>));
      } catch (error) {
        fault ??= error;
      }
    });
  });

  /**
   * Hands on what was found so far, in its order. The last part may go on; one with another behind
   * it is complete.
   */
  async function drain(isEnd: boolean): Promise<void> {
    if (fault !== undefined) throw fault;
    for (let part = open[0]; part; part = open[0]) {
      for (let bytes = readFrom(part.stream); bytes !== null; bytes = readFrom(part.stream)) {
        await part.taker?.take(bytes);
      }
      if (open.length === 1 && !isEnd) return;
      if (!part.taker) throw brokenForm();
      await part.taker.end();
      open.shift();
    }
  }

  try {
    for await (const chunk of body) {
      for (let at = 0; at < chunk.byteLength; at += SLICE_BYTES) {
        parser.write(chunk.subarray(at, at + SLICE_BYTES));
        await drain(false);
      }
    }
    parser.end();
    await finished.promise;
    await drain(true);
    return form.end();
  } catch (error) {
    await form.release();
    throw error;
  }
}

const readFrom = (stream: Dicer.PartStream) => stream.read() as Uint8Array | null;

const brokenForm = (cause?: unknown) =>
  httpErrors.bad_body({ message: 'The form could not be read: its parts are broken.', cause });

/**
 * One boundary and no other: with two, this reader and one before it could each believe a different
 * one.
 */
function boundaryOf(contentType: string): string {
  const [, given, ...others] = contentType.split(/boundary=/i);
  const boundary = /^"?([^";]+)/.exec(given ?? '')?.[1]?.trim();
  if (!boundary || others.length > 0 || Buffer.byteLength(boundary) > MAX_BOUNDARY) {
    throw httpErrors.bad_body({
      message: `The content type of a multipart body needs one boundary of at most ${MAX_BOUNDARY} bytes.`,
    });
  }
  return boundary;
}
