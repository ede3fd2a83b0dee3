import type { Auth, AuthSettings } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import type { Mail, SendMail } from '../../src/upstream/index.ts';
import { until } from '../support/until.ts';
import { type ORIGIN, openAuth, originFor, testSettings } from './harness.ts';

const MAIL_SERVER: NonNullable<AuthSettings['mail']> = {
  host: 'mail.example.org',
  port: 587,
  account: '',
  password: '',
  from: 'Our gate <gate@example.org>',
  tls: 'starttls',
  skipVerify: false,
  forceAuthLogin: false,
};

/** Registration is open, addresses are confirmed, emails can be sent. */
export const mailSettings = (change: Partial<AuthSettings> = {}): AuthSettings => {
  const settings = testSettings();
  return {
    ...settings,
    serverAddress: 'https://gate.example.org',
    registration: { ...settings.registration, enabled: true, verifyEmail: true },
    mail: MAIL_SERVER,
    ...change,
  };
};

export type Mailbox = {
  sendMail: SendMail;
  mails: Mail[];
  /** The next unread mail to this address. */
  next(to: string): Promise<Mail>;
};

/** A mail server that accepts everything. */
function createMailbox(): Mailbox {
  const mails: Mail[] = [];
  const taken = new Set<Mail>();
  return {
    mails,
    async sendMail(_server, mail) {
      mails.push(mail);
      return { steps: [] };
    },
    async next(to) {
      const find = () => mails.find((mail) => mail.to === to && !taken.has(mail));
      await until(() => find() !== undefined);
      const mail = find();
      if (!mail) throw new Error('no mail');
      taken.add(mail);
      return mail;
    },
  };
}

export const codeIn = ({ text }: Mail): string => /^ {4}(\d{8})$/m.exec(text)?.[1] ?? '';
export const tokenIn = ({ text }: Mail): string => /[?&]token=([\w-]{43})(?:\s|$)/.exec(text)?.[1] ?? '';

let people = 0;
/** An unused address and username. */
export function newPerson(): { email: string; username: string } {
  people += 1;
  return { email: `person-${people}@example.net`, username: `person-${people}` };
}

let clients = 0;
/** A client with its own address, so that limits of others do not count for it. */
export function newOrigin(): typeof ORIGIN {
  clients += 1;
  return originFor(`198.51.${Math.floor(clients / 250)}.${(clients % 250) + 1}`);
}

/** The auth room of a node whose mailbox accepts everything. */
export function openMailAuth(
  store: Store,
  options: Pick<
    NonNullable<Parameters<typeof openAuth>[1]>,
    'settings' | 'clock' | 'config' | 'logger' | 'costlyPasswords'
  > & {
    mailbox?: Mailbox;
  } = {},
): { auth: Auth; mailbox: Mailbox } {
  const mailbox = options.mailbox ?? createMailbox();
  const settings = options.settings ?? (() => mailSettings());
  return { auth: openAuth(store, { ...options, settings, sendMail: mailbox.sendMail }), mailbox };
}

/** A different code of the same form. */
export const otherCode = (code: string): string => String((Number(code) + 1) % 100_000_000).padStart(8, '0');
