import { useMediaQuery } from '@mantine/hooks';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { translateOrQuote } from '../../api/translate-sentence.ts';
import type { TaskSummary } from '../../api/types.ts';
import { VendorWords } from '../../ui/display/server-text.tsx';
import { TaskStatus } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { type Column, RowLink } from '../../ui/table/data-table.tsx';
import { BriefText, RowBrief } from '../../ui/table/row-brief.tsx';
import { formatPosition, formatWait } from './queue-position.ts';
import { isFinished, parsePercent, sentAt, tookSeconds } from './read-task.ts';
import { TaskProgress } from './task/task-headline.tsx';
import { hasPicture, TaskPoster } from './task-poster.tsx';
import { usePluginNames } from './use-plugin-names.ts';
import classes from './use-task-columns.module.css';

export const taskPath = ({ id }: Pick<TaskSummary, 'id'>): string => `/tasks/${encodeURIComponent(id)}`;

/** What a task is called: its prompt. */
export function useTaskTitle(): (task: Pick<TaskSummary, 'input'>) => string {
  const { t } = useTranslation();
  return ({ input }) => input || t('tasks.withoutInput');
}

type TaskColumnsInput = {
  /** Adds the columns for user and channel. */
  all: boolean;
  /** The one of them that all rows share. */
  without?: 'user' | 'channel';
  /** The rows: their costs and durations have the same number of decimals. */
  tasks: readonly TaskSummary[] | undefined;
  sort?: string;
};

