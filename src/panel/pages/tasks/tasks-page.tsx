import { ActionIcon, Button, Group, SegmentedControl, Text, VisuallyHidden } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconLayoutGrid, IconList } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { CallableModel, TaskPage, TaskSummary } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState, NoMatches } from '../../ui/display/empty-state.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { NoModels } from '../../ui/page/no-models.tsx';
import { Page } from '../../ui/page/page.tsx';
import { DataTable, TableSkeleton } from '../../ui/table/data-table.tsx';
import { ExportMenu } from '../../ui/table/export-menu.tsx';
import { BulkBar } from './bulk/bulk-actions.tsx';
import { FailureReasons } from './failure-reasons.tsx';
import { isFinished } from './read-task.ts';
import { SavedViews } from './saved-views.tsx';
import { TaskFilterChips, TaskFilters } from './task-filters.tsx';
import { useListPreferences } from './use-saved-views.ts';
import { TaskBrief, useTaskColumns, useTaskTitle } from './use-task-columns.tsx';
import { narrowingNames, rowsPath, type TaskQuery, useTaskQuery } from './use-task-query.ts';

const runningRefreshMs = 2500;
const idleRefreshMs = 20_000;

const TaskGallery = lazy(() =>
  import('./gallery/task-gallery.tsx').then((module) => ({ default: module.TaskGallery })),
);

/** The user's own tasks, or all tasks for administrators. Running tasks are refreshed. */
export function TasksPage() {
  const { t } = useTranslation();
  const tasks = useTaskQuery();
  const [{ pageSize }, changePreferences] = useListPreferences();
  const isUnused = useIsUnused(tasks, pageSize);
  if (isUnused) {
    return (
      <Page heading={t('tasks.heading')}>
        <NoModels isOfTasks />
      </Page>
    );
  }
  return (
    <Page
      heading={t('tasks.heading')}
      actions={
        <>
          <SavedViews />
          <ExportMenu
            path="/api/task/export"
            query={{ ...tasks.query, order: tasks.sort === 'oldest' ? 'asc' : null }}
            name="tasks"
          />
          <LayoutSwitch tasks={tasks} />
          <Button component={Link} to="/playground">
            {t('tasks.new')}
          </Button>
        </>
      }
    >
      <div>
        <TaskFilters tasks={tasks} pageSize={pageSize} />
        <TaskFilterChips tasks={tasks} />
        {tasks.filters.values.status === 'FAILURE' && <FailureReasons tasks={tasks} />}
        {tasks.isGallery ? (
          <Suspense fallback={<TableSkeleton />}>
            <TaskGallery tasks={tasks} empty={<NoTasks tasks={tasks} />} />
          </Suspense>
        ) : (
          <TaskTable
            tasks={tasks}
            pageSize={pageSize}
            onPageSize={(size) => {
              changePreferences({ pageSize: size });
              tasks.filters.setPage(1);
            }}
          />
        )}
      </div>
    </Page>
  );
}

/**
 * Whether an administrator's gateway has neither tasks nor models: then there is nothing to filter,
 * and the playground has nothing to offer. False while it is unknown.
 */
function useIsUnused(tasks: TaskQuery, pageSize: number): boolean {
  const isAdmin = useRole() >= roles.admin;
  const own = useApiQuery<TaskPage>(rowsPath(tasks, pageSize), {
    enabled: isAdmin && !tasks.isGallery && !tasks.isNarrowed,
  });
  const hasNone = isAdmin && !tasks.isNarrowed && own.data?.total === 0;
  const models = useApiQuery<CallableModel[]>('/api/model', { enabled: hasNone });
  const everyones = useEveryones(tasks, hasNone);
  return hasNone && models.data?.length === 0 && (tasks.all || everyones.data?.total === 0);
}

/** Whether others have tasks, where the list shows an administrator's own. */
const useEveryones = ({ all, query }: TaskQuery, enabled: boolean) =>
  useApiQuery<TaskPage>(withQuery('/api/task', { page_size: 1, ...query, scope: 'all' }), {
    enabled: enabled && !all,
    keepPrevious: false,
  });

type TaskTableProps = { tasks: TaskQuery; pageSize: number; onPageSize(size: number): void };

