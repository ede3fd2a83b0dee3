import { Button } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../../api/types.ts';
import type { TextKey } from '../../../i18n/texts.ts';
import { ServerText } from '../../../ui/display/server-text.tsx';
import { statusTone, type Tone } from '../../../ui/display/status-label.tsx';
import { type Format, useFormat } from '../../../ui/display/use-format.ts';
import { Section } from '../../../ui/page/section.tsx';
import classes from './task-page.module.css';

type TimelineEntry = TaskDetail['timeline'][number];

const transitions: Readonly<Record<string, TextKey>> = {
  SUBMITTED: 'task.timeline.submitted',
  QUEUED: 'task.timeline.queued',
  IN_PROGRESS: 'task.timeline.running',
  SUCCESS: 'task.timeline.success',
  FAILURE: 'task.timeline.failure',
};

const failureClasses: Readonly<Record<string, TextKey>> = {
  transient: 'task.class.transient',
  auth: 'task.class.auth',
  not_found: 'task.class.not_found',
  unrecognized: 'task.class.unrecognized',
  hook_error: 'task.class.hook_error',
  transport_error: 'task.class.transport_error',
};

/** Longer timelines are folded: the first and last entries say most. */
const foldAbove = 8;
const keptAtStart = 3;
const keptAtEnd = 4;

/**
 * A timeline in which the vendor began, also where no status check came in between: then at
 * `startedAt`, in Unix seconds, which it said later. 0: it is not known.
 */
export function withStart(timeline: TaskDetail['timeline'], startedAt: number): TaskDetail['timeline'] {
  const hasStart = timeline.some(({ kind, status }) => kind === 'transition' && status === 'IN_PROGRESS');
  const end = timeline.findIndex(
    ({ kind, status }) => kind === 'transition' && (status === 'SUCCESS' || status === 'FAILURE'),
  );
  if (hasStart || startedAt === 0 || end < 0) return timeline;
  const { at } = timeline[end] as TimelineEntry;
  const start = { kind: 'transition', status: 'IN_PROGRESS', class: '', http_status: 0, detail: '' } as const;
  return timeline.toSpliced(end, 0, { ...start, at: Math.min(startedAt, at) } as TimelineEntry);
}

/** The history of a task, failed polls included. */
export function TaskTimeline({ timeline, failReason = '' }: Pick<TaskDetail, 'timeline'> & { failReason?: string }) {
  const { t } = useTranslation();
  const format = useFormat();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const isLong = timeline.length > foldAbove;
  const hidden = isLong && !isOpen ? timeline.length - keptAtStart - keptAtEnd : 0;
  const startedAt = timeline[0]?.at ?? 0;
  const since = format.durationLike(timeline.map(({ at }) => at - startedAt));
  const entries = timeline.map((entry, index) => ({ entry, index }));
  // What the task is doing now.
  const last = timeline.findLastIndex(({ kind }) => kind === 'transition');
  const shown = hidden === 0 ? entries : [...entries.slice(0, keptAtStart), ...entries.slice(-keptAtEnd)];
  return (
    <Section heading={t('task.timeline')}>
      <ol className={classes.timeline} id={id}>
        {shown.map(({ entry, index }) => (
          <TimelineLine
            key={index}
            entry={entry}
            failReason={failReason}
            isRefused={isRefused(entry, timeline)}
            since={index === 0 ? null : since(entry.at - startedAt)}
            current={index === last ? statusTone(entry) : undefined}
            isAfterGap={hidden > 0 && index === timeline.length - keptAtEnd}
          />
        ))}
      </ol>
      {isLong && (
        <Button
          variant="subtle"
          size="xs"
          style={{ alignSelf: 'flex-start' }}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? t('task.timeline.less') : t('task.timeline.more', { count: hidden })}
        </Button>
      )}
    </Section>
  );
}

/** Whether the vendor refused the request: it answered a client error and never accepted it. */
const isRefused = ({ status, http_status }: TimelineEntry, timeline: readonly TimelineEntry[]): boolean =>
  status === 'FAILURE' && http_status >= 400 && http_status < 500 && !timeline.some(isAccepted);

const isAccepted = ({ kind, status }: TimelineEntry): boolean => kind === 'transition' && status === 'SUBMITTED';

function TimelineLine({
  entry,
  failReason,
  isRefused,
  since,
  current,
  isAfterGap,
}: {
  entry: TimelineEntry;
  /** What the result says already. */
  failReason: string;
  isRefused: boolean;
  /** How long after the first entry; null for that one. */
  since: string | null;
  /** The tone of a task's present status, at its entry. */
  current: Tone | undefined;
  isAfterGap: boolean;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const meaning = failureClasses[entry.class];
  const isBad = entry.kind === 'poll_failure' || (entry.kind === 'transition' && entry.status === 'FAILURE');
  // An answer that came as it should says nothing of why a task failed.
  const hasStatus = entry.http_status >= 400 || (entry.http_status > 0 && entry.status !== 'FAILURE');
  const isMoney = entry.kind === 'created' || entry.kind === 'settled' || entry.kind === 'refunded';
  return (
    <li className={classes.entry} data-tone={current} data-bad={isBad || undefined} data-gap={isAfterGap || undefined}>
      <time dateTime={new Date(entry.at * 1000).toISOString()} title={format.time(entry.at)} className={classes.at}>
        {since === null ? <FirstTime at={entry.at} /> : `+${since}`}
      </time>
      <div className={classes.what}>
        <span>{isRefused ? t('task.timeline.rejected') : timelineText(entry, t, format)}</span>
        {(meaning !== undefined || hasStatus) && (
          <span className={classes.signs}>
            {meaning !== undefined && <span className={classes.sign}>{t(meaning)}</span>}
            {hasStatus && (
              <span className={classes.sign}>{t('task.timeline.http', { status: entry.http_status })}</span>
            )}
          </span>
        )}
        {!isMoney && entry.detail !== '' && entry.detail !== failReason && (
          <span className={classes.detail}>
            <ServerText text={entry.detail} sentence={entry.detail_sentence} />
          </span>
        )}
      </div>
    </li>
  );
}

/** A time of day, and below it the day. */
function FirstTime({ at }: { at: number }) {
  const { i18n } = useTranslation();
  const format = useFormat();
  const day = new Intl.DateTimeFormat(i18n.language, { day: 'numeric', month: 'short' });
  return (
    <>
      {format.clock(at)} <span className={classes.day}>{day.format(at * 1000)}</span>
    </>
  );
}

/** In entries about money, `detail` is the amount in quota. */
function timelineText({ kind, status, detail }: TimelineEntry, t: TFunction, format: Format): string {
  const quota = Number(detail);
  switch (kind) {
    case 'created':
      return quota > 0 ? t('task.timeline.created', { amount: format.money(quota) }) : t('task.timeline.createdFree');
    case 'settled':
      return t('task.timeline.settled', { amount: format.money(quota) });
    case 'refunded':
      return t('task.timeline.refunded', { amount: format.money(quota) });
    case 'poll_failure':
      return t('task.timeline.pollFailure');
    case 'passed_over':
      return t('task.timeline.passedOver');
    case 'fell_back':
      return t('task.timeline.fellBack');
    case 'late_success':
      return t('task.timeline.late');
    default:
      return t(transitions[status] ?? 'task.timeline.running');
  }
}
