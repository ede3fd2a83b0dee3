import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { err, ok, type Result, randomToken } from '../kernel/index.ts';
import { isFieldValue } from './check-request.ts';
import { refused } from './failures.ts';
import type { MultipartPart, UpstreamBody, UpstreamFailure } from './types.ts';

/** A body whose length is known before its first byte goes out. */
export type PreparedBody = {
  length: number;
  /** Replaces the request's own `Content-Type`. */
  contentType?: string;
  /** Writes all of it, at the connection's pace; rejects when a file cannot be read or is not as long as announced. */
  write(request: ClientRequest, onProgress: () => void): Promise<void>;
};

export function prepareBody(body: UpstreamBody): Result<PreparedBody, UpstreamFailure> {
  if (body.kind === 'multipart') return prepareMultipart(body.parts);
  const text = body.kind === 'text' ? body.text : '';
  return ok({
    length: Buffer.byteLength(text),
    async write(request) {
      // As a string it leaves in one piece with the headers.
      request.end(text);
    },
  });
}

function prepareMultipart(parts: readonly MultipartPart[]): Result<PreparedBody, UpstreamFailure> {
  const boundary = `taskgate-${randomToken(24)}`;
  const sections: { head: Buffer; size: number; content: Uint8Array | (() => ReadableStream<Uint8Array>) }[] = [];
  for (const part of parts) {
    let lines = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(part.name)}"`;
    if ('value' in part) {
      const content = Buffer.from(part.value);
      sections.push({ head: Buffer.from(`${lines}\r\n\r\n`), size: content.length, content });
      continue;
    }
    if (!isFieldValue(part.contentType)) return err(refused('The content type of a file is not valid.'));
    if (!Number.isSafeInteger(part.size) || part.size < 0) return err(refused('The size of a file is not known.'));
    lines += `; filename="${escapeName(part.filename)}"\r\nContent-Type: ${part.contentType}\r\n\r\n`;
    sections.push({ head: Buffer.from(lines), size: part.size, content: part.stream });
  }
  const tail = Buffer.from(`--${boundary}--\r\n`);
  return ok({
    length: sections.reduce((sum, { head, size }) => sum + head.length + size + 2, tail.length),
    contentType: `multipart/form-data; boundary=${boundary}`,
    async write(request, onProgress) {
      const put = async (chunk: Uint8Array) => {
        if (request.destroyed) throw new Error('the connection is gone');
        if (!request.write(chunk)) await drained(request);
        onProgress();
      };
      for (const { head, size, content } of sections) {
        await put(head);
        if (content instanceof Uint8Array) await put(content);
        else await pump(content(), size, put);
        await put(CRLF);
      }
      await put(tail);
      request.end();
    },
  });
}

const CRLF = Buffer.from('\r\n');

/** RFC 7578 4.2 by way of the WHATWG form encoding: quotes and line breaks in names are percent-encoded, the rest is UTF-8. */
const escapeName = (name: string): string =>
  name.replace(/["\r\n]/g, (char) => ({ '"': '%22', '\r': '%0D', '\n': '%0A' })[char] ?? '');

async function pump(stream: ReadableStream<Uint8Array>, size: number, put: (chunk: Uint8Array) => Promise<void>) {
  let sent = 0;
  for await (const chunk of stream) {
    sent += chunk.byteLength;
    // More than announced would be read by the vendor as the beginning of another part, or of another request.
    if (sent > size) break;
    await put(chunk);
  }
  if (sent !== size) throw new Error('a file is not as long as announced');
}

/** Until the connection takes more, or is gone. */
async function drained(request: ClientRequest): Promise<void> {
  const gone = new AbortController();
  const { signal } = gone;
  await Promise.race([once(request, 'drain', { signal }), once(request, 'close', { signal })]).finally(() =>
    gone.abort(),
  );
}
