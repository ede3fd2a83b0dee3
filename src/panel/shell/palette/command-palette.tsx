import { useMantineColorScheme, VisuallyHidden } from '@mantine/core';
import { Fragment, type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { changeLanguage, hasTexts, loadTexts } from '../../i18n/create-i18n.ts';
import { languages } from '../../i18n/languages.ts';
import { listOptions } from '../../pages/settings/option-texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSession } from '../../session/session-context.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import classes from './command-palette.module.css';
import {
  filterEntries,
  groupIcons,
  listPages,
  listSettings,
  type PaletteEntry,
  paletteGroups,
  splitMatches,
} from './find-entries.ts';
import { PaletteInput } from './palette-input.tsx';
import { useServerEntries } from './use-server-entries.ts';

type CommandPaletteProps = {
  /** What was typed while this was loaded. */
  typed: string;
  onClose(): void;
  onShortcuts(): void;
};

/** Settings are then found once their pages have loaded their names. */
const ignoreFailure = (): void => {};

/** Finds pages, tasks, users, channels, keys, settings and actions by some letters. */
export function CommandPalette({ typed, onClose, onShortcuts }: CommandPaletteProps) {
  const { t, i18n } = useTranslation();
  const role = useRole();
  const navigate = useNavigate();
  const listId = useId();
  const [query, setQuery] = useState(typed);
  const [active, setActive] = useState(0);
  const [hasSettings, setHasSettings] = useState(() => hasTexts(i18n, 'settings'));
  useEffect(() => {
    if (!hasSettings && role >= roles.root) loadTexts(i18n, 'settings').then(() => setHasSettings(true), ignoreFailure);
  }, [hasSettings, role, i18n]);
  const server = useServerEntries(query);
  const actions = useActions(onShortcuts);
  const local = [
    ...listPages(t, role),
    ...actions,
    ...(query.trim() === '' ? [] : listSettings(t, role, listOptions(i18n))),
  ];
  const byGroup = paletteGroups.map((group) => ({
    group,
    entries: [
      ...filterEntries(
        local.filter((entry) => entry.group === group),
        query,
      ),
      ...server.entries.filter((entry) => entry.group === group),
    ],
  }));
  const groups = byGroup.filter(({ entries }) => entries.length > 0);
  const entries = groups.flatMap((group) => group.entries);
  const current = entries[Math.min(active, entries.length - 1)];
  const optionId = ({ id }: PaletteEntry): string => `${listId}-${id}`;

  const choose = ({ to, run }: PaletteEntry): void => {
    onClose();
    run?.();
    if (to !== undefined) navigate(to);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // An input method is composing: its Enter chooses characters.
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      setActive((Math.min(active, entries.length - 1) + step + entries.length) % entries.length);
    } else if (event.key === 'Enter' && current !== undefined) {
      event.preventDefault();
      choose(current);
    }
  };
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (current !== undefined)
      list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);

  const input = useRef<HTMLInputElement>(null);
  // The caret stays behind what was typed before.
  useLayoutEffect(() => input.current?.setSelectionRange(typed.length, typed.length), [typed]);

  return (
    <>
      <PaletteInput
        onCancel={onClose}
        ref={input}
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={current && optionId(current)}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={listId} role="listbox" aria-label={t('palette.results')} className={classes.list}>
        {groups.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options
          <div key={group.group} role="group" aria-labelledby={`${listId}-${group.group}`}>
            <div id={`${listId}-${group.group}`} className={classes.group}>
              {t(`palette.group.${group.group}`)}
            </div>
            {group.entries.map((entry) => (
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
              <div
                key={entry.id}
                id={optionId(entry)}
                role="option"
                aria-selected={entry === current}
                className={classes.entry}
                onMouseMove={() => setActive(entries.indexOf(entry))}
                onClick={() => choose(entry)}
              >
                <EntryIcon entry={entry} />
                {entry.status !== undefined && <VisuallyHidden>{t(entry.status.text)}</VisuallyHidden>}
                <span className={classes.label}>
                  <Marked text={entry.label} query={query} />
                </span>
                {entry.note && (
                  <span className={classes.note}>
                    <Marked text={entry.note} query={query} />
                  </span>
                )}
              </div>
            ))}
          </div>
        ))}
      </div>
      <p className={classes.status} role="status">
        {entries.length === 0 ? (
          t(server.isSearching ? 'palette.searching' : 'palette.nothing')
        ) : (
          <span className={classes.keys}>{t('palette.help')}</span>
        )}
      </p>
    </>
  );
}

/** The dot of a task's state, or what kind of thing it is. */
function EntryIcon({ entry: { group, icon: Icon = groupIcons[group], status } }: { entry: PaletteEntry }) {
  return (
    <span className={classes.icon} aria-hidden="true">
      {status === undefined ? <Icon size={18} stroke={1.6} /> : <StatusLabel tone={status.tone}>{''}</StatusLabel>}
    </span>
  );
}

/** A text with what the query matched in it. */
const Marked = ({ text, query }: { text: string; query: string }) =>
  splitMatches(text, query).map(({ part, isMatch }, index) =>
    isMatch ? <mark key={index}>{part}</mark> : <Fragment key={index}>{part}</Fragment>,
  );

function useActions(onShortcuts: () => void): PaletteEntry[] {
  const { t, i18n } = useTranslation();
  const role = useRole();
  const session = useSession();
  const { setColorScheme } = useMantineColorScheme();
  const action = (id: string, label: string, rest: Pick<PaletteEntry, 'to' | 'run'>): PaletteEntry => ({
    id: `action:${id}`,
    group: 'actions',
    label,
    ...rest,
  });
  return [
    action('run', t('palette.action.run'), { to: '/playground' }),
    action('key', t('palette.action.key'), { to: '/keys/new' }),
    ...(role >= roles.admin ? [action('channel', t('palette.action.channel'), { to: '/channels/new' })] : []),
    ...(['light', 'dark', 'auto'] as const).map((scheme) =>
      action(`scheme-${scheme}`, `${t('app.scheme')}: ${t(`app.scheme.${scheme}`)}`, {
        run: () => setColorScheme(scheme),
      }),
    ),
    ...Object.entries(languages)
      .filter(([language]) => language !== i18n.language)
      .map(([language, { name }]) =>
        action(`language-${language}`, `${t('app.language')}: ${name}`, {
          run: () => void changeLanguage(i18n, language),
        }),
      ),
    action('shortcuts', t('shortcuts.title'), { run: onShortcuts }),
    action('sign-out', t('home.signOut'), { run: () => void session.signOut() }),
  ];
}
