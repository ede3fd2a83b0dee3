import { Alert, Button, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconRefresh, IconSearch, IconSettings } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { MarketOffer, MarketPlugin } from '../../api/types.ts';
import { useApi, useChange } from '../../api/use-api.ts';
import { TableSkeleton } from '../../ui/display/data-table.tsx';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { localise } from '../../i18n/localise.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { Answer } from '../../ui/display/query-result.tsx';
import { useFilters } from '../../ui/form/use-filters.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { useTypedFilter } from '../../ui/form/use-debounced-filter.ts';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { NameLink } from '../../ui/page/name-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { MarketState } from './market-state.tsx';
import classes from './marketplace.module.css';
import { SourcesDialog } from './sources-dialog.tsx';

const path = '/api/plugin/task/marketplace';

/**
 * Plugins that others publish, by the sources that root has entered. The gateway fetches them; the
 * browser asks nobody else.
 */
export function MarketplacePage() {
  const { t } = useTranslation();
  const filters = useFilters(['q']);
  const [isEditing, setEditing] = useState(false);
  const wanted = filters.values.q;
  const search = useTypedFilter(wanted, (text) => filters.set('q', text));
  const offers = useApi<MarketOffer[]>(path);
  // The gateway keeps what it has fetched, and the page reads that: the answer itself may be older
  // than the sources are by then.
  const refresh = useChange<void>({
    request: () => ({ method: 'GET', path: `${path}?refresh=true`, patienceMs: 60_000 }),
    stale: [path],
  });

  return (
    <Page
      heading={t('nav.marketplace')}
      intro={t('market.intro')}
      actions={
        <>
          <Button
            variant="default"
            leftSection={<IconSettings size={18} stroke={1.6} aria-hidden="true" />}
            onClick={() => setEditing(true)}
          >
            {t('market.sources')}
          </Button>
          <Button
            variant="default"
            loading={refresh.isPending}
            leftSection={<IconRefresh size={18} stroke={1.6} aria-hidden="true" />}
            onClick={() => refresh.mutate()}
          >
            {t('app.refresh')}
          </Button>
        </>
      }
    >
      <TextInput
        type="search"
        aria-label={t('market.search')}
        placeholder={t('market.search')}
        leftSection={<IconSearch size={18} stroke={1.6} aria-hidden="true" />}
        maw={420}
        {...search}
      />
      {refresh.isError && <FailureNotice error={refresh.error} />}
      <Answer query={offers} pending={<TableSkeleton />}>
        {(sources) =>
          sources.length === 0 ? (
            <EmptyState
              heading={t('market.noSources')}
              text={t('market.noSourcesText')}
              action={<Button onClick={() => setEditing(true)}>{t('market.addSource')}</Button>}
            />
          ) : (
            <Stack gap={36}>
              {sources.map((offer) => (
                <SourceOffer key={offer.source.name} offer={offer} wanted={wanted} />
              ))}
            </Stack>
          )
        }
      </Answer>
      <SourcesDialog isOpen={isEditing} onClose={() => setEditing(false)} />
    </Page>
  );
}

function SourceOffer({ offer, wanted }: { offer: MarketOffer; wanted: string }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const found = offer.plugins.filter((plugin) => matches(plugin, wanted, i18n.language));
  return (
    <section>
      <div className={classes.source}>
        <Title order={2} fz={18}>
          {offer.name || offer.source.name}
        </Title>
        <Text size="sm" c="dimmed">
          {t('market.fetched', { ago: format.ago(offer.fetched_at) })}
        </Text>
      </div>
      {offer.error !== undefined && (
        <Alert color="red" variant="light" role="alert" title={t('market.unreadable')}>
          <Text size="sm">{offer.error}</Text>
        </Alert>
      )}
      {offer.error === undefined && found.length === 0 && (
        <Text c="dimmed" size="sm">
          {t(wanted === '' ? 'market.emptySource' : 'market.nothingFound')}
        </Text>
      )}
      <ul className={classes.list}>
        {found.map((plugin) => (
          <Offered key={plugin.key} plugin={plugin} source={offer.source.name} />
        ))}
      </ul>
      {offer.skipped.length > 0 && (
        <details className={classes.skipped}>
          <summary>{t('market.skipped', { count: offer.skipped.length })}</summary>
          <ul>
            {offer.skipped.map(({ index, key, version, reason }) => (
              <li key={`${index} ${key} ${version} ${reason}`}>
                {[key, version].filter((part) => part !== undefined).join(' ')} {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Offered({ plugin, source }: { plugin: MarketPlugin; source: string }) {
  const { t, i18n } = useTranslation();
  const { key, name, description, icon, icon_url: picture, models, latest, state } = plugin;
  return (
    <li className={classes.offer}>
      <PluginIcon name={name} icon={icon} path={picture} size={44} />
      <div className={classes.text}>
        <div className={classes.title}>
          <NameLink to={`/marketplace/${encodeURIComponent(source)}/${encodeURIComponent(key)}`}>{name}</NameLink>
          <Text size="sm" c="dimmed" component="span">
            {latest}
          </Text>
        </div>
        <Text size="sm" lineClamp={2} lh={1.5}>
          {localise(description, i18n.language)}
        </Text>
        <Text size="xs" c="dimmed" lineClamp={1} mt={4}>
          {t('market.models', { models: models.join(', ') })}
        </Text>
      </div>
      <MarketState state={state} />
    </li>
  );
}

function matches(plugin: MarketPlugin, wanted: string, language: string): boolean {
  const text = [plugin.key, plugin.name, localise(plugin.description, language), ...plugin.models].join('\n');
  return text.toLowerCase().includes(wanted.trim().toLowerCase());
}
