import { Anchor, Switch, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { translateOrQuote } from '../../api/translate-sentence.ts';
import { type Channel, channelStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { ServerText } from '../../ui/display/server-text.tsx';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { describeShutModels, findCapacityState, isPaused, isResting, restReasons } from './capacity-state.ts';
import classes from './channels.module.css';

type ServiceState = { tone: Tone; text: string; detail: string | null };

/** What becomes of a new task, in a few words, and what more there is to say of it. */
function useServiceState({ status, capacity, models }: Channel): ServiceState {
  const { t } = useTranslation();
  const format = useFormat();
  const { waiting: count, rest_reason: reason } = capacity;
  const shown = format.number(count);
  if (status !== channelStatus.enabled)
    return { tone: 'quiet', text: t('channels.off'), detail: t('channels.serviceOff') };
  const waiting = count === 0 ? null : t('channels.serviceWaiting', { count, shown });
  const state = findCapacityState(capacity, models.length);
  if (state === 'open') return { tone: 'good', text: t('channels.takesTasks'), detail: waiting };
  if (state === 'full') {
    const text = count === 0 ? t('channels.full') : t('channels.service.full', { count, shown });
    return { tone: 'waiting', text, detail: describeShutModels(capacity, t, format) ?? t('channels.serviceFull') };
  }
  if (reason === 'credential') return { tone: 'bad', text: t('channels.service.keyRejected'), detail: waiting };
  const why = reason === '' ? '' : t(restReasons[reason]);
  return { tone: 'waiting', text: t('channels.service.paused', { reason: why }), detail: waiting };
}

/** How many of several keys are paused, and why, with the way to them. */
function usePausedKeys({ status, capacity, credentials }: Channel): ReactNode {
  const { t } = useTranslation();
  const format = useFormat();
  if (status !== channelStatus.enabled || isPaused(capacity) || credentials.length < 2) return null;
  const paused = capacity.credentials.filter(isResting);
  const count = paused.length;
  if (count === 0) return null;
  const reasons = new Set(paused.flatMap(({ rest_reason: reason }) => (reason === '' ? [] : t(restReasons[reason]))));
  return (
    <>
      {' '}
      {t('channels.serviceKeysPaused', { count, shown: format.number(count), reasons: format.list([...reasons]) })}{' '}
      <Anchor component={Link} to="?tab=settings" inherit underline="always">
        {t('channels.viewKeys')}
      </Anchor>
    </>
  );
}

/** The worse of whether it takes tasks and how its last day went, beside the channel's name. */
export function ChannelMark({ channel }: { channel: Channel }) {
  const describeHealth = useHealthText();
  const service = useServiceState(channel);
  const health = readHealth(channel);
  const isWorse =
    service.tone === 'good'
      ? health.tone === 'waiting' || health.tone === 'bad'
      : service.tone === 'waiting' && health.tone === 'bad';
  return (
    <StatusLabel tone={isWorse ? health.tone : service.tone} wraps>
      {isWorse ? describeHealth(channel) : service.text}
    </StatusLabel>
  );
}

/** Whether the channel is enabled, what failed last, and what was spent through it. */
export function ChannelStatus({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { health } = channel;
  const { detail } = useServiceState(channel);
  const pausedKeys = usePausedKeys(channel);
  const isPlain = detail === null && pausedKeys === null;
  return (
    <Section
      heading={t('channels.service')}
      intro={
        isPlain ? undefined : (
          <>
            {detail}
            {pausedKeys}
          </>
        )
      }
      actions={<ChannelSwitch channel={channel} label={t('channels.on')} />}
    >
      {health.test !== null && health.test.failed_step !== '' && (
        <Text size="sm">
          {t('channels.testFailed', { ago: format.ago(health.test.at) })}{' '}
          <ServerText text={health.test.message} sentence={health.test} />
        </Text>
      )}
      {/* What the notice above says of a paused channel counts more. */}
      {!isStopped(channel) && health.failed > 0 && (health.state === 'failing' || health.state === 'degraded') && (
        <Text size="sm">
          {t('channels.lastFailure', {
            ago: format.ago(health.last_failure_at),
            reason:
              translateOrQuote({ ...health.last_failure_reason_sentence, message: health.last_failure_reason }, t) ||
              health.last_failure_code,
          })}{' '}
          {health.last_failed_task !== '' && (
            <Anchor
              component={Link}
              to={`/tasks/${encodeURIComponent(health.last_failed_task)}`}
              size="sm"
              underline="always"
            >
              {t('channels.lastFailedTask')}
            </Anchor>
          )}
        </Text>
      )}
      <dl className={classes.facts}>
        <div>
          <dt>{t('channels.spend')}</dt>
          <dd>{format.money(channel.used_quota)}</dd>
        </div>
      </dl>
    </Section>
  );
}

type HealthProps = { channel: Pick<Channel, 'health' | 'key_readable'> };

/** It is enabled, but its vendor takes nothing. */
const isStopped = ({ status, capacity }: Pick<Channel, 'status' | 'capacity'>): boolean =>
  status === channelStatus.enabled && isPaused(capacity);

type HealthState = { text: TextKey; tone: Tone };

const keyUnreadable: HealthState = { text: 'channels.health.key', tone: 'bad' };

const states: Readonly<Record<Channel['health']['state'], HealthState>> = {
  idle: { text: 'channels.health.idle', tone: 'quiet' },
  good: { text: 'channels.health.good', tone: 'good' },
  degraded: { text: 'channels.health.degraded', tone: 'waiting' },
  failing: { text: 'channels.health.failing', tone: 'bad' },
};

const readHealth = ({ health, key_readable: isReadable }: HealthProps['channel']): HealthState =>
  isReadable ? states[health.state] : keyUnreadable;

/** How the last day's tasks went, in a word and, where some failed, a count. */
function useHealthText(): (channel: HealthProps['channel']) => string {
  const { t } = useTranslation();
  const format = useFormat();
  return (channel) => {
    const state = t(readHealth(channel).text);
    const { failed, succeeded } = channel.health;
    if (failed === 0 || !channel.key_readable) return state;
    const counts = { failed: format.number(failed), all: format.number(failed + succeeded) };
    return t('channels.health.failed', { state, ...counts });
  };
}

function ChannelState({ channel }: HealthProps) {
  const describeHealth = useHealthText();
  return <StatusLabel tone={readHealth(channel).tone}>{describeHealth(channel)}</StatusLabel>;
}

/** The state in a list: whether the channel takes tasks comes before how its last day went. */
export function ChannelRowState({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  if (channel.status !== channelStatus.enabled) return <StatusLabel tone="quiet">{t('channels.off')}</StatusLabel>;
  return isStopped(channel) ? (
    <StatusLabel tone="waiting">{t('channels.rests.rested')}</StatusLabel>
  ) : (
    <ChannelState channel={channel} />
  );
}

/** How many tasks succeeded and failed in each of the last hours. */
export const ChannelHours = ({ channel: { health, key_readable: isReadable } }: HealthProps) =>
  isReadable && health.succeeded + health.failed > 0 && <HourBars health={health} />;

/** The smallest part of a bar that can be seen, in percent. */
const LEAST_BAR = 12;

/** A bar for each hour, the latest on the right: what failed stands on top of what succeeded. */
function HourBars({ health: { hours, succeeded, failed } }: Pick<Channel, 'health'>) {
  const { t } = useTranslation();
  const format = useFormat();
  const label = t('channels.health.count', { good: format.number(succeeded), bad: format.number(failed) });
  const most = Math.max(...hours.map((hour) => hour.succeeded + hour.failed));
  const height = (count: number) => `${count === 0 ? 0 : Math.max(LEAST_BAR, (100 * count) / most)}%`;
  return (
    <div className={classes.hours} role="img" aria-label={label} title={label}>
      {hours.map((hour, index) => (
        <div key={index} className={classes.hour}>
          <div className={classes.hourFailed} style={{ height: height(hour.failed) }} />
          <div className={classes.hourSucceeded} style={{ height: height(hour.succeeded) }} />
        </div>
      ))}
    </div>
  );
}

type ChannelSwitchProps = { channel: Pick<Channel, 'id' | 'name' | 'status'>; label?: string };

/** Enables or disables a channel at once. Tasks it already accepted are finished. */
export function ChannelSwitch({ channel, label }: ChannelSwitchProps) {
  const { t } = useTranslation();
  const change = useApiMutation<boolean>({
    request: (on) => ({
      method: 'PUT',
      path: `/api/channel/${channel.id}`,
      body: { status: on ? channelStatus.enabled : channelStatus.disabled },
    }),
    invalidates: ['/api/channel'],
  });
  // Shows the requested state until the answer arrives.
  const isOn = change.isPending ? change.variables : channel.status === channelStatus.enabled;
  return (
    <>
      <Switch
        checked={isOn}
        onChange={(event) => change.mutate(event.currentTarget.checked)}
        {...(label === undefined ? { 'aria-label': t('channels.switch', { name: channel.name }) } : { label })}
      />
      {change.isError && <ErrorNotice error={change.error} />}
    </>
  );
}
