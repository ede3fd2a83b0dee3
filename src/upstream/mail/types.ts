import type { Sentence } from '../../kernel/index.ts';

/** The SMTP server that emails are submitted to. */
export type MailServer = {
  /**
   * A name or an IP address. Private addresses are allowed, because only administrators set the
   * server.
   */
  host: string;
  port: number;
  /** Empty: no login. */
  account: string;
  password: string;
  /**
   * `implicit`: TLS from the first byte. `starttls`: required, nothing is sent without it.
   * `opportunistic`: used if offered.
   */
  tls: 'implicit' | 'starttls' | 'opportunistic';
  /** Accepts any certificate. */
  skipVerify: boolean;
  /** Uses AUTH LOGIN even if the server does not offer it. */
  forceAuthLogin: boolean;
  /**
   * What the gateway calls itself in EHLO: a host name or an address in brackets. Some servers
   * refuse what this machine is called in a container. Absent: the name of this machine.
   */
  ownName?: string;
};

export type Mail = {
  /** `gate@example.org` or `Our gate <gate@example.org>`. */
  from: string;
  /** One address, without a name. */
  to: string;
  /** Names the email in its Message-ID, so that a repeated one is known; absent: a new name. */
  id?: string;
  /** One line. */
  subject: string;
  text: string;
  html: string;
};

/** A step of the conversation, in order. Its sentence has no credentials. */
export type MailStep = Sentence & {
  step: 'resolve' | 'connect' | 'greeting' | 'tls' | 'login' | 'send';
  ok: boolean;
};

export type MailFailure = {
  step: MailStep['step'];
  /**
   * Whether a retry would fail again: our rules or the server refused it, as opposed to a network
   * failure.
   */
  permanent: boolean;
  /** The code of the server's reply; 0: there was none. */
  reply: number;
};

/** The last step is the one that failed, if any. */
export type MailOutcome = { steps: MailStep[]; failure?: MailFailure };

/** Submits one email. Never rejects; takes less than a minute. */
export type SendMail = (server: MailServer, mail: Mail) => Promise<MailOutcome>;
