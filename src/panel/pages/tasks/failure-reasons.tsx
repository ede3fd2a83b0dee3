import { Button, UnstyledButton } from '@mantine/core';
import { type CSSProperties, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { FailureReason } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { VendorWords } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './failure-reasons.module.css';
import type { TaskQuery } from './use-task-query.ts';

/** Reasons, and channels, that are shown at first. */
const shown = 5;

/**
 * Why the tasks of the filter failed, and for administrators on which channels, as shares of all.
 * A choice shows those of one reason or channel, and what the other shares are among them.
 */
export function FailureReasons({ tasks: { query, filters } }: { tasks: TaskQuery }) {
  const { t } = useTranslation();
  const { data } = useFailureReasons(query);
  if (data === undefined || data.length === 0) return null;
  const { reason, channel, period } = filters.values;
  const channels = countChannels(data, reason);
  return (
    <section className={classes.box} aria-label={t('tasks.reasons')}>
      <Shares
        heading={period === '' ? t('tasks.reasons') : `${t('tasks.reasons')} · ${t(`tasks.period.${period as '24h'}`)}`}
        chosen={reason}
        onChoose={(chosen) => filters.set('reason', chosen)}
        shares={countReasons(data, channel).map(({ reason: id, reason_sentence: sentence, count }) => ({
          id,
          count,
          label: id === '' ? t('task.fail.noReason') : <VendorWords text={id} sentence={sentence} />,
        }))}
      />
      {channels.length > 0 && (
        <Shares
          heading={t('tasks.failedChannels')}
          chosen={channel}
          onChoose={(chosen) => filters.set('channel', chosen)}
          shares={channels.map(({ id, name, count }) => ({
            // Tasks that failed before a channel was chosen cannot be filtered by it.
            id: id === 0 ? '' : String(id),
            count,
            label: id === 0 ? t('tasks.noChannel') : (name ?? t('tasks.channelNumber', { id })),
          }))}
        />
      )}
    </section>
  );
}

/** All reasons and channels, also while one of them is chosen. */
export const useFailureReasons = (query: TaskQuery['query'], enabled = true) =>
  useApiQuery<FailureReason[]>(
    withQuery('/api/task/failures', { ...query, status: null, fail_reason: null, channel_id: null }),
    { enabled },
  );

/** How often each reason occurred on a channel, or on all. */
export function countReasons(found: readonly FailureReason[], channel: string): FailureReason[] {
  if (channel === '') return [...found];
  return found
    .map((each) => ({ ...each, count: each.channels?.find(({ id }) => String(id) === channel)?.count ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
}

type FailedChannel = NonNullable<FailureReason['channels']>[number];

/** How often tasks of each channel failed for a reason, or for any. */
export function countChannels(found: readonly FailureReason[], reason: string): FailedChannel[] {
  const counts = new Map<number, FailedChannel>();
  const counted = reason === '' ? found : found.filter((each) => each.reason === reason);
  for (const channel of counted.flatMap(({ channels = [] }) => channels)) {
    counts.set(channel.id, { ...channel, count: channel.count + (counts.get(channel.id)?.count ?? 0) });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

type SharesProps = {
  heading: string;
  /** Without an id it cannot be chosen. */
  shares: readonly { id: string; label: ReactNode; count: number }[];
  /** Empty: none. */
  chosen: string;
  onChoose(id: string): void;
};

function Shares({ heading, shares, chosen, onChoose }: SharesProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const [isAll, setAll] = useState(false);
  const total = shares.reduce((sum, { count }) => sum + count, 0);
  // One more takes no more room than a button.
  const isFolded = shares.length > shown + 1;
  return (
    <div>
      <h2>{heading}</h2>
      <ul>
        {(isAll || !isFolded ? shares : shares.slice(0, shown)).map(({ id, label, count }) => (
          <li key={id}>
            <UnstyledButton
              className={classes.share}
              style={{ '--share': `${(count / total) * 100}%` } as CSSProperties}
              aria-pressed={chosen === id && id !== ''}
              disabled={id === ''}
              onClick={() => onChoose(chosen === id ? '' : id)}
            >
              <span className={classes.text}>
                <span className={classes.words}>{label}</span>
              </span>
              <span className={classes.count}>{t('tasks.failedCount', { count, shown: format.number(count) })}</span>
              <span className={classes.percent}>{format.percent(count / total)}</span>
            </UnstyledButton>
          </li>
        ))}
      </ul>
      {isFolded && (
        <Button variant="subtle" size="xs" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? t('task.timeline.less') : t('task.timeline.more', { count: shares.length - shown })}
        </Button>
      )}
    </div>
  );
}
