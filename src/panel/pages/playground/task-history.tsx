import { UnstyledButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TaskSummary } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import type { PagedRows } from '../../ui/display/data-table.tsx';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './task-history.module.css';

const tones: Readonly<Record<string, Tone>> = { SUCCESS: 'good', FAILURE: 'bad' };

type TaskHistoryProps = { selected: readonly string[]; onSelect(id: string): void };

/** The user's latest tasks in one line; one click shows a task's result. */
export function TaskHistory({ selected, onSelect }: TaskHistoryProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const tasks = useApiQuery<PagedRows<TaskSummary>>('/api/task?page_size=12');
  const items = tasks.data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <nav aria-label={t('play.history')} className={classes.history}>
      <h2 className={classes.heading}>{t('play.history')}</h2>
      <ul>
        {items.map((task) => (
          <li key={task.id}>
            <UnstyledButton
              className={classes.task}
              aria-pressed={selected.includes(task.id)}
              onClick={() => onSelect(task.id)}
            >
              <span className={classes.prompt}>{task.input || task.model}</span>
              <StatusLabel tone={tones[task.status] ?? 'busy'}>{format.ago(task.created_at)}</StatusLabel>
            </UnstyledButton>
          </li>
        ))}
      </ul>
    </nav>
  );
}
