import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { channelStatus } from '../../api/record-status.ts';
import { sayOrQuote } from '../../api/say-server-text.ts';
import type { Channel } from '../../api/types.ts';
import { ServerText } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { ChannelHealth } from './channel-health.tsx';
import { ChannelSwitch } from './channel-switch.tsx';
import classes from './channels.module.css';

/** Whether the channel is enabled, its health over the last day, and what was spent through it. */
export function ChannelStatus({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { health } = channel;
  return (
    <Section
      heading={t('channels.service')}
      intro={t(channel.status === channelStatus.enabled ? 'channels.serviceOn' : 'channels.serviceOff')}
      actions={<ChannelSwitch channel={channel} />}
    >
      <dl className={classes.facts}>
        <div>
          <dt>{t('channels.lastDay')}</dt>
          <dd>
            <ChannelHealth channel={channel} />
          </dd>
        </div>
        <div>
          <dt>{t('channels.running')}</dt>
          <dd>{format.number(health.in_flight)}</dd>
        </div>
        <div>
          <dt>{t('channels.spentSince', { date: format.date(channel.created_at) })}</dt>
          <dd>{format.money(channel.used_quota)}</dd>
        </div>
      </dl>
      {health.test !== null && health.test.failed_step !== '' && (
        <Text size="sm">
          {t('channels.testFailed', { ago: format.ago(health.test.at) })} <ServerText text={health.test.message} />
        </Text>
      )}
      {health.failed > 0 && (health.state === 'failing' || health.state === 'degraded') && (
        <Text size="sm">
          {t('channels.lastFailure', {
            ago: format.ago(health.last_failure_at),
            reason: sayOrQuote(health.last_failure_reason, t) || health.last_failure_code,
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
    </Section>
  );
}
