/**
 * Sends an email by SMTP: the conversation with the server, its deadlines, and what must be
 * encrypted.
 */
import type { Socket } from 'node:net';
import { getCACertificates } from 'node:tls';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import {
  redactSecrets,
  type Sentence,
  SentenceError,
  sanitizeMessage,
  sentence,
  silentLogger,
  toSentence,
} from '../../kernel/index.ts';
import { checkAddress } from '../check-address.ts';
import { createDial, type Resolve } from '../dial.ts';
import { DIRECT_NETWORK, describeProxy, type ProxyServer } from '../proxies.ts';
import { connectMailThrough, openMailSocket, resolveMailServer } from './open-mail-socket.ts';
import { mailPortBegins } from './probe-mail-port.ts';
import type { MailFailure, MailOutcome, MailServer, MailStep, SendMail } from './types.ts';
import { type WrittenMail, writeMail } from './write-mail.ts';

/**
 * Time limits of each step, and of the whole conversation once connected: a server that sends
 * single bytes resets the first, never the second.
 */
const STEP_MS = 10_000;
const WHOLE_MS = 30_000;
/** A server that says nothing for this long may wait for TLS; how long it has to show that. */
const SILENCE_MS = 700;
const PROBE_MS = 1500;
/** A reply is a few lines. */
const MAX_REPLY_BYTES = 64 * 1024;
/** The most characters of a server's reply in a message. */
const MAX_QUOTED = 200;

export type SendMailOptions = {
  /** Milliseconds for each step and in total, instead of 10 and 30 seconds. */
  stepMs?: number;
  wholeMs?: number;
  /** Replaces the system's resolver. */
  resolve?: Resolve;
  /** Replaces TCP. */
  open?: typeof openMailSocket;
  /**
   * PEM certificates that are trusted instead of the built-in list (a private certificate
   * authority).
   */
  trustedCertificates?: readonly string[];
  /** PEM certificates of authorities that are trusted besides the well-known ones. */
  authorities?: readonly string[];
  proxy?: ProxyServer | undefined;
};

/**
 * SMTP submission with nodemailer.
 *
 * The password is only sent under TLS. The one exception is a server that offers no TLS and has a
 * private or loopback address. `forceAuthLogin` changes the mechanism, never this rule. An invalid
 * certificate ends the conversation, in the opportunistic mode too: there, only a server that
 * offers no STARTTLS, or refuses it, is used without encryption.
 */
