import { Alert, Progress, Stack, Text } from '@mantine/core';
import { IconAlertCircle, IconAlertTriangle } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ModelCatalog, TaskDetail } from '../../../api/types.ts';
import type { TextKey } from '../../../i18n/texts.ts';
import { useApiQuery } from '../../../session/use-api.ts';
import { VendorWords } from '../../../ui/display/server-text.tsx';
import { StatusLabel, TaskStatus, type Tone } from '../../../ui/display/status-label.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { formatDuration, formatPosition, formatStart } from '../queue-position.ts';
import { isFinished, isRefusedByVendor, parsePercent, sentAt, vendorReasons, wholeSeconds } from '../read-task.ts';
import { usePluginNames } from '../use-plugin-names.ts';
import classes from './task-headline.module.css';

const waiting: { text: TextKey; tone: Tone } = { text: 'task.status.WAITING', tone: 'waiting' };

const running: Readonly<Record<string, { text: TextKey; tone: Tone }>> = {
  SUBMITTED: { text: 'task.status.SUBMITTED', tone: 'waiting' },
  QUEUED: { text: 'task.status.QUEUED', tone: 'waiting' },
  IN_PROGRESS: { text: 'task.status.IN_PROGRESS', tone: 'busy' },
};

/**
 * A task's status and duration; screen readers announce changes. Until it has ended, this is the
 * place where its result will stand.
 */
