import { Anchor, Button, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { OAuthProvider } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { type Column, PlainTable } from '../../ui/display/data-table.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { Section } from '../../ui/page/section.tsx';
import { SettingsFrame } from './settings-frame.tsx';

/** Custom OAuth providers, in addition to the built-in ones. */
export function ProvidersPage() {
  const { t } = useTranslation();
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
          <Anchor component={Link} to={`/settings/providers/${id}`} fw={550}>
            {name}
          </Anchor>
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
