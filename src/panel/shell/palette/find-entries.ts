import type { TFunction } from 'i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { nameInList } from '../../pages/settings/option-texts.ts';
import { roles } from '../../session/roles.ts';
import type { Tone } from '../../ui/display/status-label.tsx';
import { sections } from '../navigation-sections.ts';

/**
 * In the order in which they are shown. Tasks come last, because many prompts contain the name that
 * one searches for.
 */
export const paletteGroups = [
  'pages',
  'actions',
  'models',
  'keys',
  'channels',
  'plugins',
  'users',
  'settings',
  'tasks',
] as const;

export type PaletteEntry = {
  id: string;
  group: (typeof paletteGroups)[number];
  label: string;
  /** Beside the label: whose task, which vendor. */
  note?: string;
  /** Shown as a dot before the label. */
  status?: { tone: Tone; text: TextKey };
  /** Where it leads, or what it does. */
  to?: string;
  run?(): void;
};

/** Entries of one group that are shown at once. */
export const MAX_ENTRIES = 6;

/** Tasks that are shown at once. */
export const MAX_TASKS = 3;

/** The pages of a role. */
export const listPages = (t: TFunction, role: number): PaletteEntry[] =>
  sections
    .flatMap(({ entries }) => entries)
    .filter((entry) => role >= entry.role)
    .map(({ path, text }) => ({ id: `page:${path}`, group: 'pages', label: t(text), to: path }));

/** Settings, which only root may open. They are found by their name and by their key. */
export const listSettings = (t: TFunction, role: number, options: readonly string[]): PaletteEntry[] =>
  role < roles.root
    ? []
    : options.map((key) => ({
        id: `setting:${key}`,
        group: 'settings',
        label: t(nameInList(key)),
        note: key,
        to: `/settings?q=${encodeURIComponent(key)}`,
      }));

/** Every word of the query is in the label or the note. Labels that begin with it come first. */
export function filterEntries(entries: readonly PaletteEntry[], query: string): PaletteEntry[] {
  const words = fold(query).split(/\s+/).filter(Boolean);
  const found = entries.filter(({ label, note = '' }) => {
    const text = fold(`${label} ${note}`);
    return words.every((word) => text.includes(word));
  });
  const [first = ''] = words;
  const begins = ({ label }: PaletteEntry): boolean => fold(label).startsWith(first);
  return [...found.filter(begins), ...found.filter((entry) => !begins(entry))].slice(0, MAX_ENTRIES);
}

/** Lower case, without accents: "configuracao" finds "Configuração". */
const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();
