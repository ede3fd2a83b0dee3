import { afterEach, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { ok } from '../../src/kernel/index.ts';
import { createSendMail, type Mail, type MailOutcome, type MailServer, parseProxy } from '../../src/upstream/index.ts';
import { openMailSocket } from '../../src/upstream/mail/open-mail-socket.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { startProxy } from '../support/outbound-proxy.ts';
import { MAIL_CERTIFICATE, type MailServerOptions, startBadServer, startMailServer } from '../support/smtp.ts';

const MAIL: Mail = {
  from: 'Our gate <gate@example.org>',
  to: 'you@example.net',
  subject: 'Hello 你好',
  text: 'Plain words — 纯文本',
  html: '<p>Rich words — 富文本</p>',
};
const ACCOUNT = { user: 'gate', password: 's3cret-of-the-mailbox' };

const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.stop();
});

async function openServer(options: MailServerOptions = {}) {
  const server = await startMailServer(options);
  opened.push(server);
  return server;
}
async function openBad(answer: (socket: Socket) => void) {
  const server = await startBadServer(answer);
  opened.push(server);
  return server;
}

const at = ({ port }: { port: number }, change: Partial<MailServer> = {}): MailServer => ({
  host: '127.0.0.1',
  port,
  account: '',
  password: '',
  tls: 'opportunistic',
  skipVerify: false,
  forceAuthLogin: false,
  ...change,
});
const trusting = createSendMail({ trustedCertificates: [MAIL_CERTIFICATE] });
const hasty = createSendMail({ stepMs: 200, wholeMs: 600 });

const names = ({ steps }: MailOutcome) => steps.map(({ step, ok }) => (ok ? step : `${step} failed`));
const lastMessage = ({ steps }: MailOutcome) => steps.at(-1)?.message ?? '';

describe('mail that arrives', () => {
  test('carries sender with name, recipient, subject, text and HTML in any script', async () => {
    const server = await openServer();
    const outcome = await trusting(at(server), MAIL);
    expect(outcome.failure).toBeUndefined();
    expect(names(outcome)).toEqual(['resolve', 'connect', 'greeting', 'tls', 'send']);
    const mail = await server.next();
    expect(mail).toMatchObject({
      envelopeFrom: 'gate@example.org',
      recipients: ['you@example.net'],
      subject: MAIL.subject,
    });
    expect(mail.headers.from).toEqual(['Our gate <gate@example.org>']);
    expect(mail.headers.to).toEqual(['you@example.net']);
    expect(mail.headers['auto-submitted']).toEqual(['auto-generated']);
    expect(mail.headers['message-id']).toHaveLength(1);
    expect(mail.headers.date).toHaveLength(1);
    expect(mail.text.trim()).toBe(MAIL.text);
    expect(mail.html.trim()).toBe(MAIL.html);
  });

  for (const [mode, tls] of [
    ['implicit', 'implicit'],
    ['starttls', 'starttls'],
    ['starttls', 'opportunistic'],
  ] as const) {
    test(`logs in under TLS: server ${mode}, client ${tls}`, async () => {
      const server = await openServer({ tls: mode, account: ACCOUNT });
      for (const host of ['localhost', '127.0.0.1']) {
        const outcome = await trusting(
          at(server, { host, tls, account: ACCOUNT.user, password: ACCOUNT.password }),
          MAIL,
        );
        expect(names(outcome)).toEqual(['resolve', 'connect', 'greeting', 'tls', 'login', 'send']);
        expect(await server.next()).toMatchObject({ secure: true, user: ACCOUNT.user });
      }
      expect(server.logins.every(({ secure }) => secure)).toBe(true);
    });
  }

  test('AUTH LOGIN where it is forced, the first that is offered otherwise', async () => {
    const server = await openServer({ account: ACCOUNT });
    const account = { account: ACCOUNT.user, password: ACCOUNT.password };
    await trusting(at(server, account), MAIL);
    await trusting(at(server, { ...account, forceAuthLogin: true }), MAIL);
    expect(server.logins.map(({ method }) => method)).toEqual(['PLAIN', 'LOGIN']);
    expect(server.mails).toHaveLength(2);
  });

  test('a sender without a name', async () => {
    const server = await openServer();
    await trusting(at(server), { ...MAIL, from: 'gate@example.org' });
    expect((await server.next()).headers.from).toEqual(['gate@example.org']);
  });
});

