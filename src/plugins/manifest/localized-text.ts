import type { Json } from '../../kernel/index.ts';
import type { LocalizedText } from '../types.ts';
import type { FaultList } from './faults.ts';
import { pointer } from './faults.ts';

/** BCP-47 casing (RFC 5646, 2.1.1): language lower case, four-letter subtags in title case, two-letter ones upper case. */
export function canonicalLocale(tag: string): string {
  return tag
    .toLowerCase()
    .split('-')
    .map((part, index) => {
      if (index === 0) return part;
      if (part.length === 2) return part.toUpperCase();
      return part.length === 4 ? part.charAt(0).toUpperCase() + part.slice(1) : part;
    })
    .join('-');
}

/** Both forms of a text as a map by canonical locale, values trimmed. Expects a text that passed the schema. */
export function toTextMap(text: Json): LocalizedText {
  if (typeof text === 'string') return { en: text.trim() };
  return Object.fromEntries(
    Object.entries(text ?? {}).map(([tag, value]) => [canonicalLocale(tag), String(value).trim()]),
  );
}

/** The one rule of texts that a schema cannot say: locales that are the same after canonicalisation. */
export function checkLocaleCollisions(text: Json, path: string, list: FaultList): void {
  if (typeof text !== 'object' || text === null || Array.isArray(text)) return;
  const seen = new Map<string, string>();
  for (const tag of Object.keys(text)) {
    const canonical = canonicalLocale(tag);
    const other = seen.get(canonical);
    if (other !== undefined) {
      list.add(path + pointer(tag), 'text.locale.unique', `"${tag}" and "${other}" are the same locale "${canonical}"`);
    }
    seen.set(canonical, tag);
  }
}
