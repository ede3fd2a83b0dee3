import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../api/types.ts';
import { Section } from '../../ui/section.tsx';
import { useFormat } from '../../ui/use-format.ts';
import { ChannelSwitch } from './channel-switch.tsx';

/** Whether the channel serves, and what went through it. */
export function ChannelStatus({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Section
      heading={t('channels.service')}
      intro={t(channel.status === 1 ? 'channels.serviceOn' : 'channels.serviceOff')}
      actions={<ChannelSwitch channel={channel} />}
    >
      <Text size="sm" c="dimmed">
        {t('channels.spentSince', { money: format.money(channel.used_quota), date: format.date(channel.created_at) })}
      </Text>
    </Section>
  );
}
