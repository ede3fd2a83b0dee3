import { Button, Group, Select, Skeleton, Stack, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { useParams, useSearchParams } from 'react-router';
import { hasPrices, pluginPath, pluginPricesPath } from '../../api/plugin-paths.ts';
import type { PluginDetail, PluginPrices, PluginSummary, PluginVersion } from '../../api/types.ts';
import { localise } from '../../i18n/texts.ts';
import { useApiQuery, useLocalisedQuery, withQuery } from '../../session/use-api.ts';
import { CodeEditor } from '../../ui/code/code-editor.tsx';
import { ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PageTabs } from '../../ui/page/page-tabs.tsx';
import { downloadText } from '../../ui/table/export-menu.tsx';
import { PluginPriceTable } from '../prices/plugin-prices-page.tsx';
import { DryRunTab } from './dry-run-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { PluginErrorList } from './plugin-errors.tsx';
import { PluginLogo } from './plugin-logo.tsx';
import { nameBuiltIn, PluginSwitch } from './plugin-state.tsx';
import { VersionsTab } from './versions-tab.tsx';

const listTabs = (plugin: PluginSummary, t: TFunction) => [
  { name: 'overview', text: t('plugins.tab.overview'), panel: <OverviewTab plugin={plugin} /> },
  { name: 'versions', text: t('plugins.tab.versions'), panel: <VersionsTab plugin={plugin} /> },
  { name: 'source', text: t('plugins.tab.source'), panel: <SourceTab plugin={plugin} /> },
  { name: 'prices', text: t('plugins.tab.prices'), panel: <PricesTab plugin={plugin} /> },
  { name: 'dryrun', text: t('plugins.tab.dryrun'), panel: <DryRunTab plugin={plugin} /> },
];

export function PluginPage() {
  const { t, i18n } = useTranslation();
  const { key = '' } = useParams();
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task');
  const plugin = plugins.data?.find((each) => each.key === key);
  const isMissing = plugins.data !== undefined && plugin === undefined;
  const description = localise(plugin?.meta?.description, i18n.language);

  return (
    <Page
      heading={isMissing ? t('plugins.plugin') : (plugin?.meta?.name ?? key)}
      {...(description === '' ? {} : { intro: description })}
      icon={plugin && <PluginLogo plugin={plugin} size={40} />}
      back={<BackLink to="/plugins">{t('nav.plugins')}</BackLink>}
      actions={plugin !== undefined && <PluginSwitch plugin={plugin} label={t('plugins.switch')} />}
    >
      <QueryResult query={plugins}>
        {() =>
          plugin === undefined ? (
            <ResourceNotFound
              heading={t('plugins.unknown')}
              text={t('plugins.unknownText', { key })}
              list={{ to: '/marketplace', name: 'plugins.browse' }}
            />
          ) : (
            <PageTabs first="overview" tabs={listTabs(plugin, t)} />
          )
        }
      </QueryResult>
    </Page>
  );
}

/** Shows the prices of the plugin's models. */
function PricesTab({ plugin }: { plugin: PluginSummary }) {
  const { t } = useTranslation();
  const isServing = hasPrices(plugin);
  const prices = useApiQuery<PluginPrices>(pluginPricesPath(plugin.key), { enabled: isServing });
  if (!isServing) return <Text c="dimmed">{t('prices.problem.plugin_gone')}</Text>;
  return (
    <Stack gap="lg">
      <QueryResult query={prices}>{(data) => <PluginPriceTable prices={data} />}</QueryResult>
    </Stack>
  );
}

/** The source of a version, read-only. */
function SourceTab({ plugin }: { plugin: PluginSummary }) {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const version = params.get('version');
  const versions = useApiQuery<PluginVersion[]>(`${pluginPath(plugin.key)}/versions`);
  const detail = useApiQuery<PluginDetail>(withQuery(pluginPath(plugin.key), { version }));
  const stored = (versions.data ?? []).map((each) => each.version);
  // What serves is not among the stored versions if it came with the gateway.
  const isBuiltIn = plugin.source === 'factory';
  const choices = [
    ...(isBuiltIn ? [{ value: '', label: nameBuiltIn(plugin.meta?.version, t) }] : []),
    ...stored.map((each) => ({ value: each, label: each })),
  ];
  return (
    <QueryResult query={detail}>
      {({ source, source_hash: hash, errors, meta }) => (
        <Stack gap="md">
          <Group justify="space-between" align="flex-end" gap="sm" wrap="nowrap">
            {stored.length > 0 ? (
              <Select
                label={t('plugins.version')}
                flex="0 1 240px"
                data={choices}
                value={version ?? (isBuiltIn ? '' : plugin.version)}
                allowDeselect={false}
                onChange={(next) =>
                  setParams(
                    { tab: 'source', ...(next === null || next === '' ? {} : { version: next }) },
                    { replace: true },
                  )
                }
              />
            ) : (
              <Text size="sm" c="dimmed">
                {t('plugins.source.factory')}
              </Text>
            )}
            <Button
              variant="default"
              flex="none"
              leftSection={<IconDownload size={18} stroke={1.6} aria-hidden="true" />}
              disabled={detail.isPlaceholderData}
              onClick={() => downloadText(`${plugin.key}-${meta?.version ?? plugin.version}.js`, source)}
            >
              {t('plugins.source.save')}
            </Button>
          </Group>
          {detail.isPlaceholderData ? (
            <Skeleton h={720} />
          ) : (
            <>
              {errors.length > 0 && <PluginErrorList errors={errors} />}
              <CodeEditor label={t('plugins.tab.source')} value={source} language="javascript" height={720} />
              <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {t('plugins.source.hash', { hash })}
              </Text>
            </>
          )}
        </Stack>
      )}
    </QueryResult>
  );
}
