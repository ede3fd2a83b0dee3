import { Button } from '@mantine/core';
import { IconMail } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Binding, GatewayStatus, User } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { bindInPopup } from '../oauth/bind-in-popup.ts';
import { listProviders } from '../oauth/oauth-sign-in.ts';
import { ProviderIcon } from '../oauth/provider-icon.tsx';
import { BindTelegram, BindWeChat } from './bind-accounts.tsx';
import { Item, ItemList } from './item-list.tsx';

type Provider = { slug: string; name: string; method: 'popup' | 'telegram' | 'wechat' };

export const bindingsPath = '/api/user/oauth/bindings';

/** Connected identities, and the providers that can be connected. */
export function ConnectedAccounts({ user, status }: { user: User; status: GatewayStatus }) {
  const { t } = useTranslation();
  const bindings = useApiQuery<Binding[]>(bindingsPath);
  return (
    <SettingsBlock heading={t('security.connected')} intro={t('security.connected.intro')}>
      <QueryResult query={bindings}>
        {(bound) => <Providers bound={bound} offered={offeredProviders(status)} email={user.email} status={status} />}
      </QueryResult>
    </SettingsBlock>
  );
}

const offeredProviders = (status: GatewayStatus): Provider[] => [
  ...listProviders(status).map(({ slug, name }) => ({ slug, name, method: 'popup' as const })),
  ...(status.telegram_oauth ? [{ slug: 'telegram', name: 'Telegram', method: 'telegram' as const }] : []),
  ...(status.wechat_login ? [{ slug: 'wechat', name: 'WeChat', method: 'wechat' as const }] : []),
];

type ProvidersProps = {
  bound: readonly Binding[];
  offered: readonly Provider[];
  email: string | null;
  status: GatewayStatus;
};

function Providers({ bound, offered, email, status }: ProvidersProps) {
  const { t } = useTranslation();
  const isBound = ({ slug }: Provider): boolean => bound.some((binding) => binding.provider_slug === slug);
  const free = offered.filter((provider) => !isBound(provider));
  return (
    <ItemList label={t('security.connected')}>
      <Item
        icon={<IconMail size={22} stroke={1.6} opacity={email === null ? 0.5 : 1} />}
        title={t('account.email')}
        details={email ?? t('profile.email.none')}
        actions={
          <Button component={Link} to="/profile" variant="default" size="xs">
            {t(email === null ? 'profile.email.add' : 'profile.email.change')}
          </Button>
        }
      />
      {bound.map((binding) => (
        <Connected key={binding.provider_slug} binding={binding} />
      ))}
      {free.map((provider) => (
        <Unconnected key={provider.slug} provider={provider} status={status} />
      ))}
    </ItemList>
  );
}

function Connected({ binding }: { binding: Binding }) {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const { provider_name: name, provider_slug: slug } = binding;
  const unbind = useApiMutation<void>({
    request: () => ({ method: 'DELETE', path: `/api/user/oauth/bindings/${encodeURIComponent(slug)}` }),
    invalidates: ['/api/user/'],
    onSuccess: () => notifySuccess(t('security.connected.unbound', { name })),
  });
  const ask = async (): Promise<void> => {
    const question = {
      title: t('security.connected.unbindTitle', { name }),
      text: t('security.connected.unbindText', { name }),
      action: t('home.identities.unbind'),
    };
    if (await confirm(question)) unbind.mutate();
  };
  return (
    <Item
      icon={<ProviderIcon slug={slug} size={22} />}
      title={name}
      details={
        <>
          {t('security.connected.since', { id: binding.provider_user_id, date: format.date(binding.created_at) })}
          {unbind.isError && <ErrorNotice error={unbind.error} />}
        </>
      }
      actions={
        <Button
          variant="default"
          size="xs"
          loading={unbind.isPending}
          aria-label={t('home.identities.unbindFrom', { name })}
          onClick={() => void ask()}
        >
          {t('home.identities.unbind')}
        </Button>
      }
    />
  );
}

function Unconnected({ provider: { slug, name, method }, status }: { provider: Provider; status: GatewayStatus }) {
  const { t } = useTranslation();
  const session = useSession();
  const queries = useQueryClient();
  const [isDialogOpen, setDialogOpen] = useState(false);
  const close = (): void => setDialogOpen(false);
  const bind = useMutation({
    mutationFn: async () => {
      await bindInPopup(session, slug);
      await queries.invalidateQueries({ queryKey: ['api'] });
    },
    onSuccess: () => notifySuccess(t('security.connected.bound', { name })),
  });
  return (
    <Item
      icon={<ProviderIcon slug={slug} size={22} opacity={0.5} />}
      title={name}
      details={bind.isError ? <ErrorNotice error={bind.error} /> : t('security.connected.not')}
      actions={
        <>
          <Button
            variant="default"
            size="xs"
            loading={bind.isPending}
            aria-label={t('home.identities.bindTo', { name })}
            onClick={() => (method === 'popup' ? bind.mutate() : setDialogOpen(true))}
          >
            {t('home.identities.bind')}
          </Button>
          {method === 'telegram' && (
            <BindTelegram isOpen={isDialogOpen} onClose={close} botName={status.telegram_bot_name} />
          )}
          {method === 'wechat' && (
            <BindWeChat isOpen={isDialogOpen} onClose={close} hasPicture={status.wechat_qrcode !== ''} />
          )}
        </>
      }
    />
  );
}
