import { isIP, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { SentenceError, sentence } from '../kernel/index.ts';
import { basicCredentials, type ProxyServer } from './proxies.ts';

/** Why a proxy opened no way to the vendor, to which nothing has gone then. */
export class ProxyFailure extends SentenceError {}

/** Where the proxy should connect to: a name or an address. */
type Destination = { host: string; port: number };

/** The longest answer of a proxy to CONNECT. */
const MAX_ANSWER_BYTES = 16 * 1024;

/**
 * Asks a proxy over a connection to it for a connection to somewhere else, which the socket is from
 * then on.
 * @throws ProxyFailure
 */
export function openTunnel(socket: Socket, proxy: ProxyServer, destination: Destination): Promise<void> {
  return proxy.scheme === 'http' || proxy.scheme === 'https'
    ? connectByHttp(socket, proxy, destination)
    : connectBySocks(socket, proxy, destination);
}

/** RFC 9110 9.3.6. */
async function connectByHttp(socket: Socket, proxy: ProxyServer, { host, port }: Destination): Promise<void> {
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const login = proxy.user === '' ? '' : `proxy-authorization: Basic ${basicCredentials(proxy)}\r\n`;
  const answer = await ask(socket, Buffer.from(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${login}\r\n`), {
    scheme: proxy.scheme,
    measure: measureHead,
    mayHaveMore: true,
  });
  const status = Number(/^HTTP\/1\.[01] (\d{3})[ \r]/.exec(answer.toString('latin1'))?.[1] ?? 0);
  // A refusal may have a body. Beyond an agreement there is nothing yet: nobody was asked.
  if (status >= 200 && status < 300 && answer.length === measureHead(answer)) return;
  // tinyproxy says 401.
  if (status === 407 || status === 401) throw new ProxyFailure(sentence('upstream.proxy_login'));
  if (status < 300) throw brokenBy(proxy.scheme);
  throw new ProxyFailure(sentence('upstream.proxy_vendor', { code: `HTTP ${status}` }));
}

function measureHead(bytes: Buffer): number | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  return end < 0 ? undefined : end + 4;
}

const SOCKS_VERSION = 5;
const NO_LOGIN = 0;
const USER_AND_PASSWORD = 2;
const CONNECT = 1;
const ADDRESS_KINDS = { ipv4: 1, name: 3, ipv6: 4 };
/** RFC 1928 6: what a proxy replies in place of a connection. */
const REPLIES: Readonly<Record<number, string>> = {
  2: 'NOT_ALLOWED',
  3: 'ENETUNREACH',
  4: 'EHOSTUNREACH',
  5: 'ECONNREFUSED',
  6: 'ETIMEDOUT',
};

/** RFC 1928, and RFC 1929 for user and password. */
async function connectBySocks(socket: Socket, proxy: ProxyServer, { host, port }: Destination): Promise<void> {
  const { scheme, user, password } = proxy;
  const methods = user === '' ? [NO_LOGIN] : [NO_LOGIN, USER_AND_PASSWORD];
  const greeting = Buffer.from([SOCKS_VERSION, methods.length, ...methods]);
  const [version, method] = await ask(socket, greeting, { scheme, measure: () => 2 });
  if (version !== SOCKS_VERSION) throw brokenBy(scheme);
  if (method === USER_AND_PASSWORD && user !== '') {
    const login = [Buffer.from([1]), ...[user, password].flatMap(withLength)];
    const [, status] = await ask(socket, Buffer.concat(login), { scheme, measure: () => 2 });
    if (status !== 0) throw new ProxyFailure(sentence('upstream.proxy_login'));
  } else if (method !== NO_LOGIN) throw new ProxyFailure(sentence('upstream.proxy_login'));
  const request = [Buffer.from([SOCKS_VERSION, CONNECT, 0]), encodeHost(host), Buffer.from([port >> 8, port & 255])];
  const answer = await ask(socket, Buffer.concat(request), { scheme, measure: measureReply });
  if (answer[0] !== SOCKS_VERSION) throw brokenBy(scheme);
  const reply = answer[1] ?? 1;
  if (reply !== 0)
    throw new ProxyFailure(sentence('upstream.proxy_vendor', { code: REPLIES[reply] ?? `SOCKS ${reply}` }));
}

const withLength = (text: string): Buffer[] => [Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)];

function encodeHost(host: string): Buffer {
  if (isIP(host) === 0) return Buffer.concat([Buffer.from([ADDRESS_KINDS.name]), ...withLength(host)]);
  const kind = isIP(host) === 4 ? ADDRESS_KINDS.ipv4 : ADDRESS_KINDS.ipv6;
  return Buffer.from([kind, ...ipaddr.parse(host).toByteArray()]);
}

/** The length of a reply follows from the kind of the address in it; a refusal may end before. */
function measureReply(bytes: Buffer): number | undefined {
  if (bytes.length >= 2 && (bytes[0] !== SOCKS_VERSION || bytes[1] !== 0)) return bytes.length;
  if (bytes.length < 5) return undefined;
  if (bytes[3] === ADDRESS_KINDS.name) return 7 + (bytes[4] ?? 0);
  return bytes[3] === ADDRESS_KINDS.ipv6 ? 22 : 10;
}

const brokenBy = (scheme: string) => new ProxyFailure(sentence('upstream.proxy_broken', { scheme }));

type Question = {
  scheme: string;
  /** The length of the answer; undefined: not all of it has come. */
  measure: (bytes: Buffer) => number | undefined;
  /** More may follow the answer; otherwise it ends the connection. */
  mayHaveMore?: boolean;
};

/** Sends, and reads an answer as long as `measure` says. */
function ask(socket: Socket, bytes: Buffer, { scheme, measure, mayHaveMore = false }: Question): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let answer: Buffer = Buffer.alloc(0);
    const settle = (error?: ProxyFailure) => {
      socket.removeListener('data', onData);
      socket.removeListener('end', onEnd);
      socket.removeListener('close', onEnd);
      if (error) reject(error);
      else resolve(answer);
    };
    const onEnd = () => settle(brokenBy(scheme));
    const onData = (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk]);
      const length = measure(answer);
      if (length === undefined ? answer.length > MAX_ANSWER_BYTES : answer.length > length && !mayHaveMore)
        settle(brokenBy(scheme));
      else if (length !== undefined && answer.length >= length) settle();
    };
    socket.on('data', onData);
    socket.once('end', onEnd);
    socket.once('close', onEnd);
    socket.write(bytes);
  });
}
