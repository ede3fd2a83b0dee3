import { createHash } from 'node:crypto';
import type { ExtractedFiles } from '../../files/index.ts';
import {
  createJsonScanner,
  type Json,
  type JsonScanner,
  nextTurn,
  parseLongIds,
  sentence,
  sliceChunks,
} from '../../kernel/index.ts';
import { type BodyDigests, digestJson } from '../../tasks/index.ts';
import { httpErrors } from '../responses/errors.ts';
import { BODY_LIMITS, type BodyLimit, beyondLimit } from './body-limits.ts';
import { createFileExtractor, type FileExtractor } from './extract-files.ts';
import { streamBody } from './read-body.ts';
import type { FileStorage } from './upload-folder.ts';

/** Up to this size JSON stays as sent, including its files. */
const EXTRACT_ABOVE = BODY_LIMITS.submission.maxBytes;

/** Shorter text is parsed in well under a millisecond. */
const LONG_TEXT = 64 * 1024;

/** A JSON body whose size was checked before it was parsed. */
export type JsonBody = {
  /** Ids that a number would round are texts in it. */
  value: Json;
  /** As sent, with a token in place of each extracted file. */
  text: string;
  /** Set for a request with an Idempotency-Key whose body may contain files. */
  digests: BodyDigests | undefined;
  /** Counts of the body without the extracted files. */
  counts: JsonScanner['counts'];
  extracted?: ExtractedFiles;
  /** Removes the files. Never throws. */
  release(): Promise<void>;
};

/**
 * Reads a JSON body and parses it once it is known to be within `limit`. With `storage`, files in
 * Base64 are extracted from a body that is too large for plugins. An error leaves no file behind.
 * @throws http.too_large, http.bad_json, http.upload_storage, http.uploads_limited, and what
 * `streamBody` throws
 */
export async function readJsonBody(request: Request, limit: BodyLimit, storage?: FileStorage): Promise<JsonBody> {
  const maxBytes = limit.maxWireBytes ?? limit.maxBytes;
  const scanner = createJsonScanner({ ...limit, maxBytes });
  const hash = storage && request.headers.has('idempotency-key') ? createHash('sha256') : undefined;
  let slices: Uint8Array[] = [];
  let extractor: FileExtractor | undefined;
  const release = async () => extractor?.release();
  try {
    for await (const slice of sliceChunks(streamBody(request, maxBytes))) {
      const exceeded = scanner.scan(slice);
      if (exceeded) throw beyondLimit(exceeded, limit);
      hash?.update(slice);
      if (extractor) await extractor.write(slice);
      else slices.push(slice);
      if (extractor || !storage || scanner.counts.bytes <= EXTRACT_ABOVE) continue;
      extractor = createFileExtractor({ ...storage, limit });
      for (const earlier of slices) await extractor.write(earlier);
      slices = [];
    }
    const { rest, files } = extractor ? await extractor.end() : { rest: join(slices), files: undefined };
    const text = decode(rest);
    const value = parse(text);
    // The value is read in another turn than it is parsed.
    if (text.length > LONG_TEXT) await nextTurn();
    const extracted = files && files.files.length > 0 ? { extracted: files } : {};
    const digests = hash && { raw: hash.digest('hex'), meaning: await digestJson(text, extracted.extracted) };
    return { value, text, digests, counts: { ...scanner.counts, bytes: rest.byteLength }, ...extracted, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Most bodies come in one piece. */
const join = (slices: readonly Uint8Array[]): Uint8Array =>
  slices.length === 1 && slices[0] ? slices[0] : Buffer.concat(slices);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Accepts only valid UTF-8. @throws http.bad_json */
function decode(bytes: Uint8Array): string {
  if (bytes.byteLength === 0) throw httpErrors.bad_json({ message: sentence('http.empty') });
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw notJson(cause);
  }
}

function parse(text: string): Json {
  try {
    return parseLongIds(text);
  } catch (cause) {
    throw notJson(cause);
  }
}

const notJson = (cause: unknown) => httpErrors.bad_json({ message: sentence('http.not_json'), cause });
