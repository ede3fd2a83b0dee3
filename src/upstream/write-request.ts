import { err, ok, type Result, randomToken, sentence } from '../kernel/index.ts';
import { isFieldValue } from './check-request.ts';
import { refused } from './failures.ts';
import type { StreamedBytes, UpstreamBody, UpstreamFailure, UpstreamRequest } from './types.ts';

/** A request to one target in HTTP's own form. A redirect or a repeat is another one. */
export type WrittenRequest = Pick<UpstreamRequest, 'method' | 'connectTimeoutMs' | 'headersTimeoutMs' | 'signal'> & {
  url: URL;
  /** What goes over the connection first: the head, and the body where that is one text. */
  bytes: Uint8Array;
  /**
   * Writes any other body at the pace of `put`; rejects when that does, when a file cannot be read
   * or its length differs from the announced one.
   */
  writeBody?: (put: PutChunk) => Promise<void>;
};

/** Resolves when the connection has consumed the chunk, whose memory is free again then. */
type PutChunk = (chunk: Uint8Array) => Promise<void>;

type Piece = Uint8Array | StreamedBytes;

type Target = { url: URL; keepAlive: boolean };

// The URL parser escapes everything else, a line end above all.
const TARGET = /^[\x21-\x7e]+$/;

/** Writes the head and prepares the body, whose length is known before its first byte is sent. */
export function writeRequest(
  request: UpstreamRequest,
  { url, keepAlive }: Target,
): Result<WrittenRequest, UpstreamFailure> {
  if (!TARGET.test(url.pathname + url.search)) return err(refused(sentence('upstream.request')));
  const { method, body, connectTimeoutMs, headersTimeoutMs, signal } = request;
  const written = { method, url, connectTimeoutMs, headersTimeoutMs, signal };
  if (body.kind === 'none' || body.kind === 'text') {
    const text = body.kind === 'text' ? body.text : '';
    const length = Buffer.byteLength(text);
    const head = writeHead(request, { url, keepAlive, length });
    const bytes = Buffer.allocUnsafe(head.length + length);
    bytes.write(head, 0, 'latin1');
    if (text !== '') bytes.write(text, head.length, 'utf8');
    return ok({ ...written, bytes });
  }
  const boundary = body.kind === 'multipart' ? `taskgate-${randomToken(24)}` : undefined;
  const pieces = toPieces(body, boundary);
  if (!pieces.ok) return pieces;
  const sizes = pieces.value.map((piece) => (piece instanceof Uint8Array ? piece.byteLength : piece.size));
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    return err(refused(sentence('upstream.file_size')));
  }
  const length = sizes.reduce((sum, size) => sum + size, 0);
  const head = writeHead(request, { url, keepAlive, length, boundary });
  return ok({
    ...written,
    bytes: Buffer.from(head, 'latin1'),
    async writeBody(put) {
      for (const piece of pieces.value) {
        if (piece instanceof Uint8Array) await put(piece);
        else await pump(piece, put);
      }
    },
  });
}

/**
 * The request line and headers (RFC 9112 3): the caller's checked headers and our own, which decide
 * route, length and encoding.
 */
function writeHead(
  { method, headers }: UpstreamRequest,
  { url, keepAlive, length, boundary }: Target & { length: number; boundary?: string | undefined },
): string {
  const lines = new Map<string, string>();
  lines.set('host', url.host);
  lines.set('user-agent', 'taskgate');
  lines.set('accept', '*/*');
  for (const name of Object.keys(headers)) lines.set(name.toLowerCase(), headers[name] ?? '');
  lines.set('accept-encoding', 'identity');
  if (boundary !== undefined) lines.set('content-type', `multipart/form-data; boundary=${boundary}`);
  if (length > 0 || method === 'POST' || method === 'PUT' || method === 'PATCH')
    lines.set('content-length', String(length));
  lines.set('connection', keepAlive ? 'keep-alive' : 'close');
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const [name, value] of lines) head += `${name}: ${value}\r\n`;
  return `${head}\r\n`;
}

const encodePiece = (piece: string | StreamedBytes): Piece => (typeof piece === 'string' ? Buffer.from(piece) : piece);

const CRLF = Buffer.from('\r\n');

function toPieces(
  body: Extract<UpstreamBody, { kind: 'pieces' | 'multipart' }>,
  boundary: string | undefined,
): Result<Piece[], UpstreamFailure> {
  if (body.kind === 'pieces') return ok(body.pieces.map(encodePiece));
  const pieces: Piece[] = [];
  for (const part of body.parts) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(part.name)}"`;
    if ('value' in part) {
      pieces.push(Buffer.from(`${head}\r\n\r\n${part.value}\r\n`));
      continue;
    }
    if ('pieces' in part) {
      pieces.push(Buffer.from(`${head}\r\n\r\n`), ...part.pieces.map(encodePiece), CRLF);
      continue;
    }
    if (!isFieldValue(part.contentType)) return err(refused(sentence('upstream.file_type')));
    const filename = escapeName(part.filename);
    pieces.push(
      Buffer.from(`${head}; filename="${filename}"\r\nContent-Type: ${part.contentType}\r\n\r\n`),
      part,
      CRLF,
    );
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return ok(pieces);
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '%22', '\r': '%0D', '\n': '%0A', '\\': '%5C' };

/**
 * RFC 7578 4.2 by way of the WHATWG form encoding: quotes and line breaks in names are
 * percent-encoded, the rest is UTF-8. So is the backslash, which many parsers take for an escape:
 * a name that ends with one would take the quote with it, and make the file name a parameter.
 */
const escapeName = (name: string): string => name.replace(/["\r\n\\]/g, (char) => ESCAPES[char] ?? '');

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
