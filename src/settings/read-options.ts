import type { Json, SecretBox } from '../kernel/index.ts';
import { type ChoiceOf, isOptionKey, type KeyOf, type OptionKey, ruleOf } from './catalogue/option-catalogue.ts';
import { splitList } from './catalogue/option-rule.ts';

/**
 * What the options say: the stored value where there is one and it is allowed (an older database
 * may hold others), else the catalogue's default.
 */
export type OptionValues = {
  text(key: KeyOf<'text' | 'url'>): string;
  choice<Key extends KeyOf<'choice'>>(key: Key): ChoiceOf<Key>;
  flag(key: KeyOf<'boolean'>): boolean;
  number(key: KeyOf<'integer'>): number;
  list(key: KeyOf<'list'>): readonly string[];
  /** Of the form that the catalogue checks. */
  json(key: KeyOf<'json'>): Json;
  /** The clear text; empty while none is set, and while no `CRYPTO_SECRET` opens it. */
  secret(key: KeyOf<'secret'>): string;
  /** Whether the option holds anything; not so for a secret that cannot be read. */
  isSet(key: OptionKey): boolean;
};

/** The options as they were at one moment. */
export type OptionSnapshot = OptionValues & {
  /** Of any option but a secret: the value as text. Of a secret: its clear text, or empty. */
  raw(key: OptionKey): string;
  /** Secrets that are stored and that no `CRYPTO_SECRET` opens: they must be entered again. */
  readonly unreadable: ReadonlySet<OptionKey>;
};

export type StoredOption = { key: string; value: string };

export function readOptions(stored: readonly StoredOption[], secretBox: SecretBox): OptionSnapshot {
  const known = new Map<OptionKey, string>();
  const unreadable = new Set<OptionKey>();
  for (const { key, value } of stored) {
    if (!isOptionKey(key)) continue;
    const rule = ruleOf(key);
    if (rule.type !== 'secret') {
      if (rule.check(value) === undefined) known.set(key, value);
    } else if (value !== '') {
      const clear = secretBox.open(value);
      if (clear === undefined) unreadable.add(key);
      else known.set(key, clear);
    }
  }
  const parsed = new Map<OptionKey, Json>();
  const raw = (key: OptionKey): string => known.get(key) ?? ruleOf(key).default;

  return {
    raw,
    unreadable,
    text: raw,
    // The catalogue has checked it, or it is the default.
    choice: <Key extends KeyOf<'choice'>>(key: Key) => raw(key) as ChoiceOf<Key>,
    flag: (key) => raw(key) === 'true',
    number: (key) => Number(raw(key)),
    list: (key) => splitList(raw(key)),
    json(key) {
      const known = parsed.get(key) ?? (JSON.parse(raw(key)) as Json);
      parsed.set(key, known);
      return known;
    },
    secret: raw,
    isSet: (key) => raw(key) !== '',
  };
}
