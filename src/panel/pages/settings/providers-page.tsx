import { Button, Menu, Stack, Text } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import type { OAuthProvider } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { EmptyState, ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { BackLink, NameLink } from '../../ui/page/links.tsx';
import { MoreMenu } from '../../ui/page/more-menu.tsx';
import { useScopedNavigate } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useMutationWithProof } from '../../ui/security-proof/security-proof.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { ProviderForm } from './provider-form.tsx';
import { SettingsFrame } from './settings-page.tsx';

/** Custom OAuth providers, in addition to the built-in ones. */
export function ProvidersPage() {
  const { t } = useTranslation();
  const format = useFormat();
  const providers = useApiQuery<OAuthProvider[]>('/api/custom-oauth-provider');
  const add = (
    <Button
      component={Link}
      to="/settings/providers/new"
      leftSection={<IconPlus size={18} stroke={1.6} aria-hidden="true" />}
    >
      {t('providers.add')}
    </Button>
  );
  const columns: readonly Column<OAuthProvider>[] = [
    {
      key: 'name',
      heading: t('providers.name'),
      render: ({ id, name, slug }) => (
        <div>
          <NameLink to={`/settings/providers/${id}`}>{name}</NameLink>
          <Text size="xs" c="dimmed">
            {slug}
          </Text>
        </div>
      ),
    },
    {
      key: 'status',
      heading: t('providers.status'),
      render: (provider) => <ProviderStatus provider={provider} />,
    },
    {
      key: 'identities',
      heading: t('providers.identities'),
      numeric: true,
      render: ({ identities }) => format.number(identities),
    },
  ];
  return (
    <SettingsFrame current="providers">
      <Section
        heading={t('settings.providers')}
        intro={t('providers.intro')}
        actions={providers.data !== undefined && providers.data.length > 0 ? add : undefined}
      >
        <QueryResult query={providers}>
          {(all) =>
            all.length === 0 ? (
              <EmptyState heading={t('providers.empty')} text={t('providers.emptyText')} action={add} />
            ) : (
              <PlainTable label={t('settings.providers')} columns={columns} rows={all} rowKey={({ id }) => id} />
            )
          }
        </QueryResult>
      </Section>
    </SettingsFrame>
  );
}

function ProviderStatus({ provider }: { provider: OAuthProvider }) {
  const { t } = useTranslation();
  if (provider.secret_unreadable) return <StatusLabel tone="bad">{t('providers.secretLost')}</StatusLabel>;
  return provider.enabled ? (
    <StatusLabel tone="good">{t('providers.on')}</StatusLabel>
  ) : (
    <StatusLabel tone="quiet">{t('providers.off')}</StatusLabel>
  );
}

/** Creates or edits a custom OAuth provider. */
export function ProviderPage() {
  const { t } = useTranslation();
  const { id = '' } = useParams();
  const isNew = id === 'new';
  const provider = useApiQuery<OAuthProvider>(`/api/custom-oauth-provider/${encodeURIComponent(id)}`, {
    enabled: !isNew,
    keepPrevious: false,
  });
  return (
    <SettingsFrame
      current="providers"
      heading={isNew ? t('providers.new') : (provider.data?.name ?? t('providers.one'))}
      intro={t('providers.pageIntro')}
      back={<BackLink to="/settings/providers">{t('settings.providers')}</BackLink>}
      actions={provider.data !== undefined && <DeleteProvider provider={provider.data} />}
    >
      {isNew ? (
        <ProviderForm stored={null} />
      ) : (
        <QueryResult
          query={provider}
          notFound={
            <ResourceNotFound
              heading={t('providers.gone')}
              text={t('providers.goneText')}
              list={{ to: '/settings/providers', name: 'providers.all' }}
            />
          }
        >
          {(stored) => <ProviderForm key={stored.id} stored={stored} />}
        </QueryResult>
      )}
    </SettingsFrame>
  );
}

function DeleteProvider({ provider }: { provider: OAuthProvider }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const format = useFormat();
  const navigate = useScopedNavigate();
  const queries = useQueryClient();
  const change = useMutationWithProof<number>({
    scope: 'settings.security',
    request: (id) => ({ method: 'DELETE', path: `/api/custom-oauth-provider/${id}` }),
    onSuccess: () => {
      notifySuccess(t('providers.deleted', { name: provider.name }));
      // Only the list: the provider itself is gone.
      void queries.invalidateQueries({ queryKey: ['api', '/api/custom-oauth-provider'], exact: true });
      navigate('/settings/providers');
    },
  });
  const { identities } = provider;
  const [isInUse, setInUse] = useState(false);
  const ask = async (): Promise<void> => {
    setInUse(identities > 0);
    if (identities > 0) return;
    const isConfirmed = await confirm({
      title: t('providers.deleteAsk', { name: provider.name }),
      text: t('providers.deleteText'),
      action: t('providers.delete'),
    });
    if (isConfirmed) change.mutate(provider.id);
  };
  return (
    <Stack gap="sm" align="flex-end">
      <MoreMenu isPending={change.isPending}>
        <Menu.Item
          c="var(--mantine-color-error)"
          leftSection={<IconTrash size={18} stroke={1.6} aria-hidden="true" />}
          onClick={() => void ask()}
        >
          {t('providers.delete')}
        </Menu.Item>
      </MoreMenu>
      {isInUse && (
        <Text size="sm" role="alert" ta="end" maw={360}>
          {t('providers.inUseBy', { count: identities, shown: format.number(identities) })}
        </Text>
      )}
      {change.isError && <ErrorNotice error={change.error} codeTexts={{ AUTH_PROVIDER_IN_USE: 'providers.inUse' }} />}
    </Stack>
  );
}
