import type { MailWords } from './words/english.ts';

/** Says one sentence in the language of a mail. */
export type Say = (words: keyof MailWords, values?: Readonly<Record<string, string | number>>) => string;

/** Why an email is sent, with its data. */
export type MailContent =
  /** A code that confirms an address: for a new account, or for an account that exists. */
  | { kind: 'verify' | 'bind'; code: string; minutes: number }
  /** A registration was tried with an address that has an account already. */
  | { kind: 'account_exists'; loginUrl: string; resetUrl: string }
  | { kind: 'reset'; username: string; link: string; minutes: number }
  /** For administrators. `reason` is a sentence that is safe to send. */
  | { kind: 'backup_failed'; reason: string }
  /** No backup was made for this many hours. */
  | { kind: 'backup_overdue'; hours: number }
  /** For administrators. */
  | { kind: 'channel_failing'; channel: string; failed: number; ended: number }
  | BalanceLow
  | Notice
  | { kind: 'test' };

/** Warns a user. Money is quota. */
type BalanceLow = {
  kind: 'balance_low';
  username: string;
  balance: number;
  threshold: number;
  /** Who fills a balance, in the operator's words; empty: nothing is said. */
  hint: string;
  /** Where the user changes the threshold. */
  url: string;
};

/** Emails that wait in the database until they are sent: none has a code or a secret. */
export type StoredMail = Extract<
  MailContent,
  { kind: 'backup_failed' | 'backup_overdue' | 'channel_failing' | 'balance_low' }
>;

/** The parts of an email; all emails share one layout. */
export type MailText = {
  subject: string;
  lines: string[];
  /** Shown large, between `lines` and `after`. */
  code?: string;
  link?: { label: string; url: string };
  after: string[];
};

/** What happened to an account. */
export type NoticeSubject =
  | 'new_device'
  | 'password_changed'
  /** A mailed link was used for it. */
  | 'password_reset'
  | 'two_factor_enabled'
  | 'two_factor_disabled'
  | 'backup_codes_replaced'
  | 'passkey_added'
  | 'passkey_removed'
  | 'identity_bound'
  | 'identity_unbound'
  /** Both go to the address that the account had. */
  | 'address_changed'
  | 'address_removed'
  | 'personal_token_made'
  | 'personal_token_removed'
  /** Everything that signs in or confirms was removed, and the email address too. */
  | 'factors_removed';

/** `operator`: a person at the command line of the server. */
export type NoticeActor = 'owner' | 'administrator' | 'operator';

/** Tells the owner of an account what happened to it. */
export type Notice = {
  kind: 'notice';
  about: NoticeSubject;
  by: NoticeActor;
  username: string;
  /** Unix seconds. */
  at: number;
  /** The provider of an identity. */
  provider: string;
  /** Where the request came from, if known. */
  origin: NoticeOrigin | undefined;
  /** Further notices of this kind are suppressed for an hour. */
  last: boolean;
};

export type NoticeOrigin = {
  /** Browser and system; empty: unknown. */
  device: string;
  ip: string;
  /** The proxy that reported `ip`, if `TRUSTED_PROXIES` does not list it; else empty. */
  untrustedProxy: string;
};
