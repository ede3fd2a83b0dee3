import { Stack, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { PluginDetail } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../api/use-api.ts';
import { CodeDiff } from '../../ui/code/code-editor.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { pluginPath } from './plugin-paths.ts';

/** Compares the sources of two versions. `factory` is the version shipped with the gateway. */
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
  name === 'factory'
    ? [meta?.version, t('plugins.source.factory')].filter((part) => part !== undefined).join(', ')
    : name;