export function useTaskColumns({ all, without, tasks, sort }: TaskColumnsInput): readonly Column<TaskSummary>[] {
  const { t } = useTranslation();
  const format = useFormat();
  const plugins = usePluginNames();
  const toTitle = useTaskTitle();
  const isWide = useIsAtLeast(1200);
  const fitsAll = useIsAtLeast(1400) && (!all || without !== undefined);
  return useMemo((): Column<TaskSummary>[] => {
    const rows = tasks ?? [];
    const hasPictures = rows.some(hasPicture);
    // Where both do not fit, the time gives way to the reason unless the rows are sorted by it.
    const hasReasons = isWide && (fitsAll || sort !== 'duration') && rows.some(isExplained);
    const hasTime = fitsAll || !hasReasons;
    const money = format.moneyLike(rows.map(({ quota }) => quota));
    const duration = format.durationLike(rows.flatMap((task) => tookSeconds(task) ?? []));
    const readKeyName = ({ api_key_name, api_key_id }: TaskSummary): string =>
      api_key_name ?? (api_key_id === null ? t('tasks.byPanel') : t('tasks.keyNumber', { id: api_key_id }));
    const key: Column<TaskSummary> = {
      key: 'key',
      minor: true,
      heading: t('tasks.key'),
      render: (task) => <span className={classes.short}>{readKeyName(task)}</span>,
    };
    const user: Column<TaskSummary> = {
      key: 'user',
      // A channel's page is about the channel.
      minor: without === 'channel',
      heading: t('tasks.column.user'),
      render: (task) => (
        <div className={classes.who}>
          <span>{task.username ?? t('tasks.userNumber', { id: task.user_id ?? 0 })}</span>
          <span className={classes.model}>{readKeyName(task)}</span>
        </div>
      ),
    };
    const channel: Column<TaskSummary> = {
      key: 'channel',
      minor: true,
      heading: t('tasks.channel'),
      render: ({ channel_name, channel_id, queue }) => (
        <span className={classes.short}>
          {queue === undefined ? (channel_name ?? t('tasks.channelNumber', { id: channel_id ?? 0 })) : '–'}
        </span>
      ),
    };
    const took: Column<TaskSummary> = {
      key: 'took',
      minor: true,
      heading: t('tasks.column.took'),
      numeric: true,
      sorts: [{ value: 'duration', direction: 'descending' }],
      render: (task) => {
        const seconds = tookSeconds(task);
        return seconds === null ? '–' : duration(seconds);
      },
    };
    return [
      {
        key: 'task',
        heading: t('tasks.column.task'),
        render: (task) => (
          <RowLink to={taskPath(task)} className={classes.row ?? ''}>
            {hasPictures && <TaskPoster task={task} size="row" />}
            <span className={classes.task}>
              <span className={classes.name}>{toTitle(task)}</span>{' '}
              <span className={classes.model}>
                {task.model}
                <span aria-hidden="true"> · </span>
                {plugins.get(task.platform) ?? task.platform}
              </span>
            </span>
          </RowLink>
        ),
      },
      {
        key: 'status',
        heading: t('tasks.status'),
        render: (task) => (
          <div className={classes.status}>
            <TaskProgress task={task} />
            {isExplained(task) && !hasReasons && <FailReason task={task} className={classes.reason} />}
            {task.queue && <WaitFacts task={task} queue={task.queue} />}
          </div>
        ),
      },
      ...(hasReasons
        ? [
            {
              key: 'reason',
              heading: t('tasks.column.reason'),
              wide: true,
              render: (task) => isExplained(task) && <FailReason task={task} className={classes.reasonAlone} />,
            } satisfies Column<TaskSummary>,
          ]
        : []),
      ...(all ? [] : [key]),
      ...(all && without !== 'user' ? [user] : []),
      ...(all && without !== 'channel' ? [channel] : []),
      {
        key: 'cost',
        heading: t('tasks.column.cost'),
        numeric: true,
        sorts: [{ value: 'cost', direction: 'descending' }],
        render: (task) => {
          if (isFinished(task)) return money(task.quota);
          return (
            <div className={classes.cost}>
              <span>{money(task.quota)}</span> <span className={classes.model}>{t('tasks.reserved')}</span>
            </div>
          );
        },
      },
      ...(hasTime ? [took] : []),
      {
        key: 'when',
        heading: t('tasks.column.when'),
        numeric: true,
        sorts: [
          { value: 'newest', direction: 'descending' },
          { value: 'oldest', direction: 'ascending' },
        ],
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
  }, [t, format, plugins, toTitle, all, without, tasks, sort, isWide, fitsAll]);
}

const useIsAtLeast = (width: number): boolean | undefined =>
  useMediaQuery(`(min-width: ${width}px)`, undefined, { getInitialValueInEffect: false });

/** Whether it says why it failed. */
const isExplained = ({ status, queue, fail_reason: reason }: TaskSummary): boolean =>
  status === 'FAILURE' && queue === undefined && reason !== '';

type FailReasonProps = { task: TaskSummary; className: string | undefined };

function FailReason({ task: { fail_reason: reason, fail_reason_sentence: sentence }, className }: FailReasonProps) {
  const { t } = useTranslation();
  return (
    <span className={className} title={translateOrQuote({ ...sentence, message: reason }, t)}>
      <VendorWords text={reason} sentence={sentence} />
    </span>
  );
}

type WaitFactsProps = { task: TaskSummary; queue: NonNullable<TaskSummary['queue']> };

/** The position of a task that waits, how long it has waited and where. */
function WaitFacts({ task: { platform }, queue }: WaitFactsProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const plugins = usePluginNames();
  const names = queue.channels.map(({ name }) => name);
  const where =
    names.length === 0
      ? (plugins.get(platform) ?? platform)
      : new Intl.ListFormat(i18n.language, { type: 'disjunction' }).format(names);
  const waits = [
    formatPosition(queue, t, format),
    t('tasks.waitingFor', { duration: formatWait(queue.waiting_since, format) }),
    ...(queue.waits_for === 'capacity' ? [where] : []),
  ].join(' · ');
  return (
    <span className={classes.waits} title={waits}>
      {waits}
    </span>
  );
}

type TaskBriefProps = {
  task: TaskSummary;
  all: boolean;
  /** The rows: where one of them has a picture, each has a place for it. */
  tasks?: readonly TaskSummary[] | undefined;
};

/**
 * A task for a phone, in at most four lines: its prompt, its state and cost or why it failed, then
 * what made it, for whom and when.
 */
export function TaskBrief({ task, all, tasks = [task] }: TaskBriefProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const toTitle = useTaskTitle();
  const { queue } = task;
  const percent = task.status === 'IN_PROGRESS' && !queue ? parsePercent(task.progress) : null;
  const isFailed = isExplained(task);
  const facts = [
    ...(all ? [task.username ?? t('tasks.userNumber', { id: task.user_id ?? 0 })] : []),
    queue ? t('tasks.waitingFor', { duration: formatWait(queue.waiting_since, format) }) : format.ago(sentAt(task)),
  ];
  return (
    <RowBrief
      {...(tasks.some(hasPicture) ? { icon: <TaskPoster task={task} size="brief" /> } : {})}
      name={toTitle(task)}
      to={taskPath(task)}
      // Why others failed, where they wait or what they reserve needs the line.
      wrapsName={task.status === 'SUCCESS'}
      {...(task.quota === 0 ? {} : { figure: <BriefCost task={task} /> })}
      isFigureBelow
      state={
        <span {...(isFailed ? { className: classes.explained, title: task.fail_reason } : {})}>
          <TaskStatus status={task.status} isWaiting={queue !== undefined} />
          {percent !== null && <BriefText> · {format.percent(percent / 100)}</BriefText>}
          {queue && <BriefText> · {formatPosition(queue, t, format)}</BriefText>}
          {isFailed && (
            <BriefText isBad>
              {' · '}
              <VendorWords text={task.fail_reason} sentence={task.fail_reason_sentence} />
            </BriefText>
          )}
        </span>
      }
      facts={[]}
      wraps
      detail={
        <span className={classes.facts}>
          <span>{task.model}</span>
          <span>{`· ${facts.join(' · ')}`}</span>
        </span>
      }
    />
  );
}

/** What a task cost, or what is reserved for it while it runs. */
function BriefCost({ task }: { task: TaskSummary }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <>
      {format.money(task.quota)}
      {!isFinished(task) && <span className={classes.model}> {t('tasks.reserved')}</span>}
    </>
  );
}
