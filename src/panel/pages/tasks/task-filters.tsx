import { Button, Indicator, Popover, SegmentedControl, Select, Stack } from '@mantine/core';
import { IconAdjustmentsHorizontal } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { SearchField } from '../../ui/form/search-field.tsx';
import { useDebouncedFilter } from '../../ui/form/use-debounced-filter.ts';
import { TaskFilterFields } from './task-filter-fields.tsx';
import classes from './task-filters.module.css';
import { narrowingNames, type TaskQuery, taskSorts } from './use-task-query.ts';

export const taskStatusTexts = {
  QUEUED: 'task.status.QUEUED',
  SUBMITTED: 'task.status.SUBMITTED',
  IN_PROGRESS: 'task.status.IN_PROGRESS',
  SUCCESS: 'task.status.SUCCESS',
  FAILURE: 'task.status.FAILURE',
  NOT_START: 'task.status.NOT_START',
} as const satisfies Record<string, TextKey>;

/** The filters of the task list. They are in the address. */
export function TaskFilters({ tasks }: { tasks: TaskQuery }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const { filters, isGallery, sort } = tasks;
  const { values, set } = filters;
  const search = useDebouncedFilter(values.q, (text) => set('q', text));
  const hidden = narrowingNames.filter((name) => name !== 'q' && name !== 'status' && values[name] !== '').length;
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
        placeholder={t('tasks.anyStatus')}
        clearable
        value={values.status || null}
        onChange={(status) => filters.setAll({ status: status ?? '', reason: '' })}
        data={Object.entries(taskStatusTexts).map(([value, text]) => ({ value, label: t(text) }))}
      />
      <Indicator disabled={hidden === 0} label={hidden} size={18} offset={4}>
        <Popover position="bottom-end" width={320} trapFocus returnFocus hideDetached={false}>
          <Popover.Target>
            <Button
              variant="default"
              fullWidth
              leftSection={<IconAdjustmentsHorizontal size={17} stroke={1.6} aria-hidden="true" />}
            >
              {t('tasks.filters')}
            </Button>
          </Popover.Target>
          <Popover.Dropdown aria-label={t('tasks.filters')}>
            <Stack gap="sm">
              <TaskFilterFields tasks={tasks} />
            </Stack>
          </Popover.Dropdown>
        </Popover>
      </Indicator>
      <Select
        className={classes.sort}
        aria-label={t('tasks.sort')}
        allowDeselect={false}
        value={isGallery && sort !== 'oldest' ? 'newest' : sort}
        onChange={(next) => set('sort', next === 'newest' ? '' : (next ?? ''))}
        data={(isGallery ? taskSorts.slice(0, 2) : taskSorts).map((value) => ({
          value,
          label: t(`tasks.sort.${value}`),
        }))}
      />
      {tasks.isNarrowed && (
        <Button
          variant="subtle"
          onClick={() => filters.setAll(Object.fromEntries(narrowingNames.map((name) => [name, ''])))}
        >
          {t('tasks.clear')}
        </Button>
      )}
    </search>
  );
}
