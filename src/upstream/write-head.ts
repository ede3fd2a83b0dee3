import type { PreparedBody } from './write-body.ts';

/** What goes over the connection first: the head, and the body where that is one text. */
export type WrittenRequest = { method: string; bytes: Uint8Array };

type Described = {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: PreparedBody;
  keepAlive: boolean;
};

// The URL parser escapes everything else, a line end above all.
const TARGET = /^[\x21-\x7e]+$/;

/**
 * The request in HTTP's own form (RFC 9112 3): the caller's checked headers and our own, which
 * decide route, length and encoding. Undefined if the target is no valid one.
 */
export function writeRequest({ url, method, headers, body, keepAlive }: Described): WrittenRequest | undefined {
  const target = url.pathname + url.search;
  if (!TARGET.test(target)) return undefined;
  const lines = new Map<string, string>();
  lines.set('host', url.host);
  lines.set('user-agent', 'taskgate');
  lines.set('accept', '*/*');
  for (const name of Object.keys(headers)) lines.set(name.toLowerCase(), headers[name] ?? '');
  lines.set('accept-encoding', 'identity');
  if (body.contentType !== undefined) lines.set('content-type', body.contentType);
  if (body.length > 0 || method === 'POST' || method === 'PUT' || method === 'PATCH')
    lines.set('content-length', String(body.length));
  lines.set('connection', keepAlive ? 'keep-alive' : 'close');
  let head = `${method} ${target} HTTP/1.1\r\n`;
  for (const [name, value] of lines) head += `${name}: ${value}\r\n`;
  head += '\r\n';
  const text = body.text ?? '';
  const bytes = Buffer.allocUnsafe(head.length + (text === '' ? 0 : body.length));
  bytes.write(head, 0, 'latin1');
  if (text !== '') bytes.write(text, head.length, 'utf8');
  return { method, bytes };
}
