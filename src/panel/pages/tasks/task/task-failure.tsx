import { Alert, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { sayServerText } from '../../../api/say-server-text.ts';
import type { TaskDetail } from '../../../api/types.ts';
import type { TextKey } from '../../../i18n/texts.ts';
import { ServerText } from '../../../ui/display/server-text.tsx';
import { IconAlert } from '../../../ui/icons.tsx';

/** Advice by failure class. */
const advice: Readonly<Record<string, TextKey>> = {
  not_found: 'task.fail.lost',
  auth: 'task.fail.auth',
  transient: 'task.fail.unreachable',
  transport_error: 'task.fail.unreachable',
  unrecognized: 'task.fail.plugin',
  hook_error: 'task.fail.plugin',
};

/** The gateway's own reason for a cancellation. */
const cancelled = 'cancelled by user';
/** The gateway's words around those of the vendor. */
const quotesVendor = /^The vendor answered \d+: /;

/** Why a task failed, in the gateway's words or quoting the vendor's, and what to do. */
export function TaskFailure({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const reason = task.fail_reason.trim();
  if (reason === cancelled) return <Text>{t('task.fail.cancelled')}</Text>;
  const cause = task.timeline.findLast(({ status, kind }) => status === 'FAILURE' && kind === 'transition')?.class;
  const isVendors = reason === '' || sayServerText(reason, t) === null || quotesVendor.test(reason);
  const next = advice[cause ?? ''] ?? (isVendors ? 'task.fail.vendor' : undefined);
  return (
    <Alert color="red" variant="light" icon={<IconAlert />} title={t('task.fail.heading')}>
      <Stack gap={8}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {reason === '' ? t('task.fail.noReason') : <ServerText text={reason} />}
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
