import type { Dicer } from '@fastify/busboy';
import { httpErrors } from '../errors.ts';
import { collectForm, type Form, type FormConfig, type PartWriter } from './collect-form.ts';
import { MAX_PART_HEADER_BYTES, readPartHeader } from './read-part-header.ts';

/** Bytes that the parser gets at a time: after a fault it reads at most one slice more. */
const SLICE_BYTES = 64 * 1024;
/** RFC 2046 5.1.1 allows 70 characters; some clients send more. */
const MAX_BOUNDARY = 200;

/**
 * Parses a multipart body while it arrives, no faster than its files can be stored. An error leaves
 * no file behind.
 * @throws http.bad_body, http.too_large, http.unsupported_media, http.upload_storage,
 * http.uploads_limited, and what reading `body` throws
 */
export async function readMultipart(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
  config: FormConfig,
): Promise<Form> {
  const form = collectForm(config);
  const open: { stream: Dicer.PartStream; writer: PartWriter | undefined }[] = [];
  let fault: unknown;
  // Parts are drained after each slice, so the parser needs no back-pressure of its own.
  const options = {
    boundary: boundaryOf(contentType),
    maxHeaderSize: MAX_PART_HEADER_BYTES,
    partHwm: Number.MAX_SAFE_INTEGER,
  };
  const busboy = await import('@fastify/busboy');
  const parser = new busboy.Dicer(options);
  const finished = Promise.withResolvers<void>();
  finished.promise.catch(() => undefined);
  parser.on('finish', () => finished.resolve());
  parser.on('error', (cause) => finished.reject(brokenForm(cause)));
  parser.on('part', (stream) => {
    const part: (typeof open)[number] = { stream, writer: undefined };
    open.push(part);
    // The parser reports a truncated part as well.
    stream.on('error', () => undefined);
    stream.on('header', (lines) => {
      try {
        part.writer = form.begin(readPartHeader(lines as Record<string, string[]>));
      } catch (error) {
        fault ??= error;
      }
    });
  });

  /**
   * Writes everything found so far, in order. A part is complete when another one follows it; the
   * last one may continue.
   */
  async function drain(isEnd: boolean): Promise<void> {
    if (fault !== undefined) throw fault;
    for (let part = open[0]; part; part = open[0]) {
      for (let bytes = readFrom(part.stream); bytes !== null; bytes = readFrom(part.stream)) {
        await part.writer?.write(bytes);
      }
      if (open.length === 1 && !isEnd) return;
      if (!part.writer) throw brokenForm();
      await part.writer.end();
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
 * Accepts exactly one boundary: with two, this parser and a proxy in front could each use a
 * different one.
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
