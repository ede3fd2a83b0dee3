import { Alert, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
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

/** Reasons that hold the vendor's words; an older task has no reason but its text. */
const vendorReasons: readonly unknown[] = [undefined, 'plugin', 'tasks.vendor_said'];

/** Why a task failed, in the gateway's words or quoting the vendor's, and what to do. */
export function TaskFailure({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const text = task.fail_reason.trim();
  const sentence = task.fail_reason_sentence;
  if (sentence?.reason === 'tasks.cancelled') return <Text>{t('task.fail.cancelled')}</Text>;
  const cause = task.timeline.findLast(({ status, kind }) => status === 'FAILURE' && kind === 'transition')?.class;
  const next = advice[cause ?? ''] ?? (vendorReasons.includes(sentence?.reason) ? 'task.fail.vendor' : undefined);
  return (
    <Alert color="red" variant="light" icon={<IconAlert />} title={t('task.fail.heading')}>
      <Stack gap={8}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {text === '' ? t('task.fail.noReason') : <ServerText text={text} sentence={sentence} />}
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
