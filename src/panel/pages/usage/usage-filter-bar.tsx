import { SegmentedControl, Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Channel, KeyName } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { FilterChips } from '../../ui/form/filter-bar.tsx';
import { NameSelect } from '../../ui/form/name-select.tsx';
import { useDebouncedFilter } from '../../ui/form/use-filters.ts';
import classes from './usage.module.css';
import { periodNames } from './usage-period.ts';
import type { UsageFilters } from './use-usage-filters.ts';

/** Without it, browsers accept years with six digits. */
const lastDay = '9999-12-31';

type UsageFilterBarProps = {
  filters: UsageFilters;
  /** The page is one user's: there is nobody to choose. */
  ofOneUser?: boolean;
};

/** Chooses whose usage is shown, of which period, and what it is narrowed to. */
export function UsageFilterBar({ filters, ofOneUser = false }: UsageFilterBarProps) {
  const isAdmin = useRole() >= roles.admin;
  return (
    <div>
      <search className={classes.bar}>
        {isAdmin && !ofOneUser && <ScopeChoice filters={filters} />}
        <PeriodChoice filters={filters} />
      </search>
      <Narrowed filters={filters} />
    </div>
  );
}

function ScopeChoice({ filters: { scope, values, setAll } }: { filters: UsageFilters }) {
  const { t } = useTranslation();
  return (
    <>
      <SegmentedControl
        aria-label={t('usage.whose')}
        value={scope === 'own' ? 'own' : 'all'}
        onChange={(next) => setAll({ scope: next === 'all' ? 'all' : '', user: '', by: '', key: '' })}
        data={[
          { value: 'own', label: t('usage.whose.own') },
          { value: 'all', label: t('usage.whose.all') },
        ]}
      />
      {scope !== 'own' && (
        <NameSelect
          path="/api/user/names"
          aria-label={t('usage.user')}
          placeholder={t('tasks.anyUser')}
          w={190}
          value={values.user}
          onChange={(user) => setAll({ scope: 'all', user, by: '', key: '' })}
        />
      )}
    </>
  );
}

function PeriodChoice({ filters: { period, values, dates, set, setAll } }: { filters: UsageFilters }) {
  const { t } = useTranslation();
  const from = useDebouncedFilter(values.from, (day) => set('from', day));
  const to = useDebouncedFilter(values.to, (day) => set('to', day));
  return (
    <>
      <Select
        aria-label={t('usage.period')}
        w={170}
        allowDeselect={false}
        value={period}
        onChange={(next) =>
          setAll(next === 'custom' ? { period: '', ...dates } : { period: next ?? '', from: '', to: '' })
        }
        data={periodNames.map((name) => ({ value: name, label: t(`usage.period.${name}`) }))}
      />
      {period === 'custom' && (
        <>
          <TextInput type="date" max={lastDay} aria-label={t('usage.from')} title={t('usage.from')} {...from} />
          <TextInput type="date" max={lastDay} aria-label={t('usage.to')} title={t('usage.to')} {...to} />
        </>
      )}
    </>
  );
}

/** What a row of the breakdown narrowed the figures to; a click widens them again. */
function Narrowed({ filters: { values, scope, setAll } }: { filters: UsageFilters }) {
  const { t } = useTranslation();
  const keys = withQuery('/api/token/names', { id: values.key, scope: scope === 'own' ? null : 'all' });
  const key = useApiQuery<KeyName[]>(keys, { enabled: /^[1-9]\d*$/.test(values.key), keepPrevious: false });
  const channel = useApiQuery<Channel>(`/api/channel/${values.channel}`, {
    enabled: /^[1-9]\d*$/.test(values.channel),
    keepPrevious: false,
  });
  const keyName = values.key === '0' ? t('usage.noKey') : (key.data?.[0]?.name ?? `#${values.key}`);
  const channelName = channel.data?.name ?? `#${values.channel}`;
  const chips = [
    { key: 'model', label: t('usage.model'), value: values.model, widen: { model: '', plugin: '' } },
    { key: 'key', label: t('usage.key'), value: values.key && keyName, widen: { key: '' } },
    { key: 'channel', label: t('tasks.channel'), value: values.channel && channelName, widen: { channel: '' } },
  ].filter(({ value }) => value !== '');
  if (chips.length === 0) return null;
  return (
    <FilterChips
      chips={chips.map(({ widen, ...chip }) => ({ ...chip, onRemove: () => setAll(widen) }))}
      onClear={() => setAll({ model: '', plugin: '', key: '', channel: '' })}
    />
  );
}
