import { isStillPng } from './is-still-png.ts';
import {
  baseAddress,
  boolean,
  integer,
  longText,
  MAX_TEXT,
  type OptionKind,
  type OptionRules,
  originAddress,
  text,
} from './option-rule.ts';

export const gatewayOptions = {
  /** The gateway's name in the panel, in mails, authenticator apps and passkey dialogs. */
  SystemName: {
    proof: 'none',
    ...text('Taskgate', (value) => value.trim() !== '', `one line of 1 to ${MAX_TEXT} visible characters`),
  },
  /** The address at which people reach the gateway; links in answers and mails begin with it. */
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
      'The gateway is closed for maintenance. Tasks that run go on; try again later.',
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
    value === '' || (value.length <= MAX_LOGO_TEXT && isStillPng(value))
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
