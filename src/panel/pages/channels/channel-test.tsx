import { Button, Stack, Text } from '@mantine/core';
import { useEffect, useEffectEvent, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChannelTestResult, SavedChannel } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { describeTrial, TrialStepList } from '../../ui/display/trial-steps.tsx';
import { Section } from '../../ui/page/section.tsx';

/** Calls the vendor with each stored key, free of charge. `runsAtOnce`: without a click. */
export function useChannelTest({ id }: Pick<SavedChannel, 'id'>, runsAtOnce: boolean) {
  const hasBegun = useRef(false);
  const test = useApiMutation<undefined, ChannelTestResult>({
    request: () => ({ method: 'POST', path: `/api/channel/${id}/test`, timeoutMs: 90_000 }),
    // The result counts as the channel's health.
    invalidates: ['/api/channel', '/api/attention'],
  });
  const begin = useEffectEvent(() => {
    if (!hasBegun.current) test.mutate(undefined);
    hasBegun.current = true;
  });
  useEffect(() => {
    if (runsAtOnce) begin();
  }, [runsAtOnce]);
  return test;
}

type ChannelTest = ReturnType<typeof useChannelTest>;

export function ChannelTestButton({ test, onPress }: { test: ChannelTest; onPress(): void }) {
  const { t } = useTranslation();
  return (
    <Button
      variant="default"
      loading={test.isPending}
      onClick={() => {
        onPress();
        test.mutate(undefined);
      }}
    >
      {t('channels.testRun')}
    </Button>
  );
}

/** What a test does and, once it has ended, each of its steps with each key. */
export function ChannelTestSteps({ test }: { test: ChannelTest }) {
  const { t } = useTranslation();
  if (test.isIdle) return null;
  const stepNames = {
    key: t('channels.step.key'),
    plugin: t('channels.step.plugin'),
    address: t('channels.step.address'),
    proxy: t('channels.step.proxy'),
    connection: t('channels.step.connection'),
    tls: t('channels.step.tls'),
    credential: t('channels.step.credential'),
  };
  const keys = test.isPending ? [] : (test.data?.credentials ?? []);
  const outcome = { ok: keys.every(({ ok }) => ok), steps: keys.flatMap(({ steps }) => steps) };
  return (
    <div role="status">
      <Section
        heading={keys.length === 0 ? t('channels.test') : describeTrial(outcome, t)}
        intro={t('channels.testHelp')}
      >
        {test.isError && <ErrorNotice error={test.error} />}
        {keys.length > 0 && (
          <Stack gap="md">
            {keys.map(({ id, label, key_hint: hint, steps }, _, { length }) => (
              <div key={id}>
                {length > 1 && <Text fw={600}>{label || t('channels.keyEnds', { hint: hint || '…' })}</Text>}
                <TrialStepList steps={steps} names={stepNames} />
              </div>
            ))}
          </Stack>
        )}
      </Section>
    </div>
  );
}
