import { Alert, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { IconAlert } from '../../ui/icons.tsx';

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

/** Why a task failed, in the vendor's or gateway's words, and what to do. */
export function TaskFailure({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const reason = task.fail_reason.trim();
  if (reason === cancelled) return <Text>{t('task.fail.cancelled')}</Text>;
  const cause = task.timeline.findLast(({ status, kind }) => status === 'FAILURE' && kind === 'transition')?.class;
  return (
    <Alert color="red" variant="light" icon={<IconAlert />} title={t('task.fail.heading')}>
      <Stack gap={8}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {reason || t('task.fail.noReason')}
        </Text>
        <Text size="sm" c="dimmed">
          {t(advice[cause ?? ''] ?? 'task.fail.vendor')}
        </Text>
      </Stack>
    </Alert>
  );
}
