import { Anchor, Button, CloseButton, Select, Text } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Navigate, NavLink, useNavigate, useParams, useSearchParams } from 'react-router';
import type { OAuthProvider, Option } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { SearchField } from '../../ui/form/filter-bar.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { OptionGroup } from './option-group.tsx';
import { explainOption, isEncryption, isListed, nameGroup, nameInList, nameOption } from './option-texts.ts';
import classes from './settings.module.css';

/** The options of one group, or the results of a search. */
export function SettingsPage() {
  const { group } = useParams();
  const [params] = useSearchParams();
  const options = useApiQuery<Option[]>('/api/option');
  const searchText = (params.get('q') ?? '').trim();
  return (
    <SettingsFrame current={group ?? null}>
      <QueryResult query={options}>
        {(all) => {
          if (group === undefined && searchText !== '') return <SearchResults options={all} searchText={searchText} />;
          const groups = listGroups(all);
          if (group !== undefined && groups.includes(group)) {
            return <OptionGroup key={group} group={group} options={all} />;
          }
          return <Navigate to={`/settings/${groups[0]}`} replace />;
        }}
      </QueryResult>
    </SettingsFrame>
  );
}

/** In the order of the gateway. */
const listGroups = (options: readonly Option[]): string[] => [...new Set(options.map(({ group }) => group))];

/** What each heading of the list has below it; a group that none names follows the first ones. */
const sections: readonly { heading: TextKey; groups: readonly string[]; folded?: readonly string[] }[] = [
  { heading: 'settings.section.gateway', groups: ['gateway', 'branding', 'maintenance', 'legal'] },
  {
    heading: 'settings.section.signIn',
    groups: ['sign_in', 'challenge', 'passkey'],
    folded: ['github', 'discord', 'linuxdo', 'oidc', 'telegram', 'wechat', 'providers'],
  },
  { heading: 'settings.section.tasks', groups: ['billing', 'limits', 'queue', 'plugins'] },
  { heading: 'settings.section.messages', groups: ['mail', 'alerts'] },
  { heading: 'settings.section.data', groups: ['results', 'retention', 'backups'] },
];

type GroupSection = { heading: TextKey; groups: readonly string[]; folded: readonly string[] };

function arrangeGroups(groups: readonly string[]): GroupSection[] {
  const known = sections.flatMap((section) => [...section.groups, ...(section.folded ?? [])]);
  const others = groups.filter((group) => !known.includes(group));
  const present = (wanted: readonly string[] = []) => wanted.filter((group) => groups.includes(group));
  return sections.map((section, index) => ({
    heading: section.heading,
    groups: [...present(section.groups), ...(index === 0 ? others : [])],
    folded: present(section.folded),
  }));
}

/** Options whose name, help, key or group contains all search words. */
function SearchResults({ options, searchText }: { options: readonly Option[]; searchText: string }) {
  const { t } = useTranslation();
  const words = searchText.toLowerCase().split(/\s+/);
  const entries = options.map(({ key, group }) => ({
    key,
    path: `/settings/${group}#option-${encodeURIComponent(key)}`,
    name: t(nameInList(key)),
    help: isEncryption(key)
      ? `${t('settings.encryption.starttls')} / ${t(nameOption(key))}`
      : t(explainOption(key)).replaceAll('`', ''),
    group: t(nameGroup(group)),
  }));
  const hasWords = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const matching = entries.filter(({ key, name, help, group }) => hasWords(`${key} ${name} ${help} ${group}`));
  const isNamed = ({ name }: { name: string }): boolean => hasWords(name);
  const exact = matching.find(({ key }) => key === searchText);
  const shown = matching.filter(({ key }) => isListed(key));
  const found = [...shown.filter(isNamed), ...shown.filter((entry) => !isNamed(entry))];
  if (exact !== undefined) return <Navigate to={exact.path} replace />;
  if (found.length === 0) {
    return (
      <EmptyState
        heading={t('settings.foundNone', { text: searchText })}
        text={t('settings.foundNoneText')}
        action={
          <Button component={Link} to="/settings" variant="default">
            {t('settings.clearSearch')}
          </Button>
        }
      />
    );
  }
  return (
    <Section
      heading={t('settings.found', { text: searchText })}
      intro={t('settings.foundCount', { count: found.length })}
    >
      <ul className={classes.found}>
        {found.map(({ key, path, name, help, group }) => (
          <li key={key}>
            <Anchor component={Link} to={path} fw={550}>
              {name}
            </Anchor>
            <Text span size="sm" c="dimmed">
              {' '}
              · {group}
            </Text>
            <Text size="sm" c="dimmed">
              {help}
            </Text>
          </li>
        ))}
      </ul>
    </Section>
  );
}

