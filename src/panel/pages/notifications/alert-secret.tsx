import { Button, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { BalanceAlert, SavedBalanceAlert } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';

/** Whether the webhook is signed, and another secret for it. */
export function AlertSecret({ alert, onCreated }: { alert: BalanceAlert; onCreated(secret: string): void }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const rotate = useApiMutation<void, SavedBalanceAlert>({
    request: () => ({ method: 'POST', path: '/api/user/self/balance-alert/webhook-secret' }),
    invalidates: ['/api/user/self/balance-alert'],
    onResponse: ({ new_secret: created }) => created !== null && onCreated(created),
  });
  const ask = async (): Promise<void> => {
    const question = {
      title: t('keys.secret.rotateTitle'),
      text: t('notifications.rotateText'),
      action: t('keys.secret.rotate'),
      destructive: false,
    };
    if (await confirm(question)) rotate.mutate();
  };
  return (
    <Stack gap="sm">
      {rotate.isError && <ErrorNotice error={rotate.error} />}
      <Text size="sm" c="dimmed" lh={1.6}>
        {t(alert.webhook_secret === 'unreadable' ? 'keys.secret.unreadable' : 'keys.secret.ready')}
      </Text>
      <Group>
        <Button variant="default" loading={rotate.isPending} onClick={() => void ask()}>
          {t('keys.secret.rotate')}
        </Button>
      </Group>
    </Stack>
  );
}
