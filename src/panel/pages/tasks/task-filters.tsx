import { Button, Group, Popover, SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core';
import { IconAdjustmentsHorizontal } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallableModel, TaskPage } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ServerText } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { type FilterChip, FilterChips, SearchField } from '../../ui/form/filter-bar.tsx';
import { NameSelect, useNamed } from '../../ui/form/name-select.tsx';
import { useDebouncedFilter } from '../../ui/form/use-filters.ts';
import { useFailureReasons } from './failure-reasons.tsx';
import classes from './tasks-page.module.css';
import { usePluginNames } from './use-plugin-names.ts';
import { narrowingNames, periods, rowsPath, type TaskQuery, taskSorts } from './use-task-query.ts';

const taskStatusTexts = {
  QUEUED: 'task.status.QUEUED',
  SUBMITTED: 'task.status.SUBMITTED',
  IN_PROGRESS: 'task.status.IN_PROGRESS',
  SUCCESS: 'task.status.SUCCESS',
  FAILURE: 'task.status.FAILURE',
  NOT_START: 'task.status.NOT_START',
} as const satisfies Record<string, TextKey>;

/** The filters of the task list. They are in the address. */
export function TaskFilters({ tasks, pageSize }: { tasks: TaskQuery; pageSize: number }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const isAdmin = useRole() >= roles.admin;
  const { filters } = tasks;
  const { values, set } = filters;
  const search = useDebouncedFilter(values.q, (text) => set('q', text));
  return (
    <search className={classes.bar}>
      {isAdmin && (
        <SegmentedControl
          aria-label={t('tasks.scope')}
          value={values.scope === 'all' ? 'all' : 'own'}
          onChange={(scope) => filters.setAll({ scope: scope === 'all' ? 'all' : '', user: '', key: '' })}
          data={[
            { value: 'own', label: t('tasks.scope.own') },
            { value: 'all', label: t('tasks.scope.all') },
          ]}
        />
      )}
      <SearchField
        className={classes.search}
        aria-label={t('app.search')}
        placeholder={t('tasks.search')}
        {...search}
      />
      <Select
        className={classes.choice}
        aria-label={t('tasks.status')}
        allowDeselect={false}
        value={values.status}
        onChange={(status) => filters.setAll({ status: status ?? '', reason: '' })}
        data={[
          { value: '', label: t('tasks.anyStatus') },
          ...Object.entries(taskStatusTexts).map(([value, text]) => ({ value, label: t(text) })),
        ]}
      />
      <Popover
        opened={isOpen}
        onChange={setOpen}
        position="bottom-end"
        width="min(358px, calc(100vw - 32px))"
        trapFocus
        returnFocus
        hideDetached={false}
        middlewares={{ flip: false, shift: { padding: 16 }, size: { padding: 16 } }}
      >
        <Popover.Target>
          <Button
            className={classes.filters}
            variant="default"
            onClick={() => setOpen(!isOpen)}
            leftSection={<IconAdjustmentsHorizontal size={17} stroke={1.6} aria-hidden="true" />}
          >
            {t('tasks.filters')}
          </Button>
        </Popover.Target>
        <Popover.Dropdown aria-label={t('tasks.filters')} className={classes.panel ?? ''}>
          <TaskFilterFields tasks={tasks} pageSize={pageSize} onClose={() => setOpen(false)} />
        </Popover.Dropdown>
      </Popover>
      <SortSelect tasks={tasks} />
    </search>
  );
}

/** The order of the list: on a phone, among the filters. */
function SortSelect({ tasks, isInFilters = false }: { tasks: TaskQuery; isInFilters?: boolean }) {
  const { t } = useTranslation();
  const { filters, isGallery, sort } = tasks;
  return (
    <Select
      className={isInFilters ? classes.sortInFilters : classes.sort}
      {...(isInFilters ? { label: t('tasks.sort') } : { 'aria-label': t('tasks.sort') })}
      allowDeselect={false}
      comboboxProps={{ withinPortal: !isInFilters }}
      value={isGallery && sort !== 'oldest' ? 'newest' : sort}
      onChange={(next) => filters.set('sort', next === 'newest' ? '' : (next ?? ''))}
      data={(isGallery ? taskSorts.slice(0, 2) : taskSorts).map((value) => ({
        value,
        label: t(`tasks.sort.${value}`),
      }))}
    />
  );
}

/** What the bar has no room for: all but the text and the status. */
const chipNames = narrowingNames.filter((name) => name !== 'q' && name !== 'status');

const clearChips = ({ filters }: Pick<TaskQuery, 'filters'>): void =>
  filters.setAll(Object.fromEntries(chipNames.map((name) => [name, ''])));

/** What a selection offers; a value of the address that is not known is offered too. */
const withChosen = (names: ReadonlyMap<string, string>, chosen: string) => {
  const known = [...names].map(([value, name]) => ({ value, label: name }));
  return chosen === '' || names.has(chosen) ? known : [...known, { value: chosen, label: chosen }];
};

