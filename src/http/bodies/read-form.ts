import { createHash } from 'node:crypto';
import type { Dicer } from '@fastify/busboy';
import type { RequestFile } from '../../files/index.ts';
import { describeBytes, sentence, sha256Hex } from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';
import { BODY_LIMITS } from './body-limits.ts';
import {
  checkFieldName,
  decodeUtf8,
  MAX_PART_HEADER_BYTES,
  type PartHeader,
  readPartHeader,
} from './read-part-header.ts';
import type { FileStorage, UploadWriter } from './upload-folder.ts';

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
    boundary: readBoundary(contentType),
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

const brokenForm = (cause?: unknown) => httpErrors.bad_body({ message: sentence('http.form_broken'), cause });

/**
 * Accepts exactly one boundary: with two, this parser and a proxy in front could each use a
 * different one.
 */
function readBoundary(contentType: string): string {
  const [, given, ...others] = contentType.split(/boundary=/i);
  const boundary = /^"?([^";]+)/.exec(given ?? '')?.[1]?.trim();
  if (!boundary || others.length > 0 || Buffer.byteLength(boundary) > MAX_BOUNDARY) {
    throw httpErrors.bad_body({
      message: sentence('http.form_boundary', { max: MAX_BOUNDARY }),
    });
  }
  return boundary;
}

/** Limits of forms, the same as in new-api. */
const MAX_FIELDS = 256;
const MAX_FILES = 32;
/** The limit of one text, and of all texts together, as for JSON. */
const MAX_TEXT_BYTES = BODY_LIMITS.submission.maxBytes;

/** Receives one part's content piece by piece. A piece is valid until `write` settles. */
export type PartWriter = { write(bytes: Uint8Array): Promise<void>; end(): Promise<void> };

/** A part of a form as it counts for its digest; `fileName` is null for a text. */
type PartDigest = [name: string, fileName: string | null, contentType: string, sha256: string];

/** Where files go, and whether the digest of the form is wanted. */
export type FormConfig = FileStorage & { digest?: boolean };

export type Form = {
  fields: Record<string, string[]>;
  files: RequestFile[];
  /** SHA-256 in hex of the sequence of parts, if it was wanted. */
  digest: string | undefined;
  /** Removes the files. Never throws. */
  release(): Promise<void>;
};

/** Collects the parts of a multipart body: texts in memory, files in `uploads`. */
export type FormCollector = {
  /** Begins the next part. @throws http.bad_body when there are too many */
  begin(header: PartHeader): PartWriter;
  end(): Form;
  /** Removes the files. Never throws. */
  release(): Promise<void>;
};

function collectForm({ uploads, maxFileBytes, digest = false }: FormConfig): FormCollector {
  const fields = new Map<string, string[]>();
  const files: RequestFile[] = [];
  const writers: UploadWriter[] = [];
  const parts: PartDigest[] = [];
  let texts = 0;
  let textBytes = 0;

  function beginText({ name, contentType }: PartHeader): PartWriter {
    texts += 1;
    if (texts > MAX_FIELDS) throw tooMany(MAX_FIELDS, 'fields');
    const chunks: Uint8Array[] = [];
    let size = 0;
    return {
      async write(bytes) {
        size += bytes.byteLength;
        textBytes += bytes.byteLength;
        checkValueSize(name, size);
        if (textBytes > MAX_TEXT_BYTES) {
          throw httpErrors.too_large({
            message: sentence('http.form_texts', { size: describeBytes(MAX_TEXT_BYTES) }),
            details: { limit_bytes: MAX_TEXT_BYTES },
          });
        }
        chunks.push(new Uint8Array(bytes));
      },
      async end() {
        const bytes = Buffer.concat(chunks);
        addValue(fields, name, decodeUtf8(bytes));
        if (digest) parts.push([name, null, contentType, sha256Hex(bytes)]);
      },
    };
  }

  function beginFile(name: string, filename: string, mimeType: string): PartWriter {
    if (writers.length === MAX_FILES) throw tooMany(MAX_FILES, 'files');
    const writer = uploads.begin();
    writers.push(writer);
    const hash = digest ? createHash('sha256') : undefined;
    let size = 0;
    return {
      async write(bytes) {
        size += bytes.byteLength;
        if (size > maxFileBytes) {
          throw httpErrors.too_large({
            message: sentence('http.file_size', { name, max: maxFileBytes }),
            param: name,
            details: { limit_bytes: maxFileBytes },
          });
        }
        hash?.update(bytes);
        await writer.write(bytes);
      },
      async end() {
        const upload = await writer.end();
        files.push({ ...upload, ref: nextRef(name, files), field: name, filename, mimeType });
        if (hash) parts.push([name, filename, mimeType, hash.digest('hex')]);
      },
    };
  }

  async function release(): Promise<void> {
    await Promise.all(writers.map((writer) => writer.remove()));
  }

  return {
    begin: (header) =>
      header.filename === undefined ? beginText(header) : beginFile(header.name, header.filename, header.contentType),
    end: () => ({
      fields: Object.fromEntries(fields),
      files,
      digest: digest ? sha256Hex(JSON.stringify(parts)) : undefined,
      release,
    }),
    release,
  };
}

/** The name by which plugins refer to the next file of a field. */
function nextRef(field: string, earlier: readonly RequestFile[]): string {
  const index = earlier.filter((other) => other.field === field).length;
  return index === 0 ? `request_file:${field}` : `request_file:${field}#${index}`;
}

const tooMany = (max: number, what: 'files' | 'fields') =>
  httpErrors.bad_body({ message: sentence(`http.form_${what}`, { max }) });

function checkValueSize(name: string, bytes: number): void {
  if (bytes <= MAX_TEXT_BYTES) return;
  const message = sentence('http.form_field_size', { name, size: describeBytes(MAX_TEXT_BYTES) });
  throw httpErrors.too_large({ message, param: name, details: { limit_bytes: MAX_TEXT_BYTES } });
}

/** The fields of an urlencoded body. @throws http.bad_body, http.too_large */
export function readUrlencoded(bytes: Uint8Array): Record<string, string[]> {
  const text = decodeUtf8(bytes);
  // Count first: millions of empty fields fit into a body, and parsing them would block the gateway
  // for seconds.
  let separators = 0;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    separators += 1;
    if (separators > MAX_FIELDS) throw tooMany(MAX_FIELDS, 'fields');
  }
  const fields = new Map<string, string[]>();
  let count = 0;
  // The leading separator keeps a `?` at the start of the body; without it `URLSearchParams` would
  // drop the `?` as that of an address.
  for (const [name, value] of new URLSearchParams(`&${text}`)) {
    count += 1;
    if (count > MAX_FIELDS) throw tooMany(MAX_FIELDS, 'fields');
    checkFieldName(name);
    checkValueSize(name, Buffer.byteLength(value));
    addValue(fields, name, value);
  }
  return Object.fromEntries(fields);
}

/** Appends in place: a copy for each value would cost quadratic time. */
export function addValue(values: Map<string, string[]>, name: string, value: string): void {
  const known = values.get(name);
  if (known) known.push(value);
  else values.set(name, [value]);
}