test.each(['http', 'https', 'socks5h'] as const)(
  'a mail leaves through a proxy with %s, by the server’s name',
  async (scheme) => {
    const key = readFileSync(new URL('./certificates/server-key.pem', import.meta.url), 'utf8');
    const login = { user: 'gate', password: 'secret' };
    const proxy = await startProxy({ scheme, login, tls: { key, cert: MAIL_CERTIFICATE } });
    opened.push(proxy);
    const server = await openServer({ tls: 'starttls' });
    const parsed = parseProxy(proxy.url);
    const send = createSendMail({
      ...(parsed.ok ? { proxy: parsed.value } : {}),
      authorities: [MAIL_CERTIFICATE],
      resolve: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
    });
    const outcome = await send(at(server, { host: 'localhost' }), MAIL);
    expect(outcome.failure).toBeUndefined();
    expect(await server.next()).toMatchObject({ secure: true });
    expect(proxy.asked).toEqual([`localhost:${server.port}`]);
    expect(JSON.stringify(outcome)).not.toContain(login.password);
  },
);

describe('header injection', () => {
  for (const [what, change] of Object.entries<Partial<Mail>>({
    'a line break in the recipient': { to: 'you@example.net\r\nBcc: victim@example.net' },
    'a line feed in the recipient': { to: 'you@example.net\nBcc: victim@example.net' },
    'two recipients': { to: 'you@example.net, victim@example.net' },
    'a recipient with a name': { to: 'You <you@example.net>' },
    'an SMTP parameter after the recipient': { to: 'you@example.net> NOTIFY=NEVER' },
    'a quoted local part': { to: '"you@example.net"@example.net' },
    'a recipient in another script': { to: 'yоu@example.net' },
    'a line break in the sender': { from: 'Gate\r\nBcc: victim@example.net <gate@example.org>' },
    'a line break in the address of the sender': { from: 'Gate <gate@example.org\r\nBcc: victim@example.net>' },
    'a line break in the subject': { subject: 'Hello\r\nBcc: victim@example.net' },
    'a line separator in the subject': { subject: 'Hello\u2028Bcc: victim@example.net' },
    'a NUL in the subject': { subject: 'Hello\0' },
  })) {
    test(`${what} is refused before anything is sent`, async () => {
      const server = await openServer();
      const outcome = await trusting(at(server), { ...MAIL, ...change });
      expect(outcome.failure).toEqual({ step: 'send', permanent: true, reply: 0 });
      expect(server.connections()).toBe(0);
      expect(JSON.stringify(outcome)).not.toContain('victim');
    });
  }

  test('text that looks like headers or ends of emails stays in the body', async () => {
    const server = await openServer();
    const text = 'first\r\n.\r\nMAIL FROM:<evil@example.net>\r\n\r\nBcc: victim@example.net';
    await trusting(at(server), { ...MAIL, text, html: `<p>${text}</p>` });
    const mail = await server.next();
    expect(mail.headers.bcc).toBeUndefined();
    expect(mail.text).toContain('MAIL FROM:<evil@example.net>');
    expect(server.mails).toHaveLength(1);
  });
});