/** The filters that the bar has no room for. */
function TaskFilterFields({ tasks, pageSize, onClose }: { tasks: TaskQuery; pageSize: number; onClose(): void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { filters, all } = tasks;
  // What the list reads, too. The gallery counts nothing.
  const found = useApiQuery<TaskPage>(rowsPath(tasks, pageSize), { enabled: !tasks.isGallery });
  const count = tasks.isGallery ? undefined : found.data?.total;
  const isAdmin = useRole() >= roles.admin;
  const { values, set } = filters;
  const plugins = usePluginNames();
  const models = useApiQuery<CallableModel[]>('/api/model');
  const [isCustom, setCustom] = useState(values.from !== '' || values.to !== '');
  const modelNames = new Map(models.data?.map(({ model }) => [model, model]));
  const inPlace = { comboboxProps: { withinPortal: false } } as const;
  const shared = { clearable: true, ...inPlace } as const;
  return (
    <>
      <Stack gap="sm" className={classes.fields ?? ''}>
        <SortSelect tasks={tasks} isInFilters />
        <Select
          {...shared}
          label={t('tasks.period')}
          placeholder={t('tasks.anyTime')}
          value={isCustom ? 'custom' : values.period || null}
          onChange={(period) => {
            setCustom(period === 'custom');
            filters.setAll({ period: period === 'custom' ? '' : (period ?? ''), from: '', to: '' });
          }}
          data={[
            ...periods.map((value) => ({ value, label: t(`tasks.period.${value as '24h'}`) })),
            { value: 'custom', label: t('usage.period.custom') },
          ]}
        />
        {isCustom && (
          <Group grow gap="sm">
            <TextInput
              type="date"
              label={t('tasks.from')}
              value={values.from}
              max={values.to || undefined}
              onChange={({ currentTarget }) => filters.setAll({ from: currentTarget.value, period: '' })}
            />
            <TextInput
              type="date"
              label={t('tasks.to')}
              value={values.to}
              min={values.from || undefined}
              onChange={({ currentTarget }) => filters.setAll({ to: currentTarget.value, period: '' })}
            />
          </Group>
        )}
        <Select
          {...shared}
          label={t('tasks.model')}
          placeholder={t('tasks.anyModel')}
          searchable
          value={values.model || null}
          onChange={(model) => set('model', model ?? '')}
          data={withChosen(modelNames, values.model)}
        />
        <Select
          {...shared}
          label={t('tasks.plugin')}
          placeholder={t('tasks.anyPlugin')}
          value={values.platform || null}
          onChange={(platform) => set('platform', platform ?? '')}
          data={withChosen(plugins, values.platform)}
        />
        {isAdmin && (
          <NameSelect
            {...inPlace}
            path="/api/channel/names"
            label={t('tasks.channel')}
            placeholder={t('tasks.anyChannel')}
            value={values.channel}
            onChange={(channel) => set('channel', channel)}
          />
        )}
        {all && (
          <NameSelect
            {...inPlace}
            path="/api/user/names"
            label={t('tasks.column.user')}
            placeholder={t('tasks.anyUser')}
            value={values.user}
            onChange={(user) => filters.setAll({ user, key: '' })}
          />
        )}
        <NameSelect
          {...inPlace}
          path="/api/token/names"
          // The keys of the chosen user, of all users, or the reader's own.
          query={all ? { scope: 'all', user_id: values.user } : {}}
          hasOwners={all && values.user === ''}
          label={t('tasks.key')}
          placeholder={t('tasks.anyKey')}
          value={values.key}
          onChange={(key) => set('key', key)}
        />
      </Stack>
      <Group gap="sm" wrap="nowrap" className={classes.foot ?? ''}>
        {(isCustom || chipNames.some((name) => values[name] !== '')) && (
          <Button
            variant="default"
            onClick={({ currentTarget }) => {
              // The button goes; the keyboard stays among the filters.
              currentTarget.closest<HTMLElement>('[role="dialog"]')?.focus();
              setCustom(false);
              clearChips({ filters });
            }}
          >
            {t('filters.clear')}
          </Button>
        )}
        <Text size="sm" c="dimmed" role="status" ml="auto">
          {count !== undefined && t('tasks.failedCount', { count, shown: format.number(count) })}
        </Text>
        <Button onClick={onClose}>{t('keys.made.done')}</Button>
      </Group>
    </>
  );
}

type Name = Parameters<TaskQuery['filters']['set']>[0];

/** What narrows the list, beside the text that is searched, each to be removed. */
export function TaskFilterChips({ tasks: { filters, all, query } }: { tasks: TaskQuery }) {
  const { t, i18n } = useTranslation();
  const { values, set } = filters;
  const plugins = usePluginNames();
  const channel = useNamed({ path: '/api/channel/names', id: values.channel });
  const user = useNamed({ path: '/api/user/names', id: all ? values.user : '' });
  const key = useNamed({
    path: '/api/token/names',
    query: all ? { scope: 'all', user_id: values.user } : {},
    id: values.key,
  });
  const reasons = useFailureReasons(query, values.reason !== '');
  // The text and the status stand in the bar itself.
  if (chipNames.every((name) => values[name] === '')) return null;
  const day = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium' });
  const toDay = (text: string): string => {
    const date = new Date(`${text}T00:00`);
    return Number.isNaN(date.getTime()) ? text : day.format(date);
  };
  const chip = (name: Name, label: string, value: FilterChip['value']): FilterChip[] =>
    values[name] === '' ? [] : [{ key: name, label, value, onRemove: () => set(name, '') }];
  return (
    <FilterChips
      onClear={() => clearChips({ filters })}
      chips={[
        ...chip('period', t('tasks.period'), t(`tasks.period.${values.period as '24h'}`)),
        ...chip('from', t('tasks.from'), toDay(values.from)),
        ...chip('to', t('tasks.to'), toDay(values.to)),
        ...chip('model', t('tasks.model'), values.model),
        ...chip('platform', t('tasks.plugin'), plugins.get(values.platform) ?? values.platform),
        ...chip('channel', t('tasks.channel'), channel?.name ?? `#${values.channel}`),
        ...(all ? chip('user', t('tasks.column.user'), user?.name ?? `#${values.user}`) : []),
        ...chip('key', t('tasks.key'), key?.name ?? `#${values.key}`),
        ...chip(
          'reason',
          t('tasks.column.reason'),
          <ServerText
            text={values.reason}
            sentence={reasons.data?.find(({ reason }) => reason === values.reason)?.reason_sentence}
          />,
        ),
      ]}
    />
  );
}
