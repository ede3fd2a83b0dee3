import { Select } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NavLink, useNavigate, useSearchParams } from 'react-router';
import { SearchField } from '../../ui/form/search-field.tsx';
import { Page } from '../../ui/page/page.tsx';
import { groupTexts } from './option-texts.ts';
import classes from './settings.module.css';

type SettingsFrameProps = {
  /** The current group; null for search results. */
  current: string | null;
  children: ReactNode;
};

/** A list of the groups (a select on a phone) and a search over all options. */
export function SettingsFrame({ current, children }: SettingsFrameProps) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const [searchText, setSearchText] = useState(params.get('q') ?? '');
  const entries = [
    ...Object.entries(groupTexts).map(([id, { name }]) => ({ path: `/settings/${id}`, id, label: t(name) })),
    { path: '/settings/providers', id: 'providers', label: t('settings.providers') },
  ];

  return (
    <Page heading={t('nav.settings')} intro={t('settings.intro')}>
      <div className={classes.frame}>
        <div className={classes.side}>
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
              />
            </form>
          </search>
          <nav className={classes.groups} aria-label={t('settings.groups')}>
            {entries.map(({ path, id, label }) => (
              <NavLink
                key={id}
                to={path}
                className={classes.group ?? ''}
                aria-current={id === current ? 'page' : undefined}
              >
                {label}
              </NavLink>
            ))}
          </nav>
          <Select
            className={classes.picker}
            label={t('settings.group')}
            placeholder={t('settings.groups')}
            allowDeselect={false}
            data={entries.map(({ id, label }) => ({ value: id, label }))}
            value={current}
            onChange={(id) => id !== null && void navigate(`/settings/${id}`)}
          />
        </div>
        <div className={classes.content}>{children}</div>
      </div>
    </Page>
  );
}
