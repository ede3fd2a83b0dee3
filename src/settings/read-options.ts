import type { Json, SecretBox } from '../kernel/index.ts';
import { type ChoiceOf, isOptionKey, type KeyOf, type OptionKey, ruleFor } from './catalogue/option-catalogue.ts';
import { splitList } from './catalogue/option-rule.ts';

/**
 * The options' values: the stored one if it is allowed (an older database may hold others), else
 * the catalogue's default.
 */
export type OptionValues = {
  text(key: KeyOf<'text' | 'url'>): string;
  choice<Key extends KeyOf<'choice'>>(key: Key): ChoiceOf<Key>;
  flag(key: KeyOf<'boolean'>): boolean;
  number(key: KeyOf<'integer'>): number;
  list(key: KeyOf<'list'>): readonly string[];
  /** The catalogue has checked its shape. */
  json(key: KeyOf<'json'>): Json;
  /** The clear text; empty if none is set or no `CRYPTO_SECRET` decrypts it. */
  secret(key: KeyOf<'secret'>): string;
  /** Whether the value is not empty. False for a secret that cannot be decrypted. */
  isSet(key: OptionKey): boolean;
};

/** The options at one moment. */
export type OptionSnapshot = OptionValues & {
  /** The value as text; for a secret it is the clear text, or empty. */
  raw(key: OptionKey): string;
  /** Stored secrets that no `CRYPTO_SECRET` decrypts: they must be entered again. */
  readonly unreadable: ReadonlySet<OptionKey>;
};

export type StoredOption = { key: string; value: string };

export function readOptions(stored: readonly StoredOption[], secretBox: SecretBox): OptionSnapshot {
  const values = new Map<OptionKey, string>();
  const unreadable = new Set<OptionKey>();
  for (const { key, value } of stored) {
    if (!isOptionKey(key)) continue;
    const rule = ruleFor(key);
    if (rule.type !== 'secret') {
      if (rule.check(value) === undefined) values.set(key, value);
    } else if (value !== '') {
      const clear = secretBox.open(value);
      if (clear === undefined) unreadable.add(key);
      else values.set(key, clear);
    }
  }
  const parsed = new Map<OptionKey, Json>();
  const raw = (key: OptionKey): string => values.get(key) ?? ruleFor(key).default;

  return {
    raw,
    unreadable,
    text: raw,
    // The catalogue has checked the value, or it is the default.
    choice: <Key extends KeyOf<'choice'>>(key: Key) => raw(key) as ChoiceOf<Key>,
    flag: (key) => raw(key) === 'true',
    number: (key) => Number(raw(key)),
    list: (key) => splitList(raw(key)),
    json(key) {
      const value = parsed.get(key) ?? (JSON.parse(raw(key)) as Json);
      parsed.set(key, value);
      return value;
    },
    secret: raw,
    isSet: (key) => raw(key) !== '',
  };
}
