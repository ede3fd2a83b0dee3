import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import type { FlowTicket, TelegramTicket } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useForm } from '../../ui/form/use-form.ts';
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

type BindWeChatProps = { isOpen: boolean; onClose(): void; hasPicture: boolean };

/** Binds a WeChat account: scan the QR code, request a number in WeChat, enter it here. */
export function BindWeChat({ isOpen, onClose, hasPicture }: BindWeChatProps) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={t('home.identities.bindTo', { name: 'WeChat' })}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <CodeForm onClose={onClose} hasPicture={hasPicture} />
    </Modal>
  );
}

function CodeForm({ onClose, hasPicture }: Omit<BindWeChatProps, 'isOpen'>) {
  const { t } = useTranslation();
  const session = useSession();
  const [showsPicture, setShowsPicture] = useState(hasPicture);
  const flow = useQuery({
    queryKey: ['wechat-bind'],
    queryFn: () => session.send<FlowTicket>({ method: 'POST', path: '/api/oauth/wechat/bind/start' }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const bind = useApiMutation<string>({
    request: (code) => ({
      method: 'POST',
      path: '/api/oauth/wechat/bind',
      body: { code, flow_token: flow.data?.flow_token ?? '' },
    }),
    invalidates: ['/api/user/'],
    onSuccess: () => {
      notifySuccess(t('security.connected.bound', { name: 'WeChat' }));
      onClose();
    },
    // The flow expired or had too many wrong codes: start another one.
    onError: (error) => {
      if (error instanceof ApiError && error.code === 'AUTH_FLOW_INVALID') void flow.refetch();
    },
  });
  const form = useForm({
    initial: { code: '' },
    validate: ({ code }) => ({ code: code.trim() === '' ? t('code.missing') : null }),
    toVariables: ({ code }) => code.trim(),
    change: bind,
    codeTexts: { AUTH_CODE_INVALID: 'security.wechat.wrong' },
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="md">
        <Text size="sm" lh={1.6}>
          {t(showsPicture ? 'security.wechat.text' : 'security.wechat.noPicture')}
        </Text>
        {showsPicture && (
          <img
            src="/api/oauth/wechat/qrcode"
            alt={t('security.wechat.picture')}
            width={180}
            height={180}
            onError={() => setShowsPicture(false)}
          />
        )}
        {flow.isError && (
          <>
            <ErrorNotice error={flow.error} />
            <Button variant="default" onClick={() => void flow.refetch()}>
              {t('app.retry')}
            </Button>
          </>
        )}
        {form.error !== null && <ErrorNotice error={form.error} />}
        <TextInput {...form.bind('code')} label={t('code.label')} autoComplete="one-time-code" spellCheck={false} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t('app.cancel')}
          </Button>
          <Button type="submit" loading={form.isPending} disabled={flow.data === undefined || flow.isFetching}>
            {t('home.identities.bind')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
