import { createByteBuffer, createJsonEscapeReader, randomAlnum } from '../../kernel/index.ts';
import { type ExtractedFiles, fileToken, TOKEN_PREFIX_LENGTH } from '../../tasks/index.ts';
import { httpErrors } from '../errors.ts';
import { type BodyLimit, beyondLimit } from './body-limits.ts';
import type { Upload, Uploads } from './upload-folder.ts';

/** Shorter runs of Base64 stay in the JSON. */
const MIN_RUN_BYTES = 64 * 1024;

const BACKSLASH = 0x5c;
const BASE64 = 1;
const ESCAPE = 2;
/** 0: neither. */
const KINDS = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=')
  KINDS[char.charCodeAt(0)] = BASE64;
KINDS[BACKSLASH] = ESCAPE;
/** What may stand behind a backslash within Base64 besides its own characters. */
const LINE_ENDS = new Set([...'nr'].map((char) => char.charCodeAt(0)));

export type FileExtractor = {
  /**
   * The next bytes of the JSON text. @throws http.too_large, http.upload_storage,
   * http.uploads_limited
   */
  take(bytes: Uint8Array): Promise<void>;
  /** What is left of the text, with a token in the place of each file. Throws like `take`. */
  end(): Promise<{ rest: Uint8Array; files: ExtractedFiles }>;
  /** Removes the files. Never throws. */
  release(): Promise<void>;
};

type Limits = { uploads: Uploads; maxFileBytes: number; limit: BodyLimit };
type Run = { start: number; lineEnds: number };

/**
 * Takes long Base64 out of JSON text while it arrives, with or without the beginning of a data URL
 * before it, which stays. The bytes go where the files of forms go, all of them into one; a token
 * of the Base64 alphabet that nobody can guess stands for each. What is stored is the text as it
 * stands between the quotes of JSON, so that it can be put back as it is.
 */
export function createFileExtractor({ uploads, maxFileBytes, limit }: Limits): FileExtractor {
  const writer = uploads.begin();
  const prefix = randomAlnum(TOKEN_PREFIX_LENGTH);
  const files: Stored[] = [];
  /** The text without files. */
  const rest = createByteBuffer();
  /** What of the present bytes belongs to a file. */
  const toStore = createByteBuffer();
  /** The beginning of a run that may yet be too short. */
  const held = createByteBuffer();
  let heldLineEnds = 0;
  let stored = 0;
  /** The run that is being stored. */
  let run: Run | undefined;
  /** Clients escape characters of Base64 too: PHP slashes, .NET plus signs. */
  const escapes = createJsonEscapeReader();
  const single = new Uint8Array(1);

  /** Bytes of a run, `lineEnds` escaped ends of lines among them. */
  function addToRun(bytes: Uint8Array, from: number, to: number, lineEnds = 0): void {
    if (run) {
      run.lineEnds += lineEnds;
      toStore.append(bytes, from, to);
      return;
    }
    heldLineEnds += lineEnds;
    held.append(bytes, from, to);
    if (held.size() < MIN_RUN_BYTES) return;
    run = { start: stored + toStore.size(), lineEnds: heldLineEnds };
    const token = Buffer.from(fileToken(prefix, files.length));
    rest.append(token, 0, token.length);
    held.moveTo(toStore);
  }

  function endRun(): void {
    if (run) files.push({ ...run, end: stored + toStore.size() });
    else held.moveTo(rest);
    run = undefined;
    heldLineEnds = 0;
  }

  function endEscape(): void {
    const { bytes, length, char } = escapes;
    if (char >= 0 && KINDS[char] === BASE64) {
      single[0] = char;
      addToRun(single, 0, 1);
    } else if (length === 2 && LINE_ENDS.has(bytes[1] as number)) addToRun(bytes, 0, 2, 1);
    else {
      endRun();
      rest.append(bytes, 0, length);
    }
  }

  function sort(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; ) {
      const byte = bytes[i] as number;
      const kind = KINDS[byte];
      if (escapes.isOpen || kind === ESCAPE) {
        if (!escapes.isOpen) escapes.begin();
        else if (escapes.push(byte)) endEscape();
        i += 1;
        continue;
      }
      let end = i + 1;
      while (end < bytes.length && KINDS[bytes[end] as number] === kind) end += 1;
      if (kind === BASE64) addToRun(bytes, i, end);
      else {
        endRun();
        rest.append(bytes, i, end);
      }
      i = end;
    }
  }

  function checkSizes(): void {
    if (rest.size() > limit.maxBytes) throw beyondLimit('maxBytes', limit);
    const open = run ? [{ ...run, end: stored + toStore.size() }] : [];
    if ([...files, ...open].every((file) => decodedBytes(file) <= maxFileBytes)) return;
    throw httpErrors.too_large({
      message: `A file in the JSON body is larger than ${maxFileBytes} bytes.`,
      details: { limit_bytes: maxFileBytes },
    });
  }

  return {
    async take(bytes) {
      sort(bytes);
      checkSizes();
      const piece = toStore.take();
      stored += piece.byteLength;
      if (piece.byteLength > 0) await writer.write(piece);
    },
    async end() {
      // What is left is held or an escape without an end: no file.
      endRun();
      if (escapes.isOpen) rest.append(escapes.bytes, 0, escapes.length);
      checkSizes();
      const upload = await writer.end();
      return { rest: rest.take(), files: { prefix, files: files.map((file) => describeFile(upload, file)) } };
    },
    release: () => writer.remove(),
  };
}

type Stored = Run & { end: number };

function describeFile(upload: Upload, file: Stored): ExtractedFiles['files'][number] {
  const { start, end, lineEnds } = file;
  return {
    size: end - start,
    decodedSize: decodedBytes(file),
    hasLineEnds: lineEnds > 0,
    stream: () => upload.stream({ start, end }),
  };
}

const decodedBytes = ({ start, end, lineEnds }: Stored): number => Math.floor(((end - start - 2 * lineEnds) * 3) / 4);