function TaskTable({ tasks, pageSize, onPageSize }: TaskTableProps) {
  const { t } = useTranslation();
  const toTitle = useTaskTitle();
  const { filters, all, query, sort } = tasks;
  const [chosen, setChosen] = useState<ReadonlySet<string | number>>(new Set());
  const found = useApiQuery<TaskPage>(rowsPath(tasks, pageSize), {
    refreshMs: (data) => (data?.items.every(isFinished) === false ? runningRefreshMs : idleRefreshMs),
  });
  const columns = useTaskColumns({ all, tasks: found.data?.items, sort });
  return (
    <>
      <SearchedNote searched={found.data?.searched ?? null} note={noteFor(query, all)} />
      <DataTable
        label={t('tasks.heading')}
        query={found}
        columns={columns}
        rowKey={(task) => task.id}
        onPage={(next) => {
          setChosen(new Set());
          filters.setPage(next);
        }}
        onPageSize={onPageSize}
        isDense
        sort={sort}
        onSort={(value) => filters.set('sort', value === 'newest' ? '' : value)}
        selection={{
          keys: chosen,
          label: (task) => t('tasks.choose', { title: toTitle(task).slice(0, 80) }),
          onChange: setChosen,
        }}
        brief={(task: TaskSummary) => <TaskBrief task={task} all={all} tasks={found.data?.items} />}
        empty={<NoTasks tasks={tasks} />}
      />
      <BulkBar
        tasks={found.data?.items.filter(({ id }) => chosen.has(id)) ?? []}
        onClear={() => setChosen(new Set())}
      />
    </>
  );
}

function noteFor({ q, user_id: userId }: TaskQuery['query'], all: boolean): SearchedNoteText {
  if (q) return 'tasks.searched';
  return all && !userId ? 'tasks.looked' : 'tasks.lookedOfUser';
}

type SearchedNoteText = 'tasks.searched' | 'tasks.looked' | 'tasks.lookedOfUser';

/** Says what was searched where that was not everything. */
function SearchedNote({ searched, note }: { searched: number | null; note: SearchedNoteText }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (searched === null) return null;
  return (
    <Text size="sm" c="dimmed" mb="sm" role="status">
      {t(note, { tasks: format.number(searched) })}
    </Text>
  );
}

function NoTasks({ tasks }: { tasks: TaskQuery }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const { filters, isNarrowed } = tasks;
  const everyones = useEveryones(tasks, isAdmin);
  const models = useApiQuery<CallableModel[]>('/api/model', { enabled: isAdmin && !isNarrowed });
  const toEveryones = (everyones.data?.total ?? 0) > 0 && (
    <Button onClick={() => filters.set('scope', 'all')}>
      {t(filters.values.q === '' ? 'tasks.showEveryones' : 'tasks.searchEveryones')}
    </Button>
  );
  if (isNarrowed) {
    const { q, ...others } = filters.values;
    const hasOthers = narrowingNames.some((name) => name !== 'q' && others[name] !== '');
    const text =
      q === '' ? t('tasks.noMatchFilters') : t(hasOthers ? 'tasks.noMatchText' : 'tasks.noMatchFor', { text: q });
    return <NoMatches text={text} onClear={filters.clear} others={toEveryones} />;
  }
  // Without models the playground has nothing to offer either.
  if (isAdmin && models.data?.length === 0 && !toEveryones) return <NoModels isOfTasks />;
  return (
    <EmptyState
      heading={t(toEveryones ? 'home.noneOfYours' : 'tasks.empty')}
      text={t('tasks.emptyText')}
      action={
        <Group gap="sm" justify="center">
          {toEveryones}
          <Button component={Link} to="/playground" variant="default">
            {t('tasks.emptyAction')}
          </Button>
        </Group>
      }
    />
  );
}

const layouts = [
  { value: '', text: 'tasks.asList', Icon: IconList },
  { value: 'gallery', text: 'tasks.asGallery', Icon: IconLayoutGrid },
] as const;

/** Between the list and the gallery: both, or on a phone the one that is not shown. */
function LayoutSwitch({ tasks: { filters, isGallery } }: { tasks: TaskQuery }) {
  const { t } = useTranslation();
  const isPhone = useMediaQuery('(max-width: 639px)', undefined, { getInitialValueInEffect: false }) === true;
  const [list, gallery] = layouts;
  const { value, text, Icon } = isGallery ? list : gallery;
  if (isPhone) {
    return (
      <ActionIcon variant="default" size={36} aria-label={t(text)} onClick={() => filters.set('layout', value)}>
        <Icon size={18} stroke={1.6} />
      </ActionIcon>
    );
  }
  return (
    <SegmentedControl
      aria-label={t('tasks.heading')}
      value={isGallery ? gallery.value : list.value}
      onChange={(layout) => filters.set('layout', layout)}
      data={layouts.map((each) => ({
        value: each.value,
        label: (
          <>
            <each.Icon size={18} stroke={1.6} aria-hidden="true" style={{ display: 'block' }} />
            <VisuallyHidden>{t(each.text)}</VisuallyHidden>
          </>
        ),
      }))}
    />
  );
}
