import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Channel, ChannelPage } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import { useSession } from '../../session/session-context.tsx';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { notifyDone } from '../../ui/display/notify.ts';
import { useNavigateHere } from '../../ui/page/use-scoped-navigate.ts';

/** Asks with what breaks, deletes, and goes back to the list. */
export function useDeleteChannel(channel: Channel): { ask(): Promise<void>; isPending: boolean; error: Error | null } {
  const { t } = useTranslation();
  const session = useSession();
  const confirm = useConfirm();
  const navigate = useNavigateHere();
  const change = useChange<number>({
    request: (id) => ({ method: 'DELETE', path: `/api/channel/${id}` }),
    onSuccess: () => {
      notifyDone(t('channels.deleted', { name: channel.name }));
      navigate('/channels');
    },
    stale: ['/api/channel?'],
  });

  /**
   * Models of this channel that no other enabled one serves; unknown where the others cannot be
   * read.
   */
  async function findLost(): Promise<string[]> {
    try {
      const { items } = await session.send<ChannelPage>({ method: 'GET', path: '/api/channel?page_size=100' });
      const others = items.filter(({ id, status }) => id !== channel.id && status === 1);
      return channel.models.filter((model) => !others.some(({ models }) => models.includes(model)));
    } catch {
      return [];
    }
  }

  const ask = async (): Promise<void> => {
    const lost = await findLost();
    const isAgreed = await confirm({
      title: t('channels.deleteTitle', { name: channel.name }),
      text: (
        <Stack gap="sm">
          <Text size="sm">{t('channels.deleteText')}</Text>
          {lost.length > 0 && <Text size="sm">{t('channels.deleteLost', { models: lost.join(', ') })}</Text>}
        </Stack>
      ),
      action: t('channels.deleteAction'),
    });
    if (isAgreed) change.mutate(channel.id);
  };
  return { ask, isPending: change.isPending, error: change.error };
}
