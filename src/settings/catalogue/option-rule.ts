import { isIP } from 'node:net';
import type { OptionProof } from '../types.ts';

/**
 * What a value is; all are stored and sent as texts. A list is its entries with commas between
 * them.
 */
export type OptionType = 'text' | 'url' | 'choice' | 'boolean' | 'integer' | 'list' | 'json' | 'secret';

/**
 * `min` and `max` of an integer; characters of a text, entries of a list; a text of several lines.
 */
export type OptionBounds = { min?: number; max?: number; max_length?: number; max_items?: number; multiline?: true };

/**
 * An entry of the catalogue. Each says which proof it takes: there is no default that a new one
 * could fall under.
 */
export type OptionRule<Type extends OptionType = OptionType, Choice extends string = string> = OptionKind<
  Type,
  Choice
> & { readonly proof: OptionProof };
export type OptionRules = Readonly<Record<string, OptionRule>>;

/** What values a setting takes. */
export type OptionKind<Type extends OptionType = OptionType, Choice extends string = string> = {
  readonly type: Type;
  readonly default: string;
  /** The values of a `choice`. */
  readonly choices?: readonly Choice[];
  /** What a form can hold the value to before it is sent. */
  readonly bounds?: OptionBounds;
  /**
   * `undefined` for a value that is allowed, else what it must be: it completes "The value of …
   * must be".
   */
  check(value: string): string | undefined;
};

export const MAX_TEXT = 200;
const MAX_URL = 500;
const MAX_SECRET = 1000;
const MAX_DOMAIN = 253;

const unless = (good: boolean, wanted: string): string | undefined => (good ? undefined : wanted);

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** One line of text, by default of any kind; `wanted` says the rule that `allows` keeps. */
export const text = (
  initial: string,
  allows: (value: string) => boolean = () => true,
  wanted = `one line of at most ${MAX_TEXT} characters`,
): OptionKind<'text'> => ({
  type: 'text',
  default: initial,
  bounds: { max_length: MAX_TEXT },
  check: (value) => unless(value.length <= MAX_TEXT && !CONTROL.test(value) && allows(value), wanted),
});

/** What a provider hands out to be copied: an id, a site key. */
export const identifier = (what: string): OptionKind<'text'> =>
  text('', (value) => /^[!-~]*$/.test(value), `${what}, without spaces and at most ${MAX_TEXT} characters, or nothing`);

/** A text of many lines. */
export const longText = (maximum: number): OptionKind<'text'> => ({
  type: 'text',
  default: '',
  bounds: { max_length: maximum, multiline: true },
  check: (value) => unless(value.length <= maximum && !value.includes('\0'), `a text of at most ${maximum} characters`),
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

export const list = (
  initial: readonly string[],
  maximum: number,
  allows: (entry: string) => boolean,
  wanted: string,
): OptionKind<'list'> => ({
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

/**
 * The entries of a list; nothing between two commas is an entry of its own, and refused by every
 * rule.
 */
export const splitList = (value: string): string[] =>
  value === '' ? [] : value.split(',').map((entry) => entry.trim());

export const json = (initial: string, check: (value: string) => string | undefined): OptionKind<'json'> => ({
  type: 'json',
  default: initial,
  check,
});

/** Sealed in the store and never shown again. */
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

const isAddress = (value: string, mayAsk: boolean): boolean => {
  if (value.length > MAX_URL || !/^https?:\/\/[^\s\\#]+$/i.test(value) || CONTROL.test(value)) return false;
  if (!URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '' && (mayAsk || !value.includes('?'));
};

/** An address that others are made from, by adding a path. */
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

/** An address that is used as it stands. */
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

/** A host name in the form that browsers give it; what ends in a number is an address to them. */
export const isDomain = (value: string): boolean => {
  const labels = value.split('.');
  const isName = labels.every((label) => DOMAIN_LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  return isName && value.length <= MAX_DOMAIN;
};

/** A machine as it is named in a network, services of containers (`mail_server`) included. */
export const isHost = (value: string): boolean =>
  isIP(value) !== 0 || (value.length <= MAX_DOMAIN && /^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/.test(value));

/** Exactly what a browser sends as `Origin` from a page of a named host. */
export const isOrigin = (value: string): boolean => {
  if (!/^https?:/.test(value) || !URL.canParse(value)) return false;
  const { origin, hostname } = new URL(value);
  return origin === value && isDomain(hostname);
};
