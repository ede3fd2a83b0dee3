import { Progress } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../../api/types.ts';
import type { TextKey } from '../../../i18n/texts.ts';
import { StatusLabel, TaskStatus, type Tone } from '../../../ui/display/status-label.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { isFinished, parsePercent, sentAt, tookSeconds } from '../read-task.ts';
import classes from './task-headline.module.css';

const running: Readonly<Record<string, { text: TextKey; tone: Tone }>> = {
  SUBMITTED: { text: 'task.status.SUBMITTED', tone: 'waiting' },
  QUEUED: { text: 'task.status.QUEUED', tone: 'waiting' },
  IN_PROGRESS: { text: 'task.status.IN_PROGRESS', tone: 'busy' },
};

/** A task's status and duration; screen readers announce changes. */
export function TaskHeadline({
  task,
}: {
  task: Pick<TaskDetail, 'status' | 'progress' | 'submit_time' | 'created_at' | 'finish_time'>;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const ended = isFinished(task);
  const now = useNow(!ended);
  const seconds = ended ? tookSeconds(task) : Math.max(0, Math.round(now - sentAt(task)));
  const duration = seconds === null ? null : format.duration(seconds);
  const state = running[task.status] ?? { text: 'task.status.NOT_START', tone: 'quiet' };
  const endedText = t(task.status === 'SUCCESS' ? 'task.status.SUCCESS' : 'task.status.FAILURE');
  return (
    <div className={classes.headline}>
      <div className={classes.state}>
        {ended ? (
          <StatusLabel tone={task.status === 'SUCCESS' ? 'good' : 'bad'}>
            {duration === null
              ? endedText
              : t(task.status === 'SUCCESS' ? 'task.finishedIn' : 'task.failedAfter', { duration })}
          </StatusLabel>
        ) : (
          <StatusLabel tone={state.tone}>{t('task.runningFor', { status: t(state.text), duration })}</StatusLabel>
        )}
      </div>
      {!ended && <TaskProgress task={task} wide />}
      <span className={classes.unseen} role="status">
        {ended ? endedText : t(state.text)}
      </span>
    </div>
  );
}

type TaskProgressProps = {
  task: { status: string; progress: string };
  /** Wide layout for the task's own page. */
  wide?: boolean;
};

/** The status and, while the task runs, its progress. */
export function TaskProgress({ task, wide = false }: TaskProgressProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const percent = isFinished(task) ? null : parsePercent(task.progress);
  return (
    <div className={classes.progress} data-wide={wide || undefined}>
      {!wide && <TaskStatus status={task.status} />}
      {percent !== null && (
        <div className={classes.line}>
          <Progress.Root size={wide ? 8 : 4} className={classes.bar}>
            <Progress.Section value={percent} aria-label={t('task.progress')} />
          </Progress.Root>
          <span className={classes.share}>{format.percent(percent / 100)}</span>
        </div>
      )}
    </div>
  );
}

/** Current time in Unix seconds; updates every second while `active`. */
function useNow(active: boolean): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!active) return;
    setNow(Date.now() / 1000);
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, [active]);
  return now;
}
