import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useNow } from '../../ui/display/use-now.ts';
import { isFinished } from './is-finished.ts';
import { sentAt, tookSeconds } from './sent-at.ts';
import classes from './task-headline.module.css';
import { TaskProgress } from './task-progress.tsx';

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
