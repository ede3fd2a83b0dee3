import { Button, Group, TextInput } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Option, OptionTestResult as Trial } from '../../api/types.ts';
import { useMutationWithProof } from '../../session/use-mutation-with-proof.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { TrialSteps } from '../../ui/display/trial-steps.tsx';
import { Section } from '../../ui/page/section.tsx';

/** Tests the stored settings and shows each step. */
export function OptionTrial({ what, isDirty }: { what: NonNullable<Option['trial']>; isDirty: boolean }) {
  const { t } = useTranslation();
  const [to, setTo] = useState('');
  const change = useMutationWithProof<string, Trial>({
    scope: 'settings.security',
    request: (address) => ({
      method: 'POST',
      path: '/api/option/test',
      body: { what, ...(address === '' ? {} : { to: address }) },
      timeoutMs: 60_000,
    }),
  });
  return (
    <Section heading={t('settings.test')} intro={t(isDirty ? 'settings.testDirty' : 'settings.testHelp')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(to.trim());
        }}
        noValidate
      >
        <Group gap="sm" align="end">
          {what === 'smtp' && (
            <TextInput
              label={t('settings.testTo')}
              description={t('settings.testToHelp')}
              type="email"
              autoComplete="off"
              flex="1 1 260px"
              maw={420}
              value={to}
              onChange={(event) => setTo(event.currentTarget.value)}
            />
          )}
          <Button
            type="submit"
            variant="default"
            disabled={isDirty}
            loading={change.isPending}
            leftSection={<IconPlayerPlay size={18} stroke={1.6} aria-hidden="true" />}
          >
            {t(what === 'webhook' ? 'settings.testSend' : 'settings.testRun')}
          </Button>
        </Group>
      </form>
      {change.isError && <ErrorNotice error={change.error} />}
      {change.data !== undefined && !change.isPending && <TrialSteps {...change.data} />}
    </Section>
  );
}
