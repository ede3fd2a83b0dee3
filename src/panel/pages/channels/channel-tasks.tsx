import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskPage } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { PlainTable } from '../../ui/display/data-table.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Section } from '../../ui/page/section.tsx';
import { TaskBrief, useTaskColumns } from '../tasks/use-task-columns.tsx';

const shown = 10;

/** The latest tasks that went through a channel. */
export function ChannelTasks({ channelId }: { channelId: number }) {
  const { t } = useTranslation();
  const tasks = useApiQuery<TaskPage>(`/api/task?scope=all&channel_id=${channelId}&page_size=${shown}`);
  const columns = useTaskColumns({ all: true, tasks: tasks.data?.items }).filter(({ key }) => key !== 'channel');
  return (
    <Section
      heading={t('channels.lastTasks')}
      actions={
        <Anchor component={Link} to={`/tasks?scope=all&channel=${channelId}`} size="sm">
          {t('channels.allTasks')}
        </Anchor>
      }
    >
      <QueryResult query={tasks}>
        {({ items }) =>
          items.length === 0 ? (
            t('channels.noTasks')
          ) : (
            <PlainTable
              label={t('channels.lastTasks')}
              columns={columns}
              rows={items}
              rowKey={({ id }) => id}
              brief={(task) => <TaskBrief task={task} all />}
            />
          )
        }
      </QueryResult>
    </Section>
  );
}