type SettingsFrameProps = {
  /** The current group; null for search results. */
  current: string | null;
  /** What a page inside of a group says of itself, as in `Page`. */
  heading?: string;
  intro?: string;
  back?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
};

/** A list of the groups (a select on a phone) and a search over all options. */
export function SettingsFrame({ current, children, ...page }: SettingsFrameProps) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const searched = params.get('q') ?? '';
  const [searchText, setSearchText] = useState(searched);
  const { data: options = [] } = useApiQuery<Option[]>('/api/option');
  const id = useId();
  const side = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = side.current;
    if (box === null) return;
    const observer = new ResizeObserver(() => box.style.setProperty('--height', `${box.offsetHeight}px`));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  const arranged = arrangeGroups([...listGroups(options), 'providers']);
  const nameEntry = (group: string): string => (group === 'providers' ? t('settings.providers') : t(nameGroup(group)));
  const isOn = (group: string): boolean =>
    options.find((option) => option.group === group && option.type === 'boolean')?.value === 'true';
  const providers = useApiQuery<OAuthProvider[]>('/api/custom-oauth-provider');
  const providersOn = (providers.data ?? []).filter(({ enabled }) => enabled).length;
  const markFor = (group: string): string => {
    if (group === 'providers') return providersOn > 0 ? t('settings.onCount', { number: providersOn }) : '';
    return isOn(group) ? t('settings.on') : '';
  };
  const toEntry = (group: string) => ({
    value: group,
    label: [nameEntry(group), markFor(group)].filter(Boolean).join(' · '),
  });
  const link = (group: string, mark: ReactNode = null) => (
    <NavLink
      key={group}
      to={`/settings/${group}`}
      className={classes.group ?? ''}
      aria-current={group === current ? 'page' : undefined}
    >
      {nameEntry(group)}
      {mark}
    </NavLink>
  );
  const clear = (): void => {
    setSearchText('');
    if (current === null) void navigate('/settings');
  };

  return (
    <Page heading={t('nav.settings')} intro={t('settings.intro')} {...page}>
      <div className={classes.frame}>
        <div ref={side} className={classes.side} data-inner={page.heading !== undefined || undefined}>
          <search>
            <form
              onSubmit={(event) => {
                event.preventDefault();
                void navigate(`/settings?q=${encodeURIComponent(searchText.trim())}`);
              }}
            >
              <SearchField
                aria-label={t('settings.search')}
                placeholder={t('settings.search')}
                value={searchText}
                onChange={(event) => setSearchText(event.currentTarget.value)}
                rightSection={
                  searchText !== '' && <CloseButton size="sm" aria-label={t('settings.clearSearch')} onClick={clear} />
                }
              />
            </form>
          </search>
          <nav className={classes.groups} aria-label={t('settings.groups')}>
            {arranged.map(({ heading, groups, folded }) => (
              // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
              <div key={heading} role="group" aria-labelledby={`${id}-${heading}`}>
                <p id={`${id}-${heading}`}>{t(heading)}</p>
                {groups.map((group) => link(group))}
                {folded.length > 0 && (
                  <details open={current !== null && folded.includes(current)}>
                    <summary className={classes.group}>
                      {t('settings.signInProviders')}
                      <IconChevronRight size={16} stroke={1.6} aria-hidden="true" />
                    </summary>
                    {folded.map((group) =>
                      link(group, markFor(group) && <span className={classes.on}>{markFor(group)}</span>),
                    )}
                  </details>
                )}
              </div>
            ))}
          </nav>
          {(current !== null || searched === '') && (
            <Select
              className={classes.picker}
              label={t('settings.group')}
              placeholder={t('settings.chooseGroup')}
              allowDeselect={false}
              data={arranged.flatMap(({ heading, groups, folded }) => [
                { group: t(heading), items: groups.map((group) => ({ value: group, label: nameEntry(group) })) },
                ...(folded.length > 0 ? [{ group: t('settings.signInProviders'), items: folded.map(toEntry) }] : []),
              ])}
              value={current}
              onChange={(group) => group !== null && void navigate(`/settings/${group}`)}
            />
          )}
        </div>
        <div className={classes.content}>{children}</div>
      </div>
    </Page>
  );
}
