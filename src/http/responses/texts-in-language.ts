import { t } from 'elysia';
import { isObject } from '../../kernel/index.ts';

/** Members of a plugin's manifest that are texts, and those that have texts as their members. */
const texts: ReadonlySet<string> = new Set(['description', 'unitLabel', 'label', 'key_help']);
const textMaps: ReadonlySet<string> = new Set(['enumLabels', 'labels']);

export const languageQuery = {
  language: t.Optional(
    t.String({
      maxLength: 35,
      description:
        'Answers each text of a plugin in this language alone, or in English where it lacks it. Default: all.',
    }),
  ),
};

/**
 * A copy with each text of a plugin in one language, as a string: those of all plugins in all
 * languages are the most of a list. Without a language, the value itself.
 */
export function textsInLanguage<Value>(value: Value, language: string | undefined): Value {
  return language === undefined ? value : (readMember(value, language) as Value);
}

function readMember(value: unknown, language: string): unknown {
  if (Array.isArray(value)) return value.map((each) => readMember(each, language));
  if (!isObject(value)) return value;
  return mapMembers(value, (name, member) => {
    if (texts.has(name)) return localise(member, language);
    if (textMaps.has(name) && isObject(member)) return mapMembers(member, (_, text) => localise(text, language));
    return readMember(member, language);
  });
}

/** Chooses a language as the panel does: the exact tag, then the primary one, then English. */
function localise(text: unknown, language: string): unknown {
  if (!isObject(text)) return text;
  const byTag = new Map(Object.entries(text).map(([tag, said]) => [tag.toLowerCase(), said]));
  const wanted = language.toLowerCase();
  return byTag.get(wanted) ?? byTag.get(wanted.split('-')[0] ?? '') ?? byTag.get('en') ?? '';
}

const mapMembers = (value: object, change: (name: string, member: unknown) => unknown): object =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(name, member)]));
