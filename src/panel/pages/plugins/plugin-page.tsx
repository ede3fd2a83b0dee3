import { Tabs } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useParams, useSearchParams } from 'react-router';
import type { PluginSummary } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { localise } from '../../i18n/localise.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { BackLink } from '../../ui/page/back-link.tsx';
import { Page } from '../../ui/page/page.tsx';
import { ResourceNotFound } from '../../ui/page/resource-not-found.tsx';
import { DryRunTab } from './dry-run-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { PluginPrices } from './plugin-prices.tsx';
import { PluginSwitch } from './plugin-switch.tsx';
import { SourceTab } from './source-tab.tsx';
import { VersionsTab } from './versions-tab.tsx';

const tabs = {
  overview: { text: 'plugins.tab.overview', Panel: OverviewTab },
  versions: { text: 'plugins.tab.versions', Panel: VersionsTab },
  source: { text: 'plugins.tab.source', Panel: SourceTab },
  prices: { text: 'plugins.tab.prices', Panel: PluginPrices },
  dryrun: { text: 'plugins.tab.dryrun', Panel: DryRunTab },
} as const satisfies Record<string, { text: TextKey; Panel: (props: { plugin: PluginSummary }) => unknown }>;

type Tab = keyof typeof tabs;

const isTab = (name: string | null): name is Tab => name !== null && name in tabs;

export function PluginPage() {
  const { t, i18n } = useTranslation();
  const { key = '' } = useParams();
  const [params, setParams] = useSearchParams();
  const plugins = useApiQuery<PluginSummary[]>('/api/plugin/task');
  const plugin = plugins.data?.find((each) => each.key === key);
  const requestedTab = params.get('tab');
  const tab: Tab = isTab(requestedTab) ? requestedTab : 'overview';
  const description = localise(plugin?.meta?.description, i18n.language);

  return (
    <Page
      heading={plugin?.meta?.name ?? key}
      {...(description === '' ? {} : { intro: description })}
      back={<BackLink to="/plugins">{t('nav.plugins')}</BackLink>}
      actions={plugin !== undefined && <PluginSwitch plugin={plugin} />}
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
            <Tabs
              value={tab}
              onChange={(next) =>
                setParams(next === 'overview' || next === null ? {} : { tab: next }, { replace: true })
              }
              keepMounted={false}
            >
              <Tabs.List mb="xl">
                {Object.entries(tabs).map(([name, { text }]) => (
                  <Tabs.Tab key={name} value={name}>
                    {t(text)}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              {Object.entries(tabs).map(([name, { Panel }]) => (
                <Tabs.Panel key={name} value={name}>
                  <Panel plugin={plugin} />
                </Tabs.Panel>
              ))}
            </Tabs>
          )
        }
      </QueryResult>
    </Page>
  );
}
