import { Button, Stack, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useEffect, useEffectEvent, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChannelTestResult, SavedChannel } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { TrialSteps } from '../../ui/display/trial-steps.tsx';
import { Section } from '../../ui/page/section.tsx';

type ChannelTestProps = {
  channel: Pick<SavedChannel, 'id'>;
  /** Runs the test when it is shown, without a click. */
  runsAtOnce?: boolean;
};

/** Calls the vendor with each stored key, free of charge, and shows each step. */
export function ChannelTest({ channel, runsAtOnce = false }: ChannelTestProps) {
  const { t } = useTranslation();
  const hasBegun = useRef(false);
  const change = useApiMutation<number, ChannelTestResult>({
    request: (id) => ({ method: 'POST', path: `/api/channel/${id}/test`, timeoutMs: 90_000 }),
    // The result counts as the channel's health.
    invalidates: ['/api/channel', '/api/attention'],
  });
  const begin = useEffectEvent(() => {
    if (!hasBegun.current) change.mutate(channel.id);
    hasBegun.current = true;
  });
  useEffect(() => {
    if (runsAtOnce) begin();
  }, [runsAtOnce]);
  const stepNames = {
    key: t('channels.step.key'),
    plugin: t('channels.step.plugin'),
    address: t('channels.step.address'),
    proxy: t('channels.step.proxy'),
    connection: t('channels.step.connection'),
    tls: t('channels.step.tls'),
    answer: t('channels.step.answer'),
    credential: t('channels.step.credential'),
  };
  return (
    <Section
      heading={t('channels.test')}
      intro={t('channels.testHelp')}
      actions={
        <Button
          variant="default"
          leftSection={<IconPlayerPlay size={18} stroke={1.6} aria-hidden="true" />}
          loading={change.isPending}
          onClick={() => change.mutate(channel.id)}
        >
          {t('channels.testRun')}
        </Button>
      }
    >
      {change.isError && <ErrorNotice error={change.error} />}
      {change.data !== undefined && !change.isPending && (
        <Stack gap="md">
          {change.data.credentials.map(({ id, label, key_hint: hint, ok, steps }, _, { length }) => (
            <div key={id}>
              {length > 1 && <Text fw={600}>{label || t('channels.keyEnds', { hint: hint || '…' })}</Text>}
              <TrialSteps ok={ok} steps={steps} names={stepNames} />
            </div>
          ))}
        </Stack>
      )}
    </Section>
  );
}
