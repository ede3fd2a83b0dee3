/** Where mails are handed over. */
export type MailServer = {
  /**
   * A name or an IP address. Private addresses are allowed: whoever names the server is the
   * administrator.
   */
  host: string;
  port: number;
  /** Empty: no login. */
  account: string;
  password: string;
  /**
   * `implicit`: from the first byte; `starttls`: asked for, and nothing is sent without;
   * `opportunistic`: taken where offered.
   */
  tls: 'implicit' | 'starttls' | 'opportunistic';
  /** Takes any certificate. */
  skipVerify: boolean;
  /** AUTH LOGIN even where the server does not offer it. */
  forceAuthLogin: boolean;
};

export type Mail = {
  /** `gate@example.org` or `Our gate <gate@example.org>`. */
  from: string;
  /** One address, without a name. */
  to: string;
  /** One line. */
  subject: string;
  text: string;
  html: string;
};

/** What was done, in order. `message` is a plain sentence without credentials. */
export type MailStep = {
  step: 'resolve' | 'connect' | 'greeting' | 'tls' | 'login' | 'send';
  ok: boolean;
  message: string;
};

export type MailFailure = {
  step: MailStep['step'];
  /**
   * The same again would fail again: a refusal of ours or of the server, as opposed to trouble on
   * the way.
   */
  permanent: boolean;
  /** Of the server's reply; 0: there was none. */
  reply: number;
};

/** The last step is the one that failed, if any. */
export type MailOutcome = { steps: MailStep[]; failure?: MailFailure };

/** Hands one mail over to the server. Never rejects; takes less than a minute. */
export type SendMail = (server: MailServer, mail: Mail) => Promise<MailOutcome>;
