import { isObject, type Json, sanitizeMessage } from '../../kernel/index.ts';
import { canonicalLocale } from '../manifest/localized-text.ts';

/** What changed in a version, as plain text: what to do about it first. */
export type ChangeSection = { name: (typeof SECTIONS)[number]; items: string[] };
/** By canonical BCP-47 locale. */
export type Changelog = Record<string, ChangeSection[]>;

export const MAX_CHANGELOG_BYTES = 64 * 1024;
/** In the order in which people read them. */
const SECTIONS = ['Migration', 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'] as const;
const MAX_ITEMS = 50;
const MAX_ITEM = 1000;
const MAX_TRANSLATIONS = 8;

/** Marks in the rendered text, which has no other control characters. */
const [BREAK, HEADING, ITEM] = ['\u0002', '\u0001', '\u0003'] as const;

type Named = { key: string; version: string };
/** `translations`: the names of the files in other languages, by locale. */
export type ReadChangelog = { locale: string; sections: ChangeSection[]; translations: Record<string, string> };

/**
 * Reads the changelog of one version: YAML between two lines `---`, then Markdown. Undefined: it is
 * of another form, or of another plugin or version. Markup is dropped, HTML is shown as text.
 */
export function readChangelog(text: string, { key, version }: Named): ReadChangelog | undefined {
  const [, head = '', body = ''] = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(text) ?? [];
  const front = parseFront(head);
  if (!isObject(front) || front.changelogVersion !== 1 || front.plugin !== key || String(front.version) !== version) {
    return undefined;
  }
  const locale = typeof front.locale === 'string' && LOCALE.test(front.locale) ? canonicalLocale(front.locale) : 'en';
  const translations = isObject(front.translations) ? Object.entries(front.translations) : [];
  return {
    locale,
    sections: readSections(body, version),
    translations: Object.fromEntries(
      translations
        .filter((entry): entry is [string, string] => LOCALE.test(entry[0]) && FILE.test(String(entry[1])))
        .slice(0, MAX_TRANSLATIONS)
        .map(([tag, file]) => [canonicalLocale(tag), file]),
    ),
  };
}

const LOCALE = /^[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8})*$/;
const FILE = /^CHANGELOG\.[A-Za-z0-9-]{2,35}\.md$/;

function parseFront(head: string): Json | undefined {
  try {
    return Bun.YAML.parse(head) as Json;
  } catch {
    return undefined;
  }
}

function readSections(body: string, version: string): ChangeSection[] {
  const plain = (children: string): string => children;
  const marked = Bun.markdown.render(removeControls(body), {
    heading: (children: string, { level }: { level: number }) => `${BREAK}${HEADING}${level}${children}${BREAK}`,
    listItem: (children: string) => `${BREAK}${ITEM}${children}${BREAK}`,
    ...{ paragraph: plain, list: plain, strong: plain, emphasis: plain, link: plain, image: plain, codespan: plain },
  });
  const sections = new Map<string, string[]>();
  let [isOfVersion, items] = [false, undefined as string[] | undefined];
  for (const part of marked.split(BREAK)) {
    if (part.startsWith(HEADING)) {
      const [level, title] = [Number(part[1]), part.slice(2)];
      items = undefined;
      if (level <= 2) isOfVersion = namedVersion(title) === version;
      else if (isOfVersion) {
        items = sections.get(title.trim()) ?? [];
        sections.set(title.trim(), items);
      }
    } else if (part.startsWith(ITEM) && items && items.length < MAX_ITEMS) {
      const item = sanitizeMessage(part.slice(1), MAX_ITEM);
      if (item !== '') items.push(item);
    }
  }
  return SECTIONS.flatMap((name) => {
    const found = sections.get(name) ?? [];
    return found.length > 0 ? [{ name, items: found }] : [];
  });
}

/** `[1.2.0]`, without brackets where a definition in the text makes a link of it. */
const namedVersion = (title: string): string | undefined => /^\s*\[?([^\]\s]+)/.exec(title)?.[1];

const removeControls = (text: string): string => text.replace(/[^\P{Cc}\t\n\r]/gu, '');
