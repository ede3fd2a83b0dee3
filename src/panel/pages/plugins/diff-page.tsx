import { Button, Group, Select, Stack, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { activatePath, pluginPath } from '../../api/plugin-paths.ts';
import type { PluginDetail, PluginSummary, PluginVersion } from '../../api/types.ts';
import { useApiQuery, useLocalisedQuery, withQuery } from '../../session/use-api.ts';
import { CodeDiff } from '../../ui/code/code-editor.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { nameBuiltIn } from './plugin-state.tsx';

/** Compares any two versions. */
export function DiffPage() {
  const { t } = useTranslation();
  const { key = '' } = useParams();
  const [params, setParams] = useSearchParams();
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task');
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
  const isServing = to === (serving ?? 'factory');
  return (
    <Page
      heading={t('plugins.diff.heading', { name })}
      back={<BackToVersions pluginKey={key} name={name} />}
      actions={
        to !== '' &&
        versions.data !== undefined &&
        !isServing && (
          <Button component={Link} to={activatePath(key, to)}>
            {t('plugins.reviewAndActivate')}
          </Button>
        )
      }
    >
      <QueryResult query={versions}>
        {(all) => {
          const hasFactory = plugin?.source === 'factory' || plugin?.factory_meta !== undefined;
          const builtIn = plugin?.source === 'factory' ? plugin.meta : plugin?.factory_meta;
          const choices = [
            ...all.map(({ version }) => ({ value: version, label: version })),
            ...(hasFactory ? [{ value: 'factory', label: nameBuiltIn(builtIn?.version, t) }] : []),
          ];
          return (
            <>
              <Group gap="lg" grow wrap="nowrap" maw={520}>
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

/** Compares the sources of two versions. `factory` is the built-in version. */
export function VersionDiff({ pluginKey, from, to }: { pluginKey: string; from: string; to: string }) {
  const { t } = useTranslation();
  const before = useApiQuery<PluginDetail>(withQuery(pluginPath(pluginKey), { version: from }), {
    keepPrevious: false,
  });
  const after = useApiQuery<PluginDetail>(withQuery(pluginPath(pluginKey), { version: to }), { keepPrevious: false });
  return (
    <QueryResult query={before}>
      {(left) => (
        <QueryResult query={after}>
          {(right) =>
            left.source_hash === right.source_hash ? (
              <Text size="sm" c="dimmed">
                {t('plugins.diff.same')}
              </Text>
            ) : (
              <Stack gap="sm">
                <CodeDiff
                  before={{
                    label: t('plugins.diff.before', { version: versionLabel(from, left, t) }),
                    text: left.source,
                  }}
                  after={{
                    label: t('plugins.diff.after', { version: versionLabel(to, right, t) }),
                    text: right.source,
                  }}
                  language="javascript"
                  height={720}
                />
              </Stack>
            )
          }
        </QueryResult>
      )}
    </QueryResult>
  );
}

const versionLabel = (name: string, { meta }: PluginDetail, t: TFunction): string =>
  name === 'factory' ? nameBuiltIn(meta?.version, t) : name;

export function BackToVersions({ pluginKey, name }: { pluginKey: string; name: string }) {
  const { t } = useTranslation();
  return (
    <BackLink to={`/plugins/${encodeURIComponent(pluginKey)}?tab=versions`}>
      {t('plugins.backToVersions', { key: name })}
    </BackLink>
  );
}
