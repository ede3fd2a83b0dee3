import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { type Channel, type ChannelPage, channelStatus } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation } from '../../session/use-api.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { useScopedNavigate } from '../../ui/page/page.tsx';

/** Confirms with the consequences, deletes the channel and returns to the list. */
export function useDeleteChannel(channel: Channel): {
  confirmAndDelete(): Promise<void>;
  isPending: boolean;
  error: Error | null;
} {
  const { t } = useTranslation();
  const format = useFormat();
  const session = useSession();
  const confirm = useConfirm();
  const navigate = useScopedNavigate();
  const change = useApiMutation<number>({
    request: (id) => ({ method: 'DELETE', path: `/api/channel/${id}` }),
    onSuccess: () => {
      notifySuccess(t('channels.deleted', { name: channel.name }));
      navigate('/channels');
    },
    invalidates: ['/api/channel?'],
  });

  /** Models that no other enabled channel serves; empty if the other channels cannot be read. */
  async function findUnservedModels(): Promise<string[]> {
    try {
      const unserved = new Set(channel.models);
      for (let page = 1, total = 1; (page - 1) * 100 < total && unserved.size > 0; page += 1) {
        const path = `/api/channel?page_size=100&page=${page}`;
        const found = await session.send<ChannelPage>({ method: 'GET', path });
        total = found.total;
        for (const { id, status, models } of found.items) {
          if (id !== channel.id && status === channelStatus.enabled) for (const model of models) unserved.delete(model);
        }
      }
      return [...unserved];
    } catch {
      return [];
    }
  }

  const confirmAndDelete = async (): Promise<void> => {
    const running = channel.health.in_flight;
    const unservedModels = await findUnservedModels();
    const isConfirmed = await confirm({
      title: t('channels.deleteTitle', { name: channel.name }),
      text: (
        <Stack gap="sm">
          {running > 0 && (
            <Text size="sm">{t('channels.deleteRunning', { count: running, shown: format.number(running) })}</Text>
          )}
          {unservedModels.length > 0 && (
            <Text size="sm">{t('channels.deleteLost', { models: unservedModels.join(', ') })}</Text>
          )}
          <Text size="sm">{t('channels.deleteText')}</Text>
        </Stack>
      ),
      action: t('channels.deleteAction'),
    });
    if (isConfirmed) change.mutate(channel.id);
  };
  return { confirmAndDelete, isPending: change.isPending, error: change.error };
}