export function TaskHeadline({
  task,
  cost,
  help = 'task.resultPending',
}: {
  task: Pick<
    TaskDetail,
    | ('status' | 'progress' | 'submit_time' | 'start_time' | 'created_at' | 'finish_time')
    | ('platform' | 'model' | 'queue')
  >;
  /** The cost in quota, where nothing else shows it. */
  cost?: number;
  /** What to know while it has not ended. */
  help?: TextKey;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  const ended = isFinished(task);
  const now = useNow(!ended);
  // What the vendor works on has run since it began, not since it was sent.
  const startedAt = task.status === 'IN_PROGRESS' && task.start_time > 0 ? task.start_time : sentAt(task);
  const queuedFor = startedAt - sentAt(task);
  const seconds = ended ? wholeSeconds(task) : Math.max(0, Math.round(now - startedAt));
  const duration = seconds === null ? null : format.elapsed(seconds);
  const state = task.queue ? waiting : (running[task.status] ?? { text: 'task.status.NOT_START', tone: 'quiet' });
  const endedText = t(task.status === 'SUCCESS' ? 'task.status.SUCCESS' : 'task.status.FAILURE');
  const costText = cost === undefined ? '' : ` · ${format.money(cost)}`;
  return (
    <div className={classes.headline} data-pending={!ended || undefined}>
      <div className={classes.state}>
        {ended ? (
          <StatusLabel tone={task.status === 'SUCCESS' ? 'good' : 'bad'}>
            {(duration === null
              ? endedText
              : t(task.status === 'SUCCESS' ? 'task.finishedIn' : 'task.failedAfter', { duration })) + costText}
          </StatusLabel>
        ) : task.queue?.waits_for === 'capacity' ? (
          <WaitingLabel queue={task.queue} platform={task.platform} duration={duration} costText={costText} />
        ) : (
          <StatusLabel tone={state.tone} wraps>
            {t('task.runningFor', { status: t(state.text), duration }) +
              (queuedFor > 0 ? ` · ${t('task.queuedFor', { duration: formatDuration(queuedFor, format) })}` : '') +
              costText}
          </StatusLabel>
        )}
      </div>
      {task.queue !== undefined && <TaskPosition queue={task.queue} />}
      {!ended && task.queue === undefined && <TaskProgress task={task} wide />}
      {!ended && task.queue === undefined && task.submit_time > 0 && (
        <UsualTime
          platform={task.platform}
          model={task.model}
          seconds={now - task.submit_time}
          hasBar={task.status !== 'IN_PROGRESS' || parsePercent(task.progress) === null}
        />
      )}
      {!ended && (
        <Text size="sm" c="dimmed" className={classes.help ?? ''}>
          {t(help)}
        </Text>
      )}
      <span className={classes.unseen} role="status">
        {ended ? endedText : t(state.text)}
      </span>
    </div>
  );
}

/** A task is not called slow before this many seconds. */
const patientSeconds = 10;

type UsualTimeProps = Pick<TaskDetail, 'platform' | 'model'> & {
  /** How long the vendor has had the task. */
  seconds: number;
  /** The vendor reports no progress of its own. */
  hasBar: boolean;
};

/** How long tasks of the model usually take, and whether this one takes longer. */
function UsualTime({ platform, model, seconds, hasBar }: UsualTimeProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<ModelCatalog>('/api/model/catalog');
  const card = data?.items.find((each) => each.plugin_key === platform && each.model === model);
  if (card === undefined || card.usual_seconds === null || card.slow_seconds === null) return null;
  const slowAfter = Math.max(card.slow_seconds, patientSeconds);
  const isSlow = seconds > slowAfter;
  return (
    <>
      {hasBar && (
        <div className={classes.elapsed} data-slow={isSlow || undefined}>
          <div style={{ width: `${Math.min(seconds / slowAfter, 1) * 100}%` }} />
        </div>
      )}
      {isSlow ? (
        <p className={classes.slow}>
          <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />
          <span>{t('task.slow', { model, duration: format.duration(card.slow_seconds) })}</span>
        </p>
      ) : (
        <Text size="sm" c="dimmed">
          {t('task.usually', { duration: format.duration(card.usual_seconds) })}
        </Text>
      )}
    </>
  );
}

type TaskProgressProps = {
  task: { status: string; progress: string; queue?: object };
  /** Wide layout for the task's own page. */
  wide?: boolean;
};

/** The status and, while the vendor runs the task, its progress. */
export function TaskProgress({ task, wide = false }: TaskProgressProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const percent = task.status === 'IN_PROGRESS' && !task.queue ? parsePercent(task.progress) : null;
  if (wide && percent === null) return null;
  return (
    <div className={classes.progress} data-wide={wide || undefined}>
      {!wide && <TaskStatus status={task.status} isWaiting={task.queue !== undefined} />}
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

type Queue = NonNullable<TaskDetail['queue']>;
type WaitingLabelProps = { queue: Queue; platform: string; duration: string | null; costText: string };

/** Where a task waits for a slot, and for how long. */
function WaitingLabel({ queue, platform, duration, costText }: WaitingLabelProps) {
  const { t, i18n } = useTranslation();
  const plugins = usePluginNames();
  const accounts = queue.channels.map(({ name }) => name);
  const where =
    accounts.length === 0
      ? (plugins.get(platform) ?? platform)
      : new Intl.ListFormat(i18n.language, { type: 'disjunction' }).format(accounts);
  return (
    <StatusLabel tone={waiting.tone} wraps>
      {t('task.waitingAt', { where, duration }) + costText}
    </StatusLabel>
  );
}

/** Where a waiting task stands, and when it starts. */
function TaskPosition({ queue }: { queue: Queue }) {
  const { t } = useTranslation();
  const format = useFormat();
  const start = formatStart(queue, t, format);
  const isOwn = queue.waits_for === 'own_limit';
  return (
    <div className={classes.place}>
      <span>
        {formatPosition(queue, t, format)}
        {!isOwn && <span aria-hidden="true"> · </span>}
        {!isOwn && (start === null ? t('queue.startsAutomatically') : t('queue.startsAt', { when: start }))}
      </span>
      {isOwn && <span className={classes.where}>{t('queue.waitsForOwn')}</span>}
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

/** Advice by failure class. */
const advice: Readonly<Record<string, TextKey>> = {
  not_found: 'task.fail.lost',
  auth: 'task.fail.auth',
  transient: 'task.fail.unreachable',
  transport_error: 'task.fail.unreachable',
  unrecognized: 'task.fail.plugin',
  hook_error: 'task.fail.plugin',
};

/** Why a task failed, in the gateway's words or quoting the vendor's, and what to do. */
export function TaskFailure({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const text = task.fail_reason.trim();
  const sentence = task.fail_reason_sentence;
  if (sentence?.reason === 'tasks.cancelled') return <Text>{t('task.fail.cancelled')}</Text>;
  const end = task.timeline.findLast(({ status, kind }) => status === 'FAILURE' && kind === 'transition');
  const isRefused = isRefusedByVendor(task);
  const isOfVendor = vendorReasons.includes(sentence?.reason);
  const next =
    advice[end?.class ?? ''] ?? (isRefused ? 'task.fail.refused' : isOfVendor ? 'task.fail.vendor' : undefined);
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertCircle size={20} stroke={1.6} aria-hidden="true" />}
      title={t(isRefused ? 'task.fail.refusedHeading' : 'task.fail.heading')}
    >
      <Stack gap={8}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {text === '' ? t('task.fail.noReason') : <VendorWords text={text} sentence={sentence} />}
        </Text>
        {next !== undefined && (
          <Text size="sm" c="dimmed">
            {t(next)}
          </Text>
        )}
      </Stack>
    </Alert>
  );
}
