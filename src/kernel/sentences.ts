import { reasons } from './reasons/index.ts';
import { VALUE_FORMATS } from './texts.ts';

/** A value of a sentence's placeholder; a sentence itself where it stands inside another one. */
export type SentenceValue = string | number | Sentence;
export type SentenceParams = Readonly<Record<string, SentenceValue>>;

/**
 * What people are told: `message` in English for programs, `reason` and `params` for the panel and
 * emails, which say it in their reader's language.
 */
export type Sentence = { readonly message: string; readonly reason: string; readonly params: SentenceParams };

/** What stands beside the English text in a row or an answer. */
export type StoredSentence = Omit<Sentence, 'message'>;

export type Reason = keyof typeof reasons;

type Placeholder<T extends string> = T extends `${string}{{${infer Name}}}${infer Rest}`
  ? WithoutFormat<Name> | Placeholder<Rest>
  : never;
type WithoutFormat<T extends string> = T extends `${infer Name}, ${string}` ? Name : T;
/** `count` is for the plural forms of other languages. */
type Params<R extends Reason> = { readonly [Name in Placeholder<(typeof reasons)[R]>]: SentenceValue } & {
  readonly count?: SentenceValue;
};

/** The sentence of a reason: `sentence('auth.characters_max', { max: 8 })`. */
export function sentence<R extends Reason>(
  reason: R,
  ...[params]: Placeholder<(typeof reasons)[R]> extends never ? [] : [params: Params<R>]
): Sentence {
  return { message: fill(reasons[reason], params ?? {}), reason, params: params ?? {} };
}

/** The words of a plugin, a vendor or another server: nobody can translate them. */
export const quoted = (text: string): Sentence => ({ message: text, reason: 'plugin', params: { text } });

/** A failure that is thrown to be told to people. */
export class SentenceError extends Error implements Sentence {
  readonly reason: string;
  readonly params: SentenceParams;

  constructor({ message, reason, params }: Sentence, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.params = params;
  }
}

/** Only the three members of a sentence, taken from an object that has others. */
export const toSentence = ({ message, reason, params }: Sentence): Sentence => ({ message, reason, params });

export const withoutMessage = ({ reason, params }: StoredSentence): StoredSentence => ({ reason, params });

/** The sentence with each of its texts changed: shortened, or without secrets. */
export function mapSentence({ message, reason, params }: Sentence, change: (text: string) => string): Sentence {
  const changed = Object.entries(params).map(([name, value]): [string, SentenceValue] => {
    if (typeof value === 'string') return [name, change(value)];
    return [name, typeof value === 'number' ? value : mapSentence(value, change)];
  });
  return { message: change(message), reason, params: Object.fromEntries(changed) };
}

const fill = (template: string, params: SentenceParams): string =>
  template.replaceAll(/\{\{(\w+)(?:, (\w+))?\}\}/g, (_all, name: string, format = '') => {
    const value = params[name] ?? '';
    const write = VALUE_FORMATS[format];
    if (write && typeof value === 'number') return write(value, 'en');
    return typeof value === 'object' ? value.message : String(value);
  });
