// Node's own server. Run `node server.mjs PORT FOLDER IDLE_MS [CERT KEY]`: FOLDER has the encoded
// bodies. It counts what it takes, and closes connections by chance where `/random/` is asked.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';

const [port, folder, idleMs, cert, key] = process.argv.slice(2);
const taken = new Map();
const seen = new WeakMap();

const raw = (request, text) => request.socket.end(text);

/** Whether the server goes on to answer; else it has closed the connection. */
function closeByChance(request, response, body) {
  const nth = seen.get(request.socket) ?? 0;
  seen.set(request.socket, nth + 1);
  const chance = Math.random();
  if (chance < 0.02 && nth > 0) request.socket.destroy();
  else if (chance < 0.04) raw(request, `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  else if (chance < 0.06) {
    request.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    setTimeout(() => request.socket.destroy(), Math.random() * 5);
  } else {
    if (chance < 0.08) response.setHeader('Connection', 'close');
    return true;
  }
  return false;
}

const kinds = {
  plain: (_, response) => response.end('plain'),
  chunked(_, response) {
    for (const piece of ['one ', 'two ', 'three']) response.write(piece);
    response.end();
  },
  trailers(_, response) {
    response.writeHead(200, { Trailer: 'X-Sum' });
    response.write('one ');
    response.addTrailers({ 'X-Sum': '1' });
    response.end('two');
  },
  extensions: (request) =>
    raw(
      request,
      'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b;c="d;e"\r\none \r\n3;f\r\ntwo\r\n0;end\r\nX-Sum: 1\r\n\r\n',
    ),
  interim(_, response) {
    response.writeContinue();
    response.writeProcessing();
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    setTimeout(() => response.end('at last'), 20);
  },
  close: (_, response) => response.writeHead(200, { Connection: 'close' }).end('the last one'),
  old: (request) => raw(request, 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end'),
  nothing: (_, response) => response.writeHead(204, { 'Content-Length': '7' }).end(),
  unchanged: (_, response) => response.writeHead(304, { 'Content-Length': '7', ETag: '"a"' }).end(),
};
for (const encoding of ['gzip', 'br', 'zstd'])
  kinds[encoding] = (_, response) =>
    response.writeHead(200, { 'Content-Encoding': encoding }).end(readFileSync(join(folder, encoding)));

async function serve(request, response) {
  const [, kind, id] = request.url.split('/');
  let sent = '';
  for await (const piece of request) sent += piece;
  if (kind === 'taken') return response.end(JSON.stringify(Object.fromEntries(taken)));
  if (kind !== 'echo' && kind !== 'random') return kinds[kind](request, response);
  if (request.method === 'POST') taken.set(id, (taken.get(id) ?? 0) + 1);
  const body = `${id} ${sent}`;
  if (kind === 'echo' || closeByChance(request, response, body)) response.end(body);
}

const listener = (request, response) => void serve(request, response).catch(() => request.socket.destroy());
const server = cert
  ? https.createServer({ cert: readFileSync(cert), key: readFileSync(key) }, listener)
  : http.createServer(listener);
server.keepAliveTimeout = Number(idleMs);
server.listen(Number(port), '127.0.0.1');