describe('TLS and the password', () => {
  const account = { account: ACCOUNT.user, password: ACCOUNT.password };

  test('downgrade: where STARTTLS is asked for, a server without it gets nothing', async () => {
    const server = await openServer({ tls: 'none', account: ACCOUNT });
    const outcome = await trusting(at(server, { ...account, tls: 'starttls' }), MAIL);
    expect(names(outcome).at(-1)).toBe('tls failed');
    expect(server.logins).toEqual([]);
    expect(server.mails).toEqual([]);
  });

  for (const tls of ['implicit', 'starttls', 'opportunistic'] as const) {
    test(`a certificate that nobody vouches for ends the conversation (${tls}), unless it is not to be checked`, async () => {
      const server = await openServer({ tls: tls === 'implicit' ? 'implicit' : 'starttls', account: ACCOUNT });
      const strict = createSendMail();
      const outcome = await strict(at(server, { ...account, tls }), MAIL);
      expect(names(outcome).at(-1)).toBe('tls failed');
      expect(server.logins).toEqual([]);
      const careless = await strict(at(server, { ...account, tls, skipVerify: true }), MAIL);
      expect(careless.failure).toBeUndefined();
      expect(await server.next()).toMatchObject({ secure: true });
    });

    test(`a certificate for another name ends the conversation (${tls})`, async () => {
      const server = await openServer({ tls: tls === 'implicit' ? 'implicit' : 'starttls', account: ACCOUNT });
      const send = createSendMail({
        trustedCertificates: [MAIL_CERTIFICATE],
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      });
      const outcome = await send(at(server, { ...account, tls, host: 'mail.example.org' }), MAIL);
      expect(names(outcome).at(-1)).toBe('tls failed');
      expect(server.logins).toEqual([]);
    });
  }

  test('a server in a public network without TLS gets no password, whatever mechanism is forced', async () => {
    const server = await openServer({ tls: 'none', account: ACCOUNT });
    const far = createSendMail({
      async open(addresses, port, options) {
        const opened = await openMailSocket(addresses, port, options);
        return opened.ok ? ok({ ...opened.value, address: '1.1.1.1' }) : opened;
      },
    });
    for (const forceAuthLogin of [false, true]) {
      const outcome = await far(at(server, { ...account, forceAuthLogin }), MAIL);
      expect(outcome.failure).toEqual({ step: 'login', permanent: true, reply: 0 });
      expect(lastMessage(outcome)).toContain('The password was not sent');
    }
    expect(server.logins).toEqual([]);
    expect((await far(at(server), MAIL)).failure).toMatchObject({ step: 'send', reply: 530 });
  });

  test('a loopback server without TLS gets the password', async () => {
    const server = await openServer({ tls: 'none', account: ACCOUNT });
    expect((await trusting(at(server, account), MAIL)).failure).toBeUndefined();
    expect(server.logins).toMatchObject([{ secure: false }]);
  });

  test('a server that lies about an account shows no password in what it quotes', async () => {
    const quoted = [ACCOUNT.password, Buffer.from(ACCOUNT.password).toString('base64')].join(' and ');
    const server = await openServer({
      account: { ...ACCOUNT, password: 'another' },
      loginRefusal: `You sent ${quoted}`,
    });
    const outcome = await trusting(at(server, account), MAIL);
    expect(outcome.failure).toEqual({ step: 'login', permanent: true, reply: 535 });
    expect(lastMessage(outcome)).toContain('You sent [redacted] and [redacted]');
    expect(JSON.stringify(outcome)).not.toContain(ACCOUNT.password);
  });

  test('a server without login says so', async () => {
    const outcome = await trusting(at(await openServer(), account), MAIL);
    expect(outcome.failure).toEqual({ step: 'login', permanent: true, reply: 0 });
    expect(lastMessage(outcome)).toContain('offers no sign-in');
  });
});

describe('addresses of mail servers', () => {
  const resolvingTo = (...addresses: string[]) =>
    createSendMail({
      trustedCertificates: [MAIL_CERTIFICATE],
      resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    });

  for (const address of ['169.254.169.254', '0.0.0.0', '100.100.100.200', 'fe80::1', '::ffff:169.254.169.254']) {
    test(`SSRF: ${address} is closed, as itself and behind a name`, async () => {
      for (const outcome of [
        await resolvingTo(address)(at({ port: 25 }, { host: 'mail.example.org' }), MAIL),
        await resolvingTo('127.0.0.1', address)(at({ port: 25 }, { host: 'mail.example.org' }), MAIL),
        await hasty(at({ port: 25 }, { host: address }), MAIL),
      ]) {
        expect(outcome.failure).toEqual({ step: 'resolve', permanent: true, reply: 0 });
      }
    });
  }

  test('a name whose first address is dead is reached at the next one', async () => {
    const server = await openServer();
    const outcome = await resolvingTo('127.0.0.99', '127.0.0.1')(at(server, { host: 'localhost' }), MAIL);
    expect(outcome.failure).toBeUndefined();
  });

  test('a name that does not resolve', async () => {
    const send = createSendMail({ resolve: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })) });
    const outcome = await send(at({ port: 25 }, { host: 'nowhere.example.org' }), MAIL);
    expect(outcome.failure).toEqual({ step: 'resolve', permanent: false, reply: 0 });
    expect(lastMessage(outcome)).toContain('ENOTFOUND');
  });
});

