import { Modal, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { TelegramTicket } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { TelegramWidget } from '../oauth/telegram-widget.tsx';

type BindTelegramProps = { isOpen: boolean; onClose(): void; botName: string };

/**
 * Binds a Telegram account: Telegram's button redirects to the gateway, which redirects back to the
 * panel.
 */
export function BindTelegram({ isOpen, onClose, botName }: BindTelegramProps) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={t('home.identities.bindTo', { name: 'Telegram' })}
      centered
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <Widget botName={botName} />
    </Modal>
  );
}

function Widget({ botName }: { botName: string }) {
  const { t } = useTranslation();
  const session = useSession();
  const flow = useQuery({
    queryKey: ['telegram-bind'],
    queryFn: () => session.send<TelegramTicket>({ method: 'POST', path: '/api/oauth/telegram/bind/start' }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return (
    <Stack gap="md">
      <Text size="sm" lh={1.6}>
        {t('security.telegram.text')}
      </Text>
      <QueryResult query={flow}>
        {(ticket) => <TelegramWidget botName={botName} path={ticket.callback_url} />}
      </QueryResult>
    </Stack>
  );
}
