import { isIP } from 'node:net';
import { hasHiddenCharacters } from '../../kernel/index.ts';

/** `settings.security`: the option decides who can sign in, or where a secret or link goes. */
export type OptionProof = 'settings.security' | 'none';

/** What `POST /api/option/test` can try. */
export type OptionTrial = 'smtp' | 'webhook' | 'oidc' | 'turnstile' | 'wechat' | 'telegram';

/** All values are stored and sent as text. A list is its entries, separated by commas. */
export type OptionType = 'text' | 'url' | 'choice' | 'boolean' | 'integer' | 'list' | 'json' | 'secret';

/** What a form can check before it sends: an integer's range, a text's length, a list's size. */
export type OptionBounds = { min?: number; max?: number; max_length?: number; max_items?: number; multiline?: true };

/** An entry of the catalogue. `proof` has no default, so that each new option decides on it. */
export type OptionRule<Type extends OptionType = OptionType, Choice extends string = string> = OptionKind<
  Type,
  Choice
> & { readonly proof: OptionProof };
export type OptionRules = Readonly<Record<string, OptionRule>>;

/** The values that an option accepts. */
export type OptionKind<Type extends OptionType = OptionType, Choice extends string = string> = {
  readonly type: Type;
  readonly default: string;
  /** The values of a `choice`. */
  readonly choices?: readonly Choice[];
  /** What a form can check before it sends the value. */
  readonly bounds?: OptionBounds;
  /** `undefined` if the value is allowed; else the end of the sentence "The value of … must be". */
  check(value: string): string | undefined;
};

export const MAX_TEXT = 200;
const MAX_URL = 500;
const MAX_SECRET = 1000;
const MAX_DOMAIN = 253;

const unless = (valid: boolean, wanted: string): string | undefined => (valid ? undefined : wanted);

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * One line of text, which people see: nothing in it is invisible or turns the rest around. `allows`
 * restricts it further; `wanted` describes that restriction.
 */
export const text = (
  initial: string,
  allows: (value: string) => boolean = () => true,
  wanted = `one line of at most ${MAX_TEXT} visible characters`,
): OptionKind<'text'> => ({
  type: 'text',
  default: initial,
  bounds: { max_length: MAX_TEXT },
  check: (value) => unless(value.length <= MAX_TEXT && !hasHiddenCharacters(value) && allows(value), wanted),
});

/** An id or a site key, copied from a provider. */
export const identifier = (what: string): OptionKind<'text'> =>
  text('', (value) => /^[!-~]*$/.test(value), `${what}, without spaces and at most ${MAX_TEXT} characters, or nothing`);

/** A text of several lines. */
export const longText = (maximum: number): OptionKind<'text'> => ({
  type: 'text',
  default: '',
  bounds: { max_length: maximum, multiline: true },
  check: (value) =>
    unless(value.length <= maximum && !value.includes('\0'), `a string of at most ${maximum} characters`),
});

export const boolean = (initial: boolean): OptionKind<'boolean'> => ({
  type: 'boolean',
  default: String(initial),
  check: (value) => unless(value === 'true' || value === 'false', 'true or false'),
});

export const integer = (initial: number, low: number, high: number): OptionKind<'integer'> => ({
  type: 'integer',
  default: String(initial),
  bounds: { min: low, max: high },
  check: (value) =>
    unless(
      /^\d{1,15}$/.test(value) && Number(value) >= low && Number(value) <= high,
      `a whole number from ${low} to ${high}`,
    ),
});

/** The first choice is the default. */
export const choice = <const Choice extends string>(
  choices: readonly [Choice, ...Choice[]],
  wanted: string,
): OptionKind<'choice', Choice> => ({
  type: 'choice',
  default: choices[0],
  choices,
  check: (value) =>
    unless(
      choices.some((each) => each === value),
      wanted,
    ),
});

export const list = ({
  initial = [],
  maximum,
  allows,
  wanted,
}: {
  initial?: readonly string[];
  /** Entries. */
  maximum: number;
  allows: (entry: string) => boolean;
  /** Describes the entries: "a comma list of at most 20 …". */
  wanted: string;
}): OptionKind<'list'> => ({
  type: 'list',
  default: initial.join(','),
  bounds: { max_items: maximum },
  check(value) {
    const entries = splitList(value);
    return unless(
      value === '' || (entries.length <= maximum && entries.every(allows)),
      `a comma list of at most ${maximum} ${wanted}`,
    );
  },
});

/** The entries of a list. Two commas in a row enclose an empty entry, which every rule refuses. */
export const splitList = (value: string): string[] =>
  value === '' ? [] : value.split(',').map((entry) => entry.trim());

export const json = (initial: string, check: (value: string) => string | undefined): OptionKind<'json'> => ({
  type: 'json',
  default: initial,
  check,
});

/** Encrypted in the store and never shown again. */
export const secret = (what: string): OptionKind<'secret'> => ({
  type: 'secret',
  default: '',
  bounds: { max_length: MAX_SECRET },
  check: (value) =>
    unless(
      value.length <= MAX_SECRET && value === value.trim() && !CONTROL.test(value),
      `${what}: one line of at most ${MAX_SECRET} characters without spaces at its ends, or nothing`,
    ),
});

const isAddress = (value: string, allowsQuery: boolean): boolean => {
  if (value.length > MAX_URL || !/^https?:\/\/[^\s\\#]+$/i.test(value) || CONTROL.test(value)) return false;
  if (!URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '' && (allowsQuery || !value.includes('?'));
};

/** An address to which paths are appended. */
export const baseAddress = (initial: string): OptionKind<'url'> => ({
  type: 'url',
  default: initial,
  bounds: { max_length: MAX_URL },
  check: (value) =>
    unless(
      (value === '' && initial === '') || isAddress(value, false),
      `an absolute http or https address without credentials, query and fragment${initial === '' ? ', or nothing' : `, such as ${initial}`}`,
    ),
});

/** The address of an origin: what is appended begins at its root. A slash at the end is dropped. */
export const originAddress = (): OptionKind<'url'> => ({
  ...baseAddress(''),
  check: (value) =>
    unless(
      value === '' || (isAddress(value, false) && !value.includes('@') && /^[^/]+\/\/[^/]+\/?$/.test(value)),
      'an absolute http or https address of scheme, host and port alone, such as https://gate.example.com: the panel is at the root of its host, so no path, credentials, query or fragment; or nothing',
    ),
});

/** An address that is used unchanged; it may have a query. */
export const endpoint = (initial: string): OptionKind<'url'> => ({
  type: 'url',
  default: initial,
  bounds: { max_length: MAX_URL },
  check: (value) =>
    unless(
      (value === '' && initial === '') || isAddress(value, true),
      `an absolute http or https address without credentials and fragment${initial === '' ? ', or nothing' : `, such as ${initial}`}`,
    ),
});

const DOMAIN_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A host name as browsers write it. They take a name that ends in a number for an IP address. */
export const isDomain = (value: string): boolean => {
  const labels = value.split('.');
  const isName = labels.every((label) => DOMAIN_LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  return isName && value.length <= MAX_DOMAIN;
};

/** An IP address or a host name, container names with underscores (`mail_server`) included. */
export const isHost = (value: string): boolean =>
  isIP(value) !== 0 || (value.length <= MAX_DOMAIN && /^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/.test(value));

/** Exactly what a browser sends as `Origin`, for a host with a name. */
export const isOrigin = (value: string): boolean => {
  if (!/^https?:/.test(value) || !URL.canParse(value)) return false;
  const { origin, hostname } = new URL(value);
  return origin === value && isDomain(hostname);
};