describe('servers in trouble', () => {
  test('a closed port', async () => {
    // Nobody has this one, while a port that was just let go may be somebody else's by now.
    const outcome = await trusting(at({ port: 1 }), MAIL);
    expect(outcome.failure).toEqual({ step: 'connect', permanent: false, reply: 0 });
    expect(lastMessage(outcome)).toContain('ECONNREFUSED');
  });

  test('a recipient that is refused permanently, and one that is refused temporarily', async () => {
    const good = await openServer({ refuse: { code: 550, message: 'no such mailbox' } });
    expect(await trusting(at(good), MAIL)).toMatchObject({ failure: { step: 'send', permanent: true, reply: 550 } });
    const now = await openServer({ refuse: { code: 450, message: 'grey-listed' } });
    expect(await trusting(at(now), MAIL)).toMatchObject({ failure: { step: 'send', permanent: false, reply: 450 } });
  });

  test('a port that begins with TLS, and one that begins without, are told within two seconds', async () => {
    const [withTls, without] = [await openServer({ tls: 'implicit' }), await openServer({ tls: 'starttls' })];
    for (const tls of ['opportunistic', 'starttls'] as const) {
      const lived = startLivedTime();
      const outcome = await trusting(at(withTls, { tls }), MAIL);
      expect(outcome.failure).toEqual({ step: 'greeting', permanent: false, reply: 0 });
      expect(lastMessage(outcome)).toContain(
        'This port begins with TLS, but the settings do not: turn on SMTPSSLEnabled',
      );
      expect(lived.stop()).toBeLessThan(2500);
    }
    const outcome = await trusting(at(without, { tls: 'implicit' }), MAIL);
    expect(outcome.failure).toEqual({ step: 'tls', permanent: false, reply: 0 });
    expect(lastMessage(outcome)).toContain(
      'This port begins without TLS, but the settings begin with it: turn off SMTPSSLEnabled',
    );
  });

  test('a server that greets late is waited for', async () => {
    const late = await openBad((socket) => setTimeout(() => socket.end('554 busy\r\n'), 2000));
    expect(lastMessage(await trusting(at(late), MAIL))).toContain(
      'The server refuses connections from here. The server\'s response: "554 busy"',
    );
  });

  test('a server without STARTTLS that knows no EHLO is not said to refuse a name', async () => {
    const old = await openBad((socket) => {
      socket.write('220 old\r\n');
      socket.on('data', (line) => socket.write(`${line}`.startsWith('EHLO') ? '502 unknown\r\n' : '250 ok\r\n'));
    });
    const outcome = await trusting(at(old, { tls: 'starttls' }), MAIL);
    expect(lastMessage(outcome)).toContain('The server does not speak SMTP in this mode on this port');
    expect(lastMessage(outcome)).toContain('502 unknown');
  });

  test('the gateway introduces itself by its own name, and a refusal of that name is reported as such', async () => {
    const said: string[] = [];
    const picky = await openBad((socket) => {
      socket.write('220 picky\r\n');
      socket.on('data', (line) => {
        said.push(String(line).trim());
        socket.write('501 5.5.4 Invalid HELO name\r\n');
      });
    });
    const outcome = await trusting(at(picky, { ownName: 'gate.example.org' }), MAIL);
    expect(said.slice(0, 2)).toEqual(['EHLO gate.example.org', 'HELO gate.example.org']);
    expect(outcome.failure).toMatchObject({ step: 'greeting', reply: 501 });
    expect(lastMessage(outcome)).toContain('The server refuses the name by which the gateway introduces itself.');
    expect(lastMessage(outcome)).toContain('501 5.5.4 Invalid HELO name');
  });

  const bad: Record<string, (socket: Socket) => void> = {
    'hangs at once': () => {},
    'hangs after the greeting': (socket) => socket.write('220 hello\r\n'),
    'closes at once': (socket) => socket.end(),
    'answers in HTTP': (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    'answers garbage': (socket) => socket.write(Buffer.alloc(4096, 0xff)),
    'sends an endless line': (socket) => {
      const pour = () => {
        while (!socket.destroyed && socket.write('2'.repeat(65_536)));
      };
      socket.on('drain', pour);
      pour();
    },
    drips: (socket) => {
      const timer = setInterval(() => socket.write('220-wait\r\n'), 50);
      socket.on('close', () => clearInterval(timer));
    },
  };
  for (const [what, answer] of Object.entries(bad)) {
    test(`the client leaves a server that ${what} in time`, async () => {
      const server = await openBad(answer);
      for (const tls of ['opportunistic', 'implicit'] as const) {
        const lived = startLivedTime();
        const outcome = await hasty(at(server, { tls }), MAIL);
        expect(outcome.failure).toMatchObject({ permanent: false });
        expect(lived.stop()).toBeLessThan(2500);
      }
    });
  }
});
