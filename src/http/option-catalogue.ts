import { isObject, parseJson } from '../kernel/index.ts';

/** A setting that an administrator edits. Values are stored as texts; `check` says what is wrong with one. */
export type OptionRule = {
  type: 'text' | 'url' | 'choice' | 'boolean' | 'integer' | 'json';
  default: string;
  check(value: string): string | undefined;
};

const MAX_TEXT = 200;

const address: OptionRule = {
  type: 'url',
  default: '',
  check(value) {
    if (value === '') return undefined;
    const url = URL.canParse(value) ? new URL(value) : undefined;
    const plain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
    return plain ? undefined : 'an absolute http or https address without credentials, query and fragment, or nothing';
  },
};

const boolean = (initial: boolean): OptionRule => ({
  type: 'boolean',
  default: String(initial),
  check: (value) => (value === 'true' || value === 'false' ? undefined : 'true or false'),
});

const integer = (initial: number, low: number, high: number): OptionRule => ({
  type: 'integer',
  default: String(initial),
  check: (value) =>
    /^\d{1,15}$/.test(value) && Number(value) >= low && Number(value) <= high
      ? undefined
      : `a whole number from ${low} to ${high}`,
});

const oneOf = (choices: readonly [string, ...string[]], wanted: string): OptionRule => ({
  type: 'choice',
  default: choices[0],
  check: (value) => (choices.includes(value) ? undefined : wanted),
});

const DOMAIN_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_DOMAIN = 253;
const MAX_ORIGINS = 20;

/** A host name in the form that browsers give it; what ends in a number is an address to them. */
const isDomain = (value: string): boolean => {
  const labels = value.split('.');
  const isName = labels.every((label) => DOMAIN_LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  return isName && value.length <= MAX_DOMAIN;
};

/** Exactly what a browser sends as `Origin` from a page of a named host. */
const isOrigin = (value: string): boolean => {
  if (!/^https?:/.test(value) || !URL.canParse(value)) return false;
  const { origin, hostname } = new URL(value);
  return origin === value && isDomain(hostname);
};

/** Most requests that a limit of model requests can name: each success up to it is kept as a time. */
const MAX_MODEL_REQUESTS = 1_000_000;
const MINUTES_OF_A_DAY = 1440;
const MAX_GROUPS = 1000;

const isModelLimit = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length === 2 &&
  value.every((count, i) => Number.isInteger(count) && count >= i && count <= MAX_MODEL_REQUESTS);

/** Every option that exists; no other key can be written. */
export const OPTION_CATALOGUE: Readonly<Record<string, OptionRule>> = {
  SystemName: {
    type: 'text',
    default: 'Taskgate',
    check: (value) => (value.trim() !== '' && value.length <= MAX_TEXT ? undefined : `1 to ${MAX_TEXT} characters`),
  },
  /** Where people reach the gateway; links in answers and mails begin with it. */
  ServerAddress: address,
  /** Where vendors and clients fetch artifacts, if that is elsewhere. */
  TaskPublicAddress: address,
  /** Who may use models without a price. */
  'billing.unpriced': oneOf(['admins', 'everyone', 'nobody'], 'admins, everyone or nobody'),
  /** Group name to price ratio. */
  groups: {
    type: 'json',
    default: '{"default":1}',
    check(value) {
      const groups = parseJson(value);
      const valid =
        isObject(groups) &&
        Object.entries(groups).every(
          ([name, ratio]) =>
            /^[\w.-]{1,64}$/.test(name) && typeof ratio === 'number' && Number.isFinite(ratio) && ratio >= 0,
        );
      return valid ? undefined : 'a JSON object of group names (letters, digits, . _ -) to ratios of at least 0';
    },
  },
  /** Whether passkeys can be made and used; while they are off, their owners can still rename and delete them. */
  'passkey.enabled': boolean(true),
  /** What passkey dialogs call the gateway; nothing: the system name. */
  'passkey.rp_display_name': {
    type: 'text',
    default: '',
    check: (value) => (value.length <= MAX_TEXT ? undefined : `at most ${MAX_TEXT} characters`),
  },
  /** The domain that passkeys belong to; nothing: the host of ServerAddress. Passkeys made for another domain cannot be used. */
  'passkey.rp_id': {
    type: 'text',
    default: '',
    check: (value) =>
      value === '' || isDomain(value)
        ? undefined
        : "a domain in lower case, the panel's own host or one above it (example.org for https://panel.example.org), without scheme and port, or nothing",
  },
  /** The pages on which passkeys can be used; nothing: the origin of ServerAddress. */
  'passkey.origins': {
    type: 'text',
    default: '',
    check(value) {
      const origins = value.split(',').map((origin) => origin.trim());
      return value === '' || (origins.length <= MAX_ORIGINS && origins.every(isOrigin))
        ? undefined
        : `a comma list of at most ${MAX_ORIGINS} exact origins in lower case (https://panel.example.org, with a port if it is not the usual one, without slash at the end), or nothing`;
    },
  },
  /** Whether passkeys can be used on plain http pages other than localhost; few browsers take part. */
  'passkey.allow_insecure_origin': boolean(false),
  /** Whether an authenticator must recognise the person by PIN or body. */
  'passkey.user_verification': oneOf(['preferred', 'required', 'discouraged'], 'preferred, required or discouraged'),
  /** Which authenticators may hold a new passkey: this device, another one, or any. */
  'passkey.attachment_preference': oneOf(['', 'platform', 'cross-platform'], 'platform, cross-platform or nothing'),
  /** Whether the submissions of each user are counted at all. */
  ModelRequestRateLimitEnabled: boolean(false),
  ModelRequestRateLimitDurationMinutes: integer(1, 1, MINUTES_OF_A_DAY),
  /** Submissions of a user within that time, failed ones included; 0: any number. */
  ModelRequestRateLimitCount: integer(0, 0, MAX_MODEL_REQUESTS),
  /** Submissions of a user within that time that succeed. */
  ModelRequestRateLimitSuccessCount: integer(1000, 1, MAX_MODEL_REQUESTS),
  /** Other numbers for a group: its name to [all, successful]. */
  ModelRequestRateLimitGroup: {
    type: 'json',
    default: '{}',
    check(value) {
      const groups = parseJson(value);
      const valid =
        isObject(groups) && Object.keys(groups).length <= MAX_GROUPS && Object.values(groups).every(isModelLimit);
      return valid
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to [all, successful], whole numbers up to ${MAX_MODEL_REQUESTS}, the first at least 0, the second at least 1`;
    },
  },
};