export function createSendMail(options: SendMailOptions = {}): SendMail {
  const { stepMs = STEP_MS, wholeMs = WHOLE_MS, open = openMailSocket, proxy, resolve, authorities = [] } = options;
  const network = { ...DIRECT_NETWORK, authorities };
  const connect = proxy && connectMailThrough(proxy, createDial({ logger: silentLogger, network, resolve }));
  const probe = { timeoutMs: Math.min(PROBE_MS, stepMs), connect };
  /** A proxy that takes names is asked for the name, whether it resolves here or not. */
  const takesNames = proxy !== undefined && proxy.scheme !== 'socks5';
  const trusted = options.trustedCertificates ?? (authorities.length > 0 ? getCACertificates('default') : undefined);

  return async (server, mail) => {
    const steps: MailStep[] = [];
    const done = (step: MailStep['step'], said: Sentence) => void steps.push({ step, ok: true, ...said });
    const fail = (failure: MailFailure, said: Sentence): MailOutcome => {
      steps.push({ step: failure.step, ok: false, ...said });
      return { steps, failure };
    };

    const written = await writeMail(mail);
    if (!written.ok) return fail({ step: 'send', permanent: true, reply: 0 }, written.error);

    const resolved = await resolveMailServer(server.host, takesNames ? probe.timeoutMs : stepMs, resolve);
    if (!resolved.ok && (!takesNames || resolved.error.permanent)) {
      return fail({ step: 'resolve', permanent: resolved.error.permanent, reply: 0 }, toSentence(resolved.error));
    }
    const addresses = takesNames || !resolved.ok ? [server.host] : resolved.value;
    if (!takesNames) done('resolve', sentence('mail.resolved', { host: server.host, addresses: addresses.join(', ') }));

    const opened = await open(addresses, server.port, { timeoutMs: stepMs, connect });
    if (!opened.ok) return fail({ step: 'connect', permanent: false, reply: 0 }, opened.error);
    const { socket, address } = opened.value;
    done(
      'connect',
      proxy === undefined
        ? sentence('mail.connected', { address, port: server.port })
        : sentence('mail.connected_by', { address, port: server.port, proxy: describeProxy(proxy) }),
    );

    const { default: Connection } = await import('nodemailer/lib/smtp-connection');
    const connection = new Connection({
      host: server.host,
      port: server.port,
      ...(server.ownName === undefined ? {} : { name: server.ownName }),
      connection: socket,
      secure: server.tls === 'implicit',
      requireTLS: server.tls === 'starttls',
      opportunisticTLS: server.tls === 'opportunistic',
      connectionTimeout: stepMs,
      greetingTimeout: stepMs,
      socketTimeout: stepMs,
      maxResponseSize: MAX_REPLY_BYTES,
      logger: false,
      tls: {
        rejectUnauthorized: !server.skipVerify,
        minVersion: 'TLSv1.2',
        ...(trusted && { ca: [...trusted, ...authorities] }),
      },
    });
    const silence = watchSilence(connection, { server, socket, address, probe });
    try {
      const isPrivate = checkAddress(address) === 'private';
      await converse(connection, {
        server,
        isPrivate,
        written: written.value,
        wholeMs,
        done,
        waitsForTls: silence.found,
      });
      connection.quit();
      return { steps };
    } catch (error) {
      connection.close();
      socket.destroy();
      const hasGreeted = steps.some(({ step }) => step === 'greeting');
      if (
        server.tls === 'implicit' &&
        !hasGreeted &&
        (await mailPortBegins({ address, port: server.port }, 'plain', probe))
      ) {
        return fail({ step: 'tls', permanent: false, reply: 0 }, BEGINS_PLAIN);
      }
      return fail(...explain(error, steps, server));
    } finally {
      silence.stop();
    }
  };
}

const BEGINS_TLS = sentence('mail.begins_tls');
const BEGINS_PLAIN = sentence('mail.begins_plain');

/**
 * A server that expects TLS from the first byte waits for it in silence, until the time for a step
 * is over. `found` rejects once another connection has shown that.
 */
function watchSilence(
  connection: SMTPConnection,
  {
    server,
    socket,
    address,
    probe,
  }: { server: MailServer; socket: Socket; address: string; probe: Parameters<typeof mailPortBegins>[2] },
): { found: Promise<never>; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const found = new Promise<never>((_, reject) => {
    if (server.tls === 'implicit') return;
    timer = setTimeout(async () => {
      const isSilent = socket.bytesRead === 0 && !connection.secure;
      if (isSilent && (await mailPortBegins({ address, port: server.port }, 'tls', probe))) {
        reject(new Refusal(BEGINS_TLS, { cause: 'greeting' }));
      }
    }, SILENCE_MS);
  });
  // Nothing may wait for it any more.
  found.catch(() => {});
  return { found, stop: () => clearTimeout(timer) };
}

type SmtpSession = {
  server: MailServer;
  /** Rejects when the server waits for TLS that the settings do not begin with. */
  waitsForTls: Promise<never>;
  isPrivate: boolean;
  written: WrittenMail;
  wholeMs: number;
  done: (step: MailStep['step'], said: Sentence) => void;
};

/** One of our own rules ended the conversation. */
class Refusal extends SentenceError {}

