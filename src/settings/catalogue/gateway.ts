/**
 * The gateway's name and addresses, `maintenance.`, `branding.`, `legal.`, mail (`SMTP…`), and
 * `alerts.`.
 */
import { isLogoImage } from './logo-image.ts';
import {
  baseAddress,
  boolean,
  endpoint,
  integer,
  isHost,
  longText,
  MAX_TEXT,
  type OptionKind,
  type OptionRules,
  originAddress,
  secret,
  text,
} from './option-rule.ts';

export const gatewayOptions = {
  /** The gateway's name in the panel, in emails, authenticator apps and passkey dialogs. */
  SystemName: {
    proof: 'none',
    ...text('Taskgate', (value) => value.trim() !== '', `one line of 1 to ${MAX_TEXT} visible characters`),
  },
  /** The address at which people reach the gateway; links in answers and emails begin with it. */
  ServerAddress: { proof: 'settings.security', ...originAddress() },
  /** The address at which vendors and clients fetch artifacts, if it differs. */
  TaskPublicAddress: { proof: 'settings.security', ...baseAddress('') },
} satisfies OptionRules;

/** While it is on, submissions are refused; tasks go on. */
export const maintenanceOptions = {
  'maintenance.enabled': { proof: 'none', ...boolean(false) },
  /** What clients are told, with the error. */
  'maintenance.message': {
    proof: 'none',
    ...text(
      "We're doing maintenance. Running tasks will finish; please try again in a few minutes.",
      (value) => value.trim() !== '',
      `one line of 1 to ${MAX_TEXT} visible characters`,
    ),
  },
  'maintenance.retry_after_seconds': { proof: 'none', ...integer(300, 1, 86_400) },
} satisfies OptionRules;

/** A data URL of 64 KiB in Base64 is shorter. */
const MAX_LOGO_TEXT = 90_000;
const MAX_NOTICE = 5000;

/**
 * A picture is stored as a data URL. Only PNG is taken: it is drawn the same everywhere and cannot
 * execute or load anything.
 */
const logo: OptionKind<'text'> = {
  type: 'text',
  default: '',
  bounds: { max_length: MAX_LOGO_TEXT },
  check: (value) =>
    value === '' || (value.length <= MAX_LOGO_TEXT && isLogoImage(value))
      ? undefined
      : 'a data URL of a still PNG image of at most 64 KiB and 512 pixels a side, or nothing',
};

/** How the panel looks and what it tells everybody. */
export const brandingOptions = {
  'branding.logo': { proof: 'none', ...logo },
  /** Shades of it that can be read are computed in the browser. */
  'branding.accent': {
    proof: 'none',
    ...text('', (value) => value === '' || /^#[0-9a-f]{6}$/i.test(value), 'a colour such as #0b784d, or nothing'),
  },
  'branding.notice': { proof: 'none', ...longText(MAX_NOTICE) },
  'branding.balance_hint': { proof: 'none', ...text('') },
} satisfies OptionRules;

const MAX_DOCUMENT = 100_000;

/** The texts people agree to when they create an account. Empty: they are not asked. */
export const legalOptions = {
  'legal.user_agreement': { proof: 'none', ...longText(MAX_DOCUMENT) },
  'legal.privacy_policy': { proof: 'none', ...longText(MAX_DOCUMENT) },
} satisfies OptionRules;

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
  /** The username. Empty: the server accepts mail without one. */
  SMTPAccount: { proof: 'settings.security', ...text('') },
  SMTPToken: { proof: 'settings.security', ...secret('the password of SMTPAccount') },
  /** The sender of all emails. */
  SMTPFrom: {
    proof: 'settings.security',
    ...text(
      '',
      (value) => value === '' || isSender(value),
      'an email address (gate@example.org), or a name and an email address (Our gate <gate@example.org>), or nothing',
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

/** Standard Webhooks writes secrets like this: 24 to 64 bytes in Base64. */
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
