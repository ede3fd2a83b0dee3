import { boolean, endpoint, integer, isHost, type OptionRules, secret, text } from './option-rule.ts';

/** `gate@example.org` or `Our gate <gate@example.org>`. */
const SENDER = /^(?:[^<>@,;"\\]{1,100} <([^<>]+)>|([^<>]+))$/;
const ADDRESS = /^[^\s@<>(),;:"\\[\]]{1,64}@[A-Za-z0-9.-]{1,253}$/;

const isSender = (value: string): boolean => {
  const [, named, bare] = SENDER.exec(value) ?? [];
  return ADDRESS.test(named ?? bare ?? '');
};

export const mailOptions = {
  SMTPServer: {
    proof: 'settings.security',
    ...text('', (value) => value === '' || isHost(value), 'a host name or an IP address without port, or nothing'),
  },
  /** 587 with STARTTLS, 465 with TLS from the first byte. */
  SMTPPort: { proof: 'settings.security', ...integer(587, 1, 65_535) },
  /** The user name. Empty: the server accepts mail without a login. */
  SMTPAccount: { proof: 'settings.security', ...text('') },
  SMTPToken: { proof: 'settings.security', ...secret('the password of SMTPAccount') },
  /** The sender of all mails. */
  SMTPFrom: {
    proof: 'settings.security',
    ...text(
      '',
      (value) => value === '' || isSender(value),
      'a mail address (gate@example.org), or a name and a mail address (Our gate <gate@example.org>), or nothing',
    ),
  },
  /** TLS from the first byte. */
  SMTPSSLEnabled: { proof: 'settings.security', ...boolean(false) },
  /** STARTTLS is required: nothing is sent before TLS has begun. */
  SMTPStartTLSEnabled: { proof: 'settings.security', ...boolean(false) },
  /** Accepts any certificate: for own servers with self-signed certificates. */
  SMTPInsecureSkipVerify: { proof: 'settings.security', ...boolean(false) },
  /** Uses AUTH LOGIN even if the server does not offer it. */
  SMTPForceAuthLogin: { proof: 'settings.security', ...boolean(false) },
  /**
   * What the gateway calls itself in EHLO. Empty: the host of ServerAddress, or the sender's
   * domain.
   */
  SMTPHelloName: {
    proof: 'settings.security',
    ...text('', (value) => value === '' || isHost(value), 'a host name or an IP address without port, or nothing'),
  },
} satisfies OptionRules;

/** As Standard Webhooks writes secrets: 24 to 64 bytes in base64. */
const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;

const signingSecret = () => {
  const rule = secret('the secret that signs webhooks');
  return {
    ...rule,
    check: (value: string) =>
      rule.check(value) ??
      (value === '' || SIGNING_SECRET.test(value) ? undefined : 'whsec_ and 24 to 64 bytes in base64, or nothing'),
  };
};

export const alertOptions = {
  /** Whether administrators are mailed when a channel begins to fail. */
  'alerts.failing_channels': { proof: 'none', ...boolean(true) },
  /** Whether users may be warned of a low balance. */
  'alerts.low_balance': { proof: 'none', ...boolean(true) },
  /** The threshold of users who chose none, in quota; 0: they are not warned. */
  'alerts.low_balance_default': { proof: 'none', ...integer(0, 0, 999_999_999_999_999) },
  /** Where the operator's webhooks go. */
  'alerts.webhook_url': { proof: 'settings.security', ...endpoint('') },
  'alerts.webhook_secret': { proof: 'settings.security', ...signingSecret() },
  /** Whether balance.low of users goes there too. */
  'alerts.webhook_balances': { proof: 'none', ...boolean(false) },
} satisfies OptionRules;
