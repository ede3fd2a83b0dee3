/** Mail servers on loopback ports: one that keeps what it is given, and some that behave badly. */
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { until } from './until.ts';

const certificate = (name: string) =>
  readFileSync(new URL(`../upstream/certificates/${name}.pem`, import.meta.url), 'utf8');
/** For `localhost` and 127.0.0.1. */
export const MAIL_CERTIFICATE = certificate('server-cert');

export type ReceivedMail = {
  envelopeFrom: string;
  recipients: string[];
  /** Whether it came under TLS. */
  secure: boolean;
  /** The account that logged in. */
  user: string;
  /** By their names in lower case; as sent, unfolded. */
  headers: Record<string, string[]>;
  raw: string;
  text: string;
  html: string;
  /** Header words decoded. */
  subject: string;
};

export type Login = { method: string; username: string; password: string; secure: boolean };

export type MailServerOptions = {
  /** `implicit`: TLS from the first byte; `starttls`: offered; `none`: not offered. */
  tls?: 'implicit' | 'starttls' | 'none';
  /** Asks for this login. */
  account?: { user: string; password: string };
  /** What the server says to every recipient instead of taking it. */
  refuse?: { code: number; message: string };
  /** How many emails are answered 451 before one is taken. */
  failFirst?: number;
  /** What the server says after a wrong login. */
  loginRefusal?: string;
};

export type TestMailServer = {
  port: number;
  mails: ReceivedMail[];
  logins: Login[];
  connections(): number;
  /** Most conversations at the same time. */
  atOnce(): number;
  /** The next email that satisfies `wanted`, or that is there. */
  next(wanted?: (mail: ReceivedMail) => boolean): Promise<ReceivedMail>;
  stop(): Promise<void>;
};

export async function startMailServer(options: MailServerOptions = {}): Promise<TestMailServer> {
  const { tls = 'none', account, refuse } = options;
  const mails: ReceivedMail[] = [];
  const logins: Login[] = [];
  const taken = new Set<ReceivedMail>();
  let failures = options.failFirst ?? 0;
  let connections = 0;
  let open = 0;
  let atOnce = 0;
  const server = new SMTPServer({
    secure: tls === 'implicit',
    key: certificate('server-key'),
    cert: MAIL_CERTIFICATE,
    disabledCommands: [...(tls === 'none' ? ['STARTTLS'] : []), ...(account ? [] : ['AUTH'])],
    authOptional: !account,
    // Servers in a network of their own do that; the client decides what it sends in clear.
    allowInsecureAuth: true,
    authMethods: ['PLAIN', 'LOGIN'],
    disableReverseLookup: true,
    logger: false,
    onConnect(_session, done) {
      connections += 1;
      open += 1;
      atOnce = Math.max(atOnce, open);
      done();
    },
    onClose() {
      open -= 1;
    },
    onAuth({ method, username, password }, session, done) {
      logins.push({ method, username: username ?? '', password: password ?? '', secure: session.secure });
      const right = account !== undefined && username === account.user && password === account.password;
      if (right) return done(null, { user: username });
      done(Object.assign(new Error(options.loginRefusal ?? 'Authentication failed'), { responseCode: 535 }));
    },
    onRcptTo(_address, _session, done) {
      done(refuse && Object.assign(new Error(refuse.message), { responseCode: refuse.code }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (failures > 0) {
          failures -= 1;
          return done(Object.assign(new Error('try again later'), { responseCode: 451 }));
        }
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          envelopeFrom: mailFrom ? mailFrom.address : '',
          recipients: rcptTo.map(({ address }) => address),
          secure: session.secure,
          user: String(session.user ?? ''),
          ...readMail(Buffer.concat(chunks).toString('latin1')),
        });
        done();
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as { port: number };
  return {
    port,
    mails,
    logins,
    connections: () => connections,
    atOnce: () => atOnce,
    async next(wanted = () => true) {
      const mail = await until('such a mail has arrived', () => mails.find((each) => !taken.has(each) && wanted(each)));
      taken.add(mail);
      return mail;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** A server that says `answer` to whatever comes: an empty one hangs, a wrong one is garbage. */
export async function startBadServer(
  answer: (socket: Socket) => void,
): Promise<{ port: number; stop(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  return {
    port,
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

type Parts = Pick<ReceivedMail, 'headers' | 'raw' | 'text' | 'html' | 'subject'>;

/** Reads an email as it came over the wire: its headers, and the two parts of its body. */
function readMail(raw: string): Parts {
  const { headers, body } = splitHeaders(raw);
  const boundary = /boundary="?([^";]+)/.exec(headers['content-type']?.[0] ?? '')?.[1];
  const parts = boundary
    ? body
        .split(`--${boundary}`)
        .slice(1, -1)
        .map((part) => splitHeaders(part.trimStart()))
    : [];
  const part = (type: string) => {
    const found = parts.find((each) => each.headers['content-type']?.[0]?.startsWith(type));
    return found ? decodeBody(found.body, found.headers['content-transfer-encoding']?.[0] ?? '') : '';
  };
  const subject = decodeWords(headers.subject?.[0] ?? '');
  return { headers, raw, text: part('text/plain'), html: part('text/html'), subject };
}

function splitHeaders(raw: string): { headers: Record<string, string[]>; body: string } {
  const end = raw.indexOf('\r\n\r\n');
  const headers: Record<string, string[]> = {};
  for (const line of raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    headers[name] = [...(headers[name] ?? []), line.slice(colon + 1).trim()];
  }
  return { headers, body: raw.slice(end + 4) };
}

function decodeBody(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return Buffer.from(body, 'latin1').toString('utf8');
  return unquote(body.replace(/=\r\n/g, ''));
}

const unquote = (text: string): string =>
  Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8');

const decodeWords = (text: string): string =>
  text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_all, encoding: string, word: string) =>
      encoding.toLowerCase() === 'b' ? Buffer.from(word, 'base64').toString('utf8') : unquote(word.replace(/_/g, ' ')),
    );
