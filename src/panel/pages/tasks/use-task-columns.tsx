import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskSummary } from '../../api/types.ts';
import type { Column } from '../../ui/display/data-table.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { isFinished } from './is-finished.ts';
import { sentAt } from './sent-at.ts';
import classes from './task-columns.module.css';
import { TaskPoster } from './task-poster.tsx';
import { TaskProgress } from './task-progress.tsx';
import { useChannelNames, usePluginNames, useUserNames } from './use-display-names.ts';

/** `all` adds the columns for user and channel. */
export function useTaskColumns({ all }: { all: boolean }): readonly Column<TaskSummary>[] {
  const { t } = useTranslation();
  const format = useFormat();
  const plugins = usePluginNames();
  const channels = useChannelNames();
  const users = useUserNames(all);
  return useMemo((): Column<TaskSummary>[] => {
    const ownerColumns: Column<TaskSummary>[] = [
      {
        key: 'user',
        heading: t('tasks.column.user'),
        render: ({ user_id }) => users.get(String(user_id)) ?? t('tasks.userNumber', { id: user_id ?? 0 }),
      },
      {
        key: 'channel',
        heading: t('tasks.channel'),
        render: ({ channel_id }) =>
          channels.get(String(channel_id)) ?? t('tasks.channelNumber', { id: channel_id ?? 0 }),
      },
    ];
    return [
      {
        key: 'task',
        heading: t('tasks.column.task'),
        render: (task) => (
          <div className={classes.row}>
            <TaskPoster task={task} />
            <div className={classes.task}>
              <Link to={`/tasks/${encodeURIComponent(task.id)}`} className={classes.name}>
                {task.input || t('tasks.withoutInput', { model: task.model })}
              </Link>
              <span className={classes.model}>
                {task.model}
                <span aria-hidden="true"> · </span>
                {plugins.get(task.platform) ?? task.platform}
              </span>
            </div>
          </div>
        ),
      },
      { key: 'status', heading: t('tasks.status'), render: (task) => <TaskProgress task={task} /> },
      ...(all ? ownerColumns : []),
      {
        key: 'cost',
        heading: t('tasks.column.cost'),
        numeric: true,
        render: ({ quota }) => (quota === 0 ? '–' : format.money(quota)),
      },
      {
        key: 'took',
        minor: true,
        heading: t('tasks.column.took'),
        numeric: true,
        render: (task) =>
          isFinished(task) && task.finish_time > 0 ? format.duration(task.finish_time - sentAt(task)) : '–',
      },
      {
        key: 'when',
        heading: t('tasks.column.when'),
        numeric: true,
        render: (task) => (
          <time
            className={classes.when}
            dateTime={new Date(sentAt(task) * 1000).toISOString()}
            title={format.time(sentAt(task))}
          >
            {format.ago(sentAt(task))}
          </time>
        ),
      },
    ];
  }, [t, format, plugins, channels, users, all]);
}
