import { Anchor, CloseButton, Group, UnstyledButton } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskSummary } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import type { PagedRows } from '../../ui/table/data-table.tsx';
import { TaskFailure } from '../tasks/task/task-failure.tsx';
import { TaskHeadline } from '../tasks/task/task-headline.tsx';
import { TaskResult } from '../tasks/task/task-result.tsx';
import { useTask } from '../tasks/task/use-task.ts';
import classes from './playground.module.css';
import type { RefusedRun } from './run-panel.tsx';

type RunningTaskProps = { id: string; isOneOfMany: boolean; onClose?: () => void };

/** The submitted task: its progress, then its result. */
export function RunningTask({ id, isOneOfMany, onClose }: RunningTaskProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const task = useTask(id, { isOneOfMany });
  const container = useRef<HTMLDivElement>(null);
  const isLoaded = task.data !== undefined;
  useEffect(() => {
    if (isLoaded) container.current?.scrollIntoView({ block: 'nearest' });
  }, [isLoaded]);
  return (
    <div ref={container}>
      <Section
        heading={isOneOfMany ? (task.data?.model ?? t('play.task')) : t('play.task')}
        actions={onClose && <CloseButton aria-label={t('play.task.close')} onClick={onClose} />}
      >
        <QueryResult query={task}>
          {(data) => (
            <>
              <TaskHeadline task={data} />
              {data.status === 'FAILURE' ? <TaskFailure task={data} /> : <TaskResult task={data} />}
              <Group justify="space-between" gap="sm">
                <Anchor component={Link} to={`/tasks/${encodeURIComponent(data.id)}`} size="sm">
                  {t('play.task.open')}
                </Anchor>
                {data.bill.settled !== null && <span>{format.money(data.bill.settled)}</span>}
              </Group>
            </>
          )}
        </QueryResult>
      </Section>
    </div>
  );
}

/** A run of a comparison that was refused, in its own column. */
export function RefusedTask({ run: { model, error }, onClose }: { run: RefusedRun; onClose(): void }) {
  const { t } = useTranslation();
  return (
    <Section heading={model} actions={<CloseButton aria-label={t('play.task.close')} onClick={onClose} />}>
      <ErrorNotice error={error} />
    </Section>
  );
}

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
