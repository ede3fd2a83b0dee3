import { isObject, type Json, sentence } from '../../kernel/index.ts';
import type { LocalizedText } from '../types.ts';
import { type FaultList, pointer } from './faults.ts';

/**
 * Casing of BCP-47 (RFC 5646, 2.1.1): language in lower case, four-letter subtags in title case,
 * two-letter subtags in upper case.
 */
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

/** Trims both forms of a text. Surrounding spaces count neither for rules nor for readers. */
function trimText(text: Json): Json {
  if (typeof text === 'string') return text.trim();
  if (!isObject(text)) return text;
  return mapValues(text, (value) => (typeof value === 'string' ? value.trim() : value));
}

/**
 * Maps the members of an object. `Object.fromEntries` keeps a member called `__proto__` a member.
 */
const mapValues = (object: { [key: string]: Json }, change: (value: Json) => Json): Json =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

const mapMember = (value: Json, name: string, change: (member: Json) => Json): Json => {
  if (!isObject(value)) return value;
  const object = value as { [key: string]: Json };
  return Object.hasOwn(object, name) ? { ...object, [name]: change(object[name] ?? null) } : value;
};

/** Trims all texts of a manifest. Values that are not texts stay, and the schema refuses them. */
export function trimTexts(meta: Json): Json {
  const mapAll = (values: Json, change: (value: Json) => Json): Json =>
    isObject(values) ? mapValues(values as { [key: string]: Json }, change) : values;
  const trimField = (field: Json): Json => {
    const texts = mapMember(mapMember(field, 'description', trimText), 'unitLabel', trimText);
    return mapMember(texts, 'enumLabels', (labels) => mapAll(labels, trimText));
  };
  const trimSchema = (schema: Json): Json => mapAll(schema, trimField);
  const withTexts = mapMember(mapMember(meta, 'description', trimText), 'usageSchema', trimSchema);
  return mapMember(withTexts, 'usageProfiles', (profiles) =>
    Array.isArray(profiles) ? profiles.map((profile) => mapMember(profile, 'schema', trimSchema)) : profiles,
  );
}

/** Both forms of a text as a map by canonical locale. The text is trimmed and fits the schema. */
export function toTextMap(text: Json): LocalizedText {
  if (typeof text === 'string') return { en: text };
  return Object.fromEntries(Object.entries(text ?? {}).map(([tag, value]) => [canonicalLocale(tag), String(value)]));
}

/** Checks the rule of texts that a schema cannot express: two spellings of one locale. */
export function checkLocaleCollisions(text: Json, path: string, list: FaultList): void {
  if (!isObject(text)) return;
  const seen = new Map<string, string>();
  for (const tag of Object.keys(text)) {
    if (!list.clean(path + pointer(tag))) continue;
    const canonical = canonicalLocale(tag);
    const other = seen.get(canonical);
    if (other !== undefined) {
      list.add(path + pointer(tag), 'text.locale.unique', sentence('fault.same_locale', { tag, other, canonical }));
    }
    seen.set(canonical, tag);
  }
}
