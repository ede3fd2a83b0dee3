import { Progress } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { TaskStatus } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { isFinished } from './is-finished.ts';
import { parsePercent } from './parse-percent.ts';
import classes from './task-progress.module.css';

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
