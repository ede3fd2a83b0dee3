import { Alert, Button, Group, Stack, Text, Title } from '@mantine/core';
import { IconRefresh, IconSettings } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { MarketplacePlugin, MarketplaceSource } from '../../api/types.ts';
import { localise } from '../../i18n/texts.ts';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { ServerText } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { SearchField } from '../../ui/form/filter-bar.tsx';
import { useDebouncedFilter, useFilters } from '../../ui/form/use-filters.ts';
import { NameLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { TableSkeleton } from '../../ui/table/data-table.tsx';
import { describeNeeds, RuleText } from '../plugins/plugin-errors.tsx';
import { UploadDialog } from '../plugins/upload-dialog.tsx';
import classes from './marketplace.module.css';
import { MarketState, TrustLabel, TrustNotice } from './offer-labels.tsx';
import { SourcesDialog } from './sources-dialog.tsx';

const path = '/api/plugin/task/marketplace';

/**
 * Plugins of the sources that root has configured. The gateway fetches them; the browser contacts
 * no other host.
 */
export function MarketplacePage() {
  const { t } = useTranslation();
  const filters = useFilters(['q']);
  const [isEditing, setEditing] = useState(false);
  const [isUploading, setUploading] = useState(false);
  const searchText = filters.values.q;
  const search = useDebouncedFilter(searchText, (text) => filters.set('q', text));
  const offers = useApiQuery<MarketplaceSource[]>(path);
  // The gateway caches what it fetched, and the page reads that cache: this answer may already be
  // older.
  const refresh = useApiMutation<void>({
    request: () => ({ method: 'GET', path: `${path}?refresh=true`, timeoutMs: 60_000 }),
    invalidates: [path],
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
          {!(offers.data && isCutOff(offers.data)) && (
            <Button
              variant="default"
              loading={refresh.isPending}
              leftSection={<IconRefresh size={18} stroke={1.6} aria-hidden="true" />}
              onClick={() => refresh.mutate()}
            >
              {t('app.refresh')}
            </Button>
          )}
        </>
      }
    >
      {!(offers.data !== undefined && isCutOff(offers.data)) && (
        <SearchField aria-label={t('market.search')} placeholder={t('market.search')} maw={420} {...search} />
      )}
      {refresh.isError && <ErrorNotice error={refresh.error} />}
      <QueryResult query={offers} pending={<TableSkeleton />}>
        {(sources) =>
          sources.length === 0 ? (
            <EmptyState
              heading={t('market.noSources')}
              text={t('market.noSourcesText')}
              action={<Button onClick={() => setEditing(true)}>{t('market.addSource')}</Button>}
            />
          ) : (
            <Stack gap={36}>
              {isCutOff(sources) && <CutOff sources={sources} refresh={refresh} onUpload={() => setUploading(true)} />}
              {sources.filter(isWorthShowing).map((offer) => (
                <SourceSection
                  key={offer.source.name}
                  offer={offer}
                  searchText={searchText}
                  isQuiet={isCutOff(sources)}
                  onEdit={() => setEditing(true)}
                  refresh={refresh}
                />
              ))}
            </Stack>
          )
        }
      </QueryResult>
      <SourcesDialog isOpen={isEditing} onClose={() => setEditing(false)} />
      <UploadDialog isOpen={isUploading} onClose={() => setUploading(false)} />
    </Page>
  );
}

/** Faults of the network between this gateway and a marketplace. */
const networkFaults: readonly (string | undefined)[] = [
  ...['market.dns', 'market.connect', 'market.tls', 'market.ended', 'market.late'],
];

/** Whether no source can be reached at all: each says the same, which is said once. */
const isCutOff = (sources: readonly MarketplaceSource[]): boolean =>
  sources.every(({ error_sentence: sentence }) => networkFaults.includes(sentence?.reason));

const isUnresolved = ({ error_sentence: sentence }: MarketplaceSource): boolean => sentence?.reason === 'market.dns';

/** A source that nothing came from is left out where the notice above says why. */
const isWorthShowing = (offer: MarketplaceSource, _: number, sources: readonly MarketplaceSource[]): boolean =>
  !isCutOff(sources) || !isUnresolved(offer) || offer.plugins.length + offer.revoked.length + offer.skipped.length > 0;

type Refresh = { mutate(): void; isPending: boolean };

type CutOffProps = { sources: readonly MarketplaceSource[]; refresh: Refresh; onUpload(): void };

/** Nothing can be offered: why, and what can be done without it. */
function CutOff({ sources, refresh, onUpload }: CutOffProps) {
  const { t } = useTranslation();
  return (
    <div role="alert">
      <EmptyState
        heading={t('market.cutOff')}
        text={`${t(sources.every(isUnresolved) ? 'market.allUnresolved' : 'market.allFailed')} ${t('market.cutOffText')}`}
        action={
          <Group gap="sm" justify="center">
            <Button loading={refresh.isPending} onClick={() => refresh.mutate()}>
              {t('app.retry')}
            </Button>
            <Button variant="default" onClick={onUpload}>
              {t('plugins.upload')}
            </Button>
            <Button component={Link} to="/plugins" variant="default">
              {t('market.viewPlugins')}
            </Button>
          </Group>
        }
      />
    </div>
  );
}

function RetryButton({ refresh }: { refresh: Refresh }) {
  const { t } = useTranslation();
  return (
    <Button size="xs" variant="default" loading={refresh.isPending} onClick={() => refresh.mutate()}>
      {t('app.retry')}
    </Button>
  );
}

type SourceSectionProps = {
  offer: MarketplaceSource;
  searchText: string;
  /** A notice above says already what is wrong. */
  isQuiet: boolean;
  onEdit(): void;
  refresh: Refresh;
};

function SourceSection({ offer, searchText, isQuiet, onEdit, refresh }: SourceSectionProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const found = offer.plugins.filter((plugin) => matches(plugin, searchText, i18n.language));
  return (
    <section>
      <div className={classes.source}>
        <Title order={2} fz={18}>
          {offer.source.name}
        </Title>
        {offer.error === undefined && (
          <Text size="sm" c="dimmed">
            {t('market.fetched', { ago: format.ago(offer.fetched_at) })}
          </Text>
        )}
        <TrustLabel trust={offer.trust} />
      </div>
      <TrustNotice source={offer.source.name} trust={offer.trust} />
      {offer.error !== undefined && isQuiet && !isUnresolved(offer) && (
        <Text size="sm" c="dimmed">
          <ServerText text={offer.error} sentence={offer.error_sentence} />
        </Text>
      )}
      {offer.error !== undefined && !isQuiet && offer.trust?.state !== 'refused' && (
        // Nothing is lost while it is offline: plugins that were installed from it go on.
        <Alert color="red" variant="light">
          <div className={classes.failed}>
            <span>
              <ServerText text={offer.error} sentence={offer.error_sentence} />
            </span>
            <Group gap="xs">
              <RetryButton refresh={refresh} />
              <Button size="xs" variant="default" onClick={onEdit}>
                {t('market.editSource')}
              </Button>
            </Group>
          </div>
        </Alert>
      )}
      {offer.error === undefined && found.length === 0 && (
        <Text c="dimmed" size="sm">
          {t(searchText === '' ? 'market.emptySource' : 'market.nothingFound')}
        </Text>
      )}
      <ul className={classes.list}>
        {found.map((plugin) => (
          <PluginListItem key={plugin.key} plugin={plugin} source={offer.source.name} />
        ))}
      </ul>
      {offer.revoked.length > 0 && (
        <details className={classes.skipped}>
          <summary>{t('market.revoked', { count: offer.revoked.length })}</summary>
          <ul>
            {offer.revoked.map(({ key, version, reason }) => (
              <li key={`${key} ${version}`}>
                {key} {version}: <q>{reason}</q>
              </li>
            ))}
          </ul>
        </details>
      )}
      {offer.skipped.length > 0 && <SkippedEntries skipped={offer.skipped} />}
    </section>
  );
}

/** Entries of the index that are not offered. */
function SkippedEntries({ skipped }: { skipped: MarketplaceSource['skipped'] }) {
  const { t } = useTranslation();
  return (
    <details className={classes.skipped}>
      <summary>{t('market.skipped', { count: skipped.length })}</summary>
      <ul>
        {skipped.map(({ index, key, version, reason, reason_sentence: sentence, needs }) => (
          <li key={`${index} ${key} ${version} ${reason}`}>
            {[key, version].filter((part) => part !== undefined).join(' ')}{' '}
            {needs === undefined ? (
              <RuleText said={{ ...sentence, message: reason }} />
            ) : (
              t('market.newerContract', { needs: describeNeeds(needs, t) })
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The models that an entry names. */
const mostModels = 4;

function PluginListItem({ plugin, source }: { plugin: MarketplacePlugin; source: string }) {
  const { t, i18n } = useTranslation();
  const { key, name, description, icon, icon_url: picture, models, latest, offered, versions, state, website } = plugin;
  const page = `/marketplace/${encodeURIComponent(source)}/${encodeURIComponent(key)}`;
  const refused = versions.filter(({ taken }) => taken === false);
  const needs = refused.flatMap((version) => version.needs);
  const summary = localise(description, i18n.language);
  const shown = models.slice(0, models.length > mostModels + 1 ? mostModels : undefined);
  const rest = models.length - shown.length;
  return (
    <li className={classes.offer}>
      <PluginIcon name={name} icon={icon} path={picture} size={44} />
      <div className={classes.text}>
        <div className={classes.title}>
          <NameLink to={page}>{name}</NameLink>
          <Text size="sm" c="dimmed" component="span">
            {offered ?? latest}
          </Text>
          <MarketState state={state} version={offered ?? latest} />
        </div>
        <Text size="sm" lineClamp={2} lh={1.5} {...(summary === '' ? { c: 'dimmed' } : {})}>
          {summary || t('market.noDescription')}
        </Text>
        {shown.length > 0 && (
          <ul className={classes.models} aria-label={t('plugins.models')}>
            {shown.map((model) => (
              <li key={model}>{model}</li>
            ))}
            {rest > 0 && <li data-rest>{t('rows.more', { count: rest })}</li>}
          </ul>
        )}
        {website !== null && (
          <Text size="xs" c="dimmed" mt={4}>
            {new URL(website).host}
          </Text>
        )}
        {refused.length > 0 && (
          <Text size="xs" c="orange.9" mt={4}>
            {t('market.notTaken', { versions: refused.map(({ version }) => version).join(', ') })}{' '}
            {needs.length > 0 && t('market.newerContract', { needs: describeNeeds(distinct(needs), t) })}
          </Text>
        )}
      </div>
      <Button component={Link} to={page} variant="default" size="xs" aria-label={`${t('market.view')}: ${name}`}>
        {t('market.view')}
      </Button>
    </li>
  );
}

const distinct = <T,>(items: readonly T[]): T[] => [
  ...new Map(items.map((item) => [JSON.stringify(item), item])).values(),
];

function matches(plugin: MarketplacePlugin, searchText: string, language: string): boolean {
  const text = [plugin.key, plugin.name, localise(plugin.description, language), ...plugin.models].join('\n');
  return text.toLowerCase().includes(searchText.trim().toLowerCase());
}
