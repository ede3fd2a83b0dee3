import type { ExtractedFiles } from '../../files/index.ts';
import { createBase64Splitter, createByteBuffer, randomAlnum, sentence } from '../../kernel/index.ts';
import { fileToken, TOKEN_PREFIX_LENGTH } from '../../vendors/index.ts';
import { httpErrors } from '../responses/errors.ts';
import { type BodyLimit, beyondLimit } from './body-limits.ts';
import type { FileStorage, Upload } from './upload-folder.ts';

/** A run of Base64 that is shorter stays in the JSON. */
const MIN_RUN_BYTES = 64 * 1024;

export type FileExtractor = {
  /**
   * Takes the next bytes of the JSON text.
   * @throws http.too_large, http.upload_storage, http.uploads_limited
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Returns the JSON with a token in place of each file. @throws what `write` throws */
  end(): Promise<{ rest: Uint8Array; files: ExtractedFiles }>;
  /** Removes the files. Never throws. */
  release(): Promise<void>;
};

type ExtractorConfig = FileStorage & { limit: BodyLimit };
type Run = { start: number; lineEnds: number };

/**
 * Moves long runs of Base64 out of JSON text while it arrives. The prefix of a data URL stays in
 * the JSON. All runs of one body go into one upload. A token of the Base64 alphabet that cannot be
 * guessed replaces each run. The upload holds the text exactly as it stood between the quotes of
 * the JSON, so that it can be put back unchanged.
 */
export function createFileExtractor({ uploads, maxFileBytes, limit }: ExtractorConfig): FileExtractor {
  const writer = uploads.begin();
  const prefix = randomAlnum(TOKEN_PREFIX_LENGTH);
  const files: Stored[] = [];
  /** The JSON text without files. */
  const rest = createByteBuffer();
  /** Bytes of the current chunk that belong to a file. */
  const toStore = createByteBuffer();
  /** The beginning of a run that may still turn out too short for a file. */
  const held = createByteBuffer();
  let heldLineEnds = 0;
  let stored = 0;
  /** The run that is being stored, if there is one. */
  let run: Run | undefined;

  function addToRun(bytes: Uint8Array, from: number, to: number): void {
    if (run) {
      toStore.append(bytes, from, to);
      return;
    }
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

  const splitter = createBase64Splitter({
    addToRun,
    addLineEnd(bytes) {
      if (run) run.lineEnds += 1;
      else heldLineEnds += 1;
      addToRun(bytes, 0, 2);
    },
    addOther(bytes, from, to) {
      endRun();
      rest.append(bytes, from, to);
    },
  });

  function checkSizes(): void {
    if (rest.size() > limit.maxBytes) throw beyondLimit('maxBytes', limit);
    const open = run ? [{ ...run, end: stored + toStore.size() }] : [];
    if ([...files, ...open].every((file) => decodedBytes(file) <= maxFileBytes)) return;
    throw httpErrors.too_large({
      message: sentence('http.json_file', { max: maxFileBytes }),
      details: { limit_bytes: maxFileBytes },
    });
  }

  return {
    async write(bytes) {
      splitter.split(bytes);
      checkSizes();
      const piece = toStore.take();
      stored += piece.byteLength;
      if (piece.byteLength > 0) await writer.write(piece);
    },
    async end() {
      // What is still open is a held run or an unfinished escape: no file.
      splitter.end();
      endRun();
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
