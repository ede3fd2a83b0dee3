import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';

type HealthProps = { channel: Pick<Channel, 'health' | 'key_readable'> };

const states: Readonly<Record<Channel['health']['state'], { text: TextKey; tone: Tone }>> = {
  idle: { text: 'channels.health.idle', tone: 'quiet' },
  good: { text: 'channels.health.good', tone: 'good' },
  degraded: { text: 'channels.health.degraded', tone: 'waiting' },
  failing: { text: 'channels.health.failing', tone: 'bad' },
};

/** How the last day's tasks went, in a word. */
export function ChannelState({ channel: { health, key_readable: isReadable } }: HealthProps) {
  const { t } = useTranslation();
  if (!isReadable) return <StatusLabel tone="bad">{t('channels.health.key')}</StatusLabel>;
  const { text, tone } = states[health.state];
  return <StatusLabel tone={tone}>{t(text)}</StatusLabel>;
}

/** The same with two counts. */
export function ChannelHealth({ channel }: HealthProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { health, key_readable: isReadable } = channel;
  const count = { good: format.number(health.succeeded), bad: format.number(health.failed) };
  return (
    <div>
      <ChannelState channel={channel} />
      {isReadable && health.succeeded + health.failed > 0 && (
        <Text size="xs" c="dimmed">
          {t('channels.health.count', count)}
        </Text>
      )}
    </div>
  );
}
