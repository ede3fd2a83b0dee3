import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import type { PluginSummary } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { localise } from '../../i18n/localise.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { BackLink } from '../../ui/page/back-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PageTabs } from '../../ui/page/page-tabs.tsx';
import { ResourceNotFound } from '../../ui/page/resource-not-found.tsx';
import { DryRunTab } from './dry-run-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { PluginPrices } from './plugin-prices.tsx';
import { PluginSwitch } from './plugin-switch.tsx';
import { SourceTab } from './source-tab.tsx';
import { VersionsTab } from './versions-tab.tsx';

const tabsOf = (plugin: PluginSummary, t: TFunction) => [
  { name: 'overview', text: t('plugins.tab.overview'), panel: <OverviewTab plugin={plugin} /> },
  { name: 'versions', text: t('plugins.tab.versions'), panel: <VersionsTab plugin={plugin} /> },
  { name: 'source', text: t('plugins.tab.source'), panel: <SourceTab plugin={plugin} /> },
  { name: 'prices', text: t('plugins.tab.prices'), panel: <PluginPrices plugin={plugin} /> },
  { name: 'dryrun', text: t('plugins.tab.dryrun'), panel: <DryRunTab plugin={plugin} /> },
];

export function PluginPage() {
  const { t, i18n } = useTranslation();
  const { key = '' } = useParams();
  const plugins = useApiQuery<PluginSummary[]>('/api/plugin/task');
  const plugin = plugins.data?.find((each) => each.key === key);
  const description = localise(plugin?.meta?.description, i18n.language);

  return (
    <Page
      heading={plugin?.meta?.name ?? key}
      {...(description === '' ? {} : { intro: description })}
      back={<BackLink to="/plugins">{t('nav.plugins')}</BackLink>}
      actions={plugin !== undefined && <PluginSwitch plugin={plugin} label={t('plugins.switch')} />}
    >
      <QueryResult query={plugins}>
        {() =>
          plugin === undefined ? (
            <ResourceNotFound
              heading={t('plugins.unknown')}
              text={t('plugins.unknownText', { key })}
              list={{ to: '/plugins', name: 'plugins.all' }}
            />
          ) : (
            <PageTabs first="overview" tabs={tabsOf(plugin, t)} />
          )
        }
      </QueryResult>
    </Page>
  );
}