async function converse(connection: SMTPConnection, session: SmtpSession): Promise<void> {
  const { server, isPrivate, written, done } = session;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const broken = new Promise<never>((_, reject) => {
    connection.on('error', reject);
    connection.once('end', () => reject(codedError('ECONNECTION')));
    timer = setTimeout(() => reject(codedError('ETIMEDOUT')), session.wholeMs);
  });
  // It may reject when nothing waits for it any more.
  broken.catch(() => {});
  /** One step of the conversation; a broken connection ends it too. */
  const step = <T>(run: (settle: (error?: Error | null, value?: T) => void) => void): Promise<T | undefined> =>
    Promise.race([
      new Promise<T | undefined>((resolve, reject) => run((error, value) => (error ? reject(error) : resolve(value)))),
      broken,
      session.waitsForTls,
    ]);

  try {
    await step((settle) => connection.connect(settle));
    done('greeting', sentence('mail.greeting'));
    done(
      'tls',
      connection.secure
        ? sentence(server.skipVerify ? 'mail.encrypted_unchecked' : 'mail.encrypted')
        : sentence('mail.clear'),
    );
    if (server.account !== '') {
      if (!connection.secure && !isPrivate) {
        throw new Refusal(sentence('mail.password_kept'));
      }
      if (!connection.allowsAuth && !server.forceAuthLogin) {
        throw new Refusal(sentence('mail.no_login'));
      }
      await step((settle) =>
        connection.login(
          {
            user: server.account,
            pass: server.password,
            ...(server.forceAuthLogin ? { method: 'LOGIN' } : {}),
          },
          settle,
        ),
      );
      done('login', sentence('mail.logged_in'));
    }
    await step((settle) => connection.send({ from: written.from, to: [written.to] }, written.message, settle));
    done('send', sentence('mail.sent'));
  } finally {
    clearTimeout(timer);
  }
}

const codedError = (code: string): Error => Object.assign(new Error(code), { code });

type SmtpError = { code?: unknown; command?: unknown; response?: unknown; responseCode?: unknown };

/**
 * Explains a failed conversation. Quotes the server's reply with every form of the password
 * redacted.
 */
function explain(error: unknown, steps: readonly MailStep[], server: MailServer): [MailFailure, Sentence] {
  const passed = new Set(steps.map(({ step }) => step));
  if (error instanceof Refusal) {
    const isMode = error.cause === 'greeting';
    return [{ step: isMode ? 'greeting' : 'login', permanent: !isMode, reply: 0 }, toSentence(error)];
  }

  const { code, command, response, responseCode } = error as SmtpError;
  const reply = typeof responseCode === 'number' ? responseCode : 0;
  const step = !passed.has('greeting')
    ? code === 'ETLS' || code === 'ESOCKET'
      ? 'tls'
      : 'greeting'
    : server.account !== '' && !passed.has('login')
      ? 'login'
      : 'send';
  const words = typeof response === 'string' && response !== '' ? quote(response, server) : '';
  const withWords = (fault: Sentence) => (words === '' ? fault : sentence('mail.said', { fault, words }));
  const failure = { step, permanent: reply >= 500, reply } as const;
  if (code === 'ETIMEDOUT') return [failure, sentence('mail.late')];
  // 500 and 502: the server knows no EHLO, whatever name it is given.
  if (step === 'greeting' && reply > 0 && reply !== 500 && reply !== 502) {
    const isName = command === 'EHLO' || command === 'HELO' || command === 'LHLO';
    return [failure, withWords(isName ? NAME_REFUSED : CONNECTION_REFUSED)];
  }
  return [failure, withWords(step === 'tls' ? readTlsFault(error) : MEANING[step])];
}

const NAME_REFUSED = sentence('mail.name_refused');
const CONNECTION_REFUSED = sentence('mail.connection_refused');
const MEANING = {
  greeting: sentence('mail.no_greeting'),
  login: sentence('mail.login_refused'),
  send: sentence('mail.refused'),
} as const;

/** The TLS library's message names the certificate's fault and no secret. */
function readTlsFault(error: unknown): Sentence {
  const words = error instanceof Error ? sanitizeMessage(error.message, MAX_QUOTED) : '';
  return words === '' ? sentence('mail.no_tls') : sentence('mail.no_tls_because', { words });
}

/** Redacts the password as text, in base64, and in base64 as AUTH PLAIN sends it. */
function quote(response: string, { account, password }: MailServer): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const secrets = password === '' ? [] : [password, base64(password), base64(`\0${account}\0${password}`)];
  return sanitizeMessage(redactSecrets(response, secrets), MAX_QUOTED);
}
