import { Anchor, CloseButton, Group, Menu, UnstyledButton } from '@mantine/core';
import { IconPhoto } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TaskDetail, TaskSummary } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel, TaskStatus } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import type { PagedRows } from '../../ui/table/data-table.tsx';
import { latestTasksPath } from '../tasks/read-task.ts';
import { TaskFailure, TaskHeadline } from '../tasks/task/task-headline.tsx';
import { TaskResult } from '../tasks/task/task-result.tsx';
import { useTask } from '../tasks/task/use-task.ts';
import { RetryButton, useRetry, useTodaysPrice } from '../tasks/task/use-task-actions.tsx';
import { hasPicture, TaskPoster } from '../tasks/task-poster.tsx';
import classes from './playground.module.css';
import type { RefusedRun } from './submit-bar.tsx';

/** Two models, four tasks each. */
const maxResults = 8;
/** Latest tasks in the line below. */
const maxLatest = 12;

type ResultPaneProps = {
  /** The tasks that are shown, each in a column of its own. */
  taskIds: readonly string[];
  refusedRuns: readonly RefusedRun[];
  onShow(taskIds: readonly string[]): void;
  onRefused(runs: readonly RefusedRun[]): void;
};

/** What comes of a run, beside the request and always in sight, and the latest tasks below it. */
export function ResultPane({ taskIds, refusedRuns, onShow, onRefused }: ResultPaneProps) {
  const { t } = useTranslation();
  const isOneOfMany = taskIds.length + refusedRuns.length > 1;
  return (
    <div className={classes.pane}>
      {taskIds.length + refusedRuns.length === 0 ? (
        <div className={classes.blank}>
          <IconPhoto size={34} stroke={1.2} aria-hidden="true" />
          <p>{t('play.result.none')}</p>
        </div>
      ) : (
        <div className={classes.results} data-many={isOneOfMany || undefined}>
          {taskIds.slice(0, maxResults).map((id) => (
            <RunningTask
              key={id}
              id={id}
              isOneOfMany={isOneOfMany}
              isFirst={id === taskIds[0]}
              onAgain={(next) => onShow(taskIds.map((each) => (each === id ? next : each)))}
              onClose={() => onShow(taskIds.filter((each) => each !== id))}
            />
          ))}
          {refusedRuns.map((run, index) => (
            <RefusedTask
              key={`${run.model} ${index}`}
              run={run}
              onClose={() => onRefused(refusedRuns.filter((each) => each !== run))}
            />
          ))}
        </div>
      )}
      <TaskHistory
        selected={taskIds}
        onSelect={(id) => {
          onRefused([]);
          onShow([id]);
        }}
      />
    </div>
  );
}

type RunningTaskProps = {
  id: string;
  isOneOfMany: boolean;
  /** A phone shows it from its top on, once it is there. */
  isFirst?: boolean;
  /** Shows the task that repeats it; without it, it cannot be repeated here. */
  onAgain?(taskId: string): void;
  onClose?(): void;
};

/** The submitted task: its progress and cost, then its result, and what can be done with it. */
export function RunningTask({ id, isOneOfMany, isFirst = true, onAgain, onClose }: RunningTaskProps) {
  const { t } = useTranslation();
  const task = useTask(id, { isOneOfMany });
  const container = useRef<HTMLDivElement>(null);
  const isLoaded = task.data !== undefined;
  useEffect(() => {
    // The result grows below what is shown while it runs.
    const isPhone = window.matchMedia('(max-width: 760px)').matches;
    if (isLoaded && (isFirst || !isPhone)) container.current?.scrollIntoView({ block: isPhone ? 'start' : 'nearest' });
  }, [isLoaded, isFirst]);
  return (
    <div ref={container} className={classes.result}>
      <Section
        heading={task.data?.model ?? t('play.task')}
        actions={onClose && <CloseButton aria-label={t('play.task.close')} onClick={onClose} />}
      >
        <QueryResult query={task}>{(data) => <TaskOutcome task={data} onAgain={onAgain} />}</QueryResult>
      </Section>
    </div>
  );
}

function TaskOutcome({ task, onAgain }: { task: TaskDetail; onAgain: ((taskId: string) => void) | undefined }) {
  const { t } = useTranslation();
  const retry = useRetry(task.id, (next) => onAgain?.(next));
  const canRetry = onAgain !== undefined && task.retryable;
  const price = useTodaysPrice(task, canRetry);
  const details = `/tasks/${encodeURIComponent(task.id)}`;
  const again = canRetry && <RetryButton retry={retry} cost={task.bill.reserved} price={price} size="xs" />;
  const hasFiles = task.status === 'SUCCESS' && task.artifacts.length > 0;
  return (
    <>
      <TaskHeadline task={task} cost={task.bill.settled ?? task.quota} />
      {task.status === 'FAILURE' ? (
        <TaskFailure task={task} />
      ) : (
        <TaskResult
          task={task}
          actions={again}
          entries={
            <Menu.Item component={Link} to={details}>
              {t('play.task.open')}
            </Menu.Item>
          }
        />
      )}
      {retry.isError && <ErrorNotice error={retry.error} />}
      {!hasFiles && (
        <Group justify="space-between" gap="sm">
          <Anchor component={Link} to={details} size="sm">
            {t('play.task.open')}
          </Anchor>
          {again}
        </Group>
      )}
    </>
  );
}

/** A run of a comparison that was refused, in its own column. */
function RefusedTask({ run: { model, error }, onClose }: { run: RefusedRun; onClose(): void }) {
  const { t } = useTranslation();
  return (
    <Section heading={model} actions={<CloseButton aria-label={t('play.task.close')} onClick={onClose} />}>
      <ErrorNotice error={error} />
    </Section>
  );
}

type TaskHistoryProps = { selected: readonly string[]; onSelect(id: string): void };

/** The user's latest tasks as pictures in one line; one click shows a task's result. */
function TaskHistory({ selected, onSelect }: TaskHistoryProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const tasks = useApiQuery<PagedRows<TaskSummary>>(latestTasksPath);
  const items = tasks.data?.items.slice(0, maxLatest) ?? [];
  if (items.length === 0) return null;
  return (
    <nav aria-label={t('play.history')} className={classes.history}>
      <div className={classes.historyTop}>
        <h2 className={classes.heading}>{t('play.history')}</h2>
        <Anchor component={Link} to="/tasks" size="sm">
          {t('task.back')}
        </Anchor>
      </div>
      <ul>
        {items.map((task) => (
          <li key={task.id}>
            <UnstyledButton
              className={classes.task}
              aria-pressed={selected.includes(task.id)}
              onClick={() => onSelect(task.id)}
            >
              {hasPicture(task) ? (
                <TaskPoster task={task} size="tile" />
              ) : (
                <span className={classes.noPicture}>
                  {task.queue !== undefined || task.status === 'QUEUED' ? (
                    <StatusLabel tone="waiting">{t('play.task.queued')}</StatusLabel>
                  ) : (
                    <TaskStatus status={task.status} />
                  )}
                </span>
              )}
              <span className={classes.prompt}>{task.input || task.model}</span>
              <span className={classes.when}>{format.ago(task.created_at)}</span>
            </UnstyledButton>
          </li>
        ))}
      </ul>
    </nav>
  );
}
