import { useTranslation } from 'react-i18next';
import type { TaskPage } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';
import { DataTable } from '../../ui/display/data-table.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { useFilters } from '../../ui/form/use-filters.ts';
import { TaskBrief, useTaskColumns } from '../tasks/use-task-columns.tsx';

/** The tasks of one user, the newest first. */
export function UserTasks({ userId }: { userId: number }) {
  const { t } = useTranslation();
  const { page, setPage } = useFilters([]);
  const query = useApiQuery<TaskPage>(withQuery('/api/task', { scope: 'all', user_id: userId, page }));
  return (
    <DataTable
      label={t('users.tab.tasks')}
      query={query}
      columns={useTaskColumns({ all: true, tasks: query.data?.items }).filter(({ key }) => key !== 'user')}
      rowKey={({ id }) => id}
      onPage={setPage}
      brief={(task) => <TaskBrief task={task} all={false} />}
      empty={<EmptyState heading={t('users.tasks.none')} text={t('users.tasks.noneText')} />}
    />
  );
}
