import { Button, Group, Text } from '@mantine/core';
import { IconCheck, IconCoin } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Channel } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { Section } from '../../ui/page/section.tsx';
import { playgroundPath } from '../playground/playground-path.ts';

type ChannelStartProps = {
  channel: Channel;
  /** The plugin that serves it; undefined for the relay. */
  pluginKey: string | undefined;
};

/** What is left to do for a new channel: prices, then a first task. */
export function ChannelStart({ channel, pluginKey }: ChannelStartProps) {
  const { t } = useTranslation();
  const isRoot = useRole() >= roles.root;
  const unpriced = channel.unpriced_models;
  const model = channel.models.find((name) => !unpriced.includes(name)) ?? channel.models[0];
  const hasPrices = unpriced.length === 0;
  const Icon = hasPrices ? IconCheck : IconCoin;
  return (
    <Section heading={t('channels.start')} intro={t('channels.startIntro')}>
      <Group justify="space-between" gap="md">
        <Group gap={10} wrap="nowrap">
          <Icon size={20} stroke={1.6} aria-hidden="true" />
          <Text size="sm">
            {hasPrices ? t('channels.start.priced') : t('channels.start.unpriced', { count: unpriced.length })}
            {!hasPrices && !isRoot && ` ${t('channels.start.askRoot')}`}
          </Text>
        </Group>
        <Group gap="sm">
          {!hasPrices && isRoot && (
            <Button component={Link} to={pluginKey === undefined ? '/prices' : `/prices/${pluginKey}`}>
              {t('channels.start.setPrices')}
            </Button>
          )}
          {pluginKey !== undefined && model !== undefined && (
            <Button component={Link} to={playgroundPath(pluginKey, model)} variant={hasPrices ? 'filled' : 'default'}>
              {t('channels.start.try')}
            </Button>
          )}
        </Group>
      </Group>
    </Section>
  );
}
