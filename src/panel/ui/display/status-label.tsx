import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import classes from './status-label.module.css';

export type Tone = 'good' | 'bad' | 'busy' | 'waiting' | 'quiet';

const taskStatuses: Readonly<Record<string, { text: TextKey; tone: Tone }>> = {
  WAITING: { text: 'task.status.WAITING', tone: 'waiting' },
  NOT_START: { text: 'task.status.NOT_START', tone: 'quiet' },
  SUBMITTED: { text: 'task.status.SUBMITTED', tone: 'waiting' },
  QUEUED: { text: 'task.status.QUEUED', tone: 'waiting' },
  IN_PROGRESS: { text: 'task.status.IN_PROGRESS', tone: 'busy' },
  SUCCESS: { text: 'task.status.SUCCESS', tone: 'good' },
  FAILURE: { text: 'task.status.FAILURE', tone: 'bad' },
};

type StatusLabelProps = {
  tone: Tone;
  /** A sentence, which may take several lines. */
  wraps?: boolean;
  children: string;
};

/** A status in words, with a coloured dot. */
export function StatusLabel({ tone, wraps, children }: StatusLabelProps) {
  return (
    <span className={classes.mark} data-tone={tone} data-wraps={wraps || undefined}>
      {children}
    </span>
  );
}

/** The words for a task's status. */
export const statusText = ({ status }: { status: string }): TextKey =>
  taskStatuses[status]?.text ?? 'task.status.NOT_START';

/** The colour of a task's status. */
export const statusTone = ({ status }: { status: string }): Tone => taskStatuses[status]?.tone ?? 'quiet';

/** `isWaiting`: no vendor has the task yet, and none is being asked. */
export function TaskStatus({ status, isWaiting = false }: { status: string; isWaiting?: boolean }) {
  const { t } = useTranslation();
  const known = taskStatuses[isWaiting ? 'WAITING' : status];
  return <StatusLabel tone={known?.tone ?? 'quiet'}>{known === undefined ? status : t(known.text)}</StatusLabel>;
}
