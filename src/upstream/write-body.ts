import { err, ok, type Result, randomToken } from '../kernel/index.ts';
import { isFieldValue } from './check-request.ts';
import { refused } from './failures.ts';
import type { MultipartPart, StreamedBytes, UpstreamBody, UpstreamFailure } from './types.ts';

/** A body whose length is known before its first byte is sent. */
export type PreparedBody = {
  length: number;
  /** Replaces the request's own `Content-Type`. */
  contentType?: string;
  /** The whole body where it is one text, which is sent in one piece with the headers. */
  text?: string;
  /**
   * Otherwise: writes the whole body at the pace of `put`; rejects when that does, when a file
   * cannot be read or its length differs from the announced one.
   */
  write(put: PutChunk): Promise<void>;
};

/** Resolves when the connection has consumed the chunk, whose memory is free again then. */
export type PutChunk = (chunk: Uint8Array) => Promise<void>;

type Piece = Uint8Array | StreamedBytes;

const encodePiece = (piece: string | StreamedBytes): Piece => (typeof piece === 'string' ? Buffer.from(piece) : piece);

export function prepareBody(body: UpstreamBody): Result<PreparedBody, UpstreamFailure> {
  if (body.kind === 'multipart') return prepareMultipart(body.parts);
  if (body.kind === 'pieces') {
    return preparePieces(body.pieces.map(encodePiece));
  }
  const text = body.kind === 'text' ? body.text : '';
  return ok({
    length: Buffer.byteLength(text),
    text,
    write: async () => undefined,
  });
}

function prepareMultipart(parts: readonly MultipartPart[]): Result<PreparedBody, UpstreamFailure> {
  const boundary = `taskgate-${randomToken(24)}`;
  const pieces: Piece[] = [];
  for (const part of parts) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(part.name)}"`;
    if ('value' in part) {
      pieces.push(Buffer.from(`${head}\r\n\r\n${part.value}\r\n`));
      continue;
    }
    if ('pieces' in part) {
      pieces.push(Buffer.from(`${head}\r\n\r\n`), ...part.pieces.map(encodePiece), CRLF);
      continue;
    }
    if (!isFieldValue(part.contentType)) return err(refused('The content type of a file is not valid.'));
    const filename = escapeName(part.filename);
    pieces.push(
      Buffer.from(`${head}; filename="${filename}"\r\nContent-Type: ${part.contentType}\r\n\r\n`),
      part,
      CRLF,
    );
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return preparePieces(pieces, `multipart/form-data; boundary=${boundary}`);
}

function preparePieces(pieces: readonly Piece[], contentType?: string): Result<PreparedBody, UpstreamFailure> {
  const sizes = pieces.map((piece) => (piece instanceof Uint8Array ? piece.byteLength : piece.size));
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    return err(refused('The size of a file is not known.'));
  }
  return ok({
    length: sizes.reduce((sum, size) => sum + size, 0),
    ...(contentType === undefined ? {} : { contentType }),
    async write(put) {
      for (const piece of pieces) {
        if (piece instanceof Uint8Array) await put(piece);
        else await pump(piece, put);
      }
    },
  });
}

const CRLF = Buffer.from('\r\n');

/**
 * RFC 7578 4.2 by way of the WHATWG form encoding: quotes and line breaks in names are
 * percent-encoded, the rest is UTF-8.
 */
const escapeName = (name: string): string =>
  name.replace(/["\r\n]/g, (char) => ({ '"': '%22', '\r': '%0D', '\n': '%0A' })[char] ?? '');

async function pump({ size, stream }: StreamedBytes, put: PutChunk) {
  let sent = 0;
  for await (const chunk of stream()) {
    sent += chunk.byteLength;
    // The vendor would read excess bytes as the beginning of another part, or of another request.
    if (sent > size) break;
    await put(chunk);
  }
  if (sent !== size) throw new Error('a file is not as long as announced');
}
