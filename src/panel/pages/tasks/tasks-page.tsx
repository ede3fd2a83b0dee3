import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskSummary } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';
import { roles, useRole } from '../../session/roles.ts';
import { DataTable, type PagedRows } from '../../ui/display/data-table.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { type Filters, useFilters } from '../../ui/form/use-filters.ts';
import { Page } from '../../ui/page/page.tsx';
import { isFinished } from './is-finished.ts';
import { TaskFilters, taskFilterNames } from './task-filters.tsx';
import { useTaskColumns } from './use-task-columns.tsx';

const runningRefreshMs = 2500;
const idleRefreshMs = 20_000;

/** The user's own tasks, or all tasks for administrators. Running tasks are refreshed. */
export function TasksPage() {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const filters = useFilters(taskFilterNames);
  const { values, page, setPage } = filters;
  const all = isAdmin && values.scope === 'all';
  const tasks = useApiQuery<PagedRows<TaskSummary>>(
    withQuery('/api/task', {
      page,
      page_size: 20,
      scope: all ? 'all' : null,
      status: values.status,
      platform: values.platform,
      channel_id: isAdmin ? values.channel : null,
      q: values.q,
    }),
    { refreshMs: (data) => (data?.items.every(isFinished) === false ? runningRefreshMs : idleRefreshMs) },
  );
  const columns = useTaskColumns({ all });

  return (
    <Page
      heading={t('tasks.heading')}
      intro={t('tasks.intro')}
      actions={
        <Button component={Link} to="/playground">
          {t('tasks.new')}
        </Button>
      }
    >
      <div>
        <TaskFilters filters={filters} />
        <DataTable
          label={t('tasks.heading')}
          query={tasks}
          columns={columns}
          rowKey={(task) => task.id}
          onPage={setPage}
          empty={<NoTasks filters={filters} />}
        />
      </div>
    </Page>
  );
}

function NoTasks({ filters }: { filters: Filters<(typeof taskFilterNames)[number]> }) {
  const { t } = useTranslation();
  const { q, status, platform, channel } = filters.values;
  if ([q, status, platform, channel].some((value) => value !== '')) {
    return (
      <EmptyState
        heading={t('tasks.noMatch')}
        text={t('tasks.noMatchText')}
        action={
          <Button variant="default" onClick={filters.clear}>
            {t('tasks.clear')}
          </Button>
        }
      />
    );
  }
  return (
    <EmptyState
      heading={t('tasks.empty')}
      text={t('tasks.emptyText')}
      action={
        <Button component={Link} to="/playground" variant="default">
          {t('tasks.emptyAction')}
        </Button>
      }
    />
  );
}
