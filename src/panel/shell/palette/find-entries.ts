import {
  IconAdjustments,
  IconBolt,
  IconBoxModel2,
  IconHome,
  IconKey,
  IconListDetails,
  IconPlug,
  IconRoute,
  IconUser,
  type TablerIcon,
} from '@tabler/icons-react';
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

/** The sign of a group; a page has its own. */
export const groupIcons: Readonly<Record<PaletteEntry['group'], TablerIcon>> = {
  ...{ pages: IconHome, actions: IconBolt, models: IconBoxModel2, keys: IconKey, channels: IconRoute },
  ...{ plugins: IconPlug, users: IconUser, settings: IconAdjustments, tasks: IconListDetails },
};

export type PaletteEntry = {
  id: string;
  group: (typeof paletteGroups)[number];
  label: string;
  /** Beside the label: whose task, which vendor. */
  note?: string;
  /** Another than that of its group. */
  icon?: TablerIcon;
  /** Shown as a dot instead of the icon. */
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
    .map(({ path, text, icon }) => ({ id: `page:${path}`, group: 'pages', label: t(text), to: path, icon }));

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

/** A text in parts, those that a word of the query matches marked. Accents must match here. */
export function splitMatches(text: string, query: string): readonly { part: string; isMatch: boolean }[] {
  const words = query.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [{ part: text, isMatch: false }];
  const literal = words.map((word) => word.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&'));
  const pattern = new RegExp(`(${literal.join('|')})`, 'giu');
  // A split by a group has what matched at its odd places.
  return text.split(pattern).map((part, index) => ({ part, isMatch: index % 2 === 1 }));
}

/** Lower case, without accents: "configuracao" finds "Configuração". */
const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();
