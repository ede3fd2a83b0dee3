import { Group, Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useParams, useSearchParams } from 'react-router';
import type { PluginSummary, PluginVersion } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { BackToVersions } from './back-to-versions.tsx';
import { pluginPath } from './plugin-paths.ts';
import { VersionDiff } from './version-diff.tsx';

/** Compares any two versions. */
export function DiffPage() {
  const { t } = useTranslation();
  const { key = '' } = useParams();
  const [params, setParams] = useSearchParams();
  const plugins = useApiQuery<PluginSummary[]>('/api/plugin/task');
  const versions = useApiQuery<PluginVersion[]>(`${pluginPath(key)}/versions`);
  const plugin = plugins.data?.find((each) => each.key === key);
  const serving = versions.data?.find(({ active }) => active)?.version;
  const from = params.get('from') ?? serving ?? 'factory';
  const to = params.get('version') ?? '';
  const choose = (next: { from?: string | null; version?: string | null }): void => {
    const chosen = { from, version: to, ...next };
    setParams({ from: chosen.from ?? from, version: chosen.version ?? to }, { replace: true });
  };
  const name = plugin?.meta?.name ?? key;
  return (
    <Page heading={t('plugins.diff.heading', { name })} back={<BackToVersions pluginKey={key} name={name} />}>
      <QueryResult query={versions}>
        {(all) => {
          const hasFactory = plugin?.source === 'factory' || plugin?.factory_meta !== undefined;
          const choices = [
            ...all.map(({ version }) => ({ value: version, label: version })),
            ...(hasFactory ? [{ value: 'factory', label: t('plugins.source.factory') }] : []),
          ];
          return (
            <>
              <Group gap="lg">
                <Select
                  label={t('plugins.diff.from')}
                  data={choices}
                  value={from}
                  allowDeselect={false}
                  onChange={(next) => choose({ from: next })}
                />
                <Select
                  label={t('plugins.diff.to')}
                  data={choices}
                  value={to}
                  allowDeselect={false}
                  onChange={(next) => choose({ version: next })}
                />
              </Group>
              {to !== '' && <VersionDiff pluginKey={key} from={from} to={to} />}
            </>
          );
        }}
      </QueryResult>
    </Page>
  );
}
