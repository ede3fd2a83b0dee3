import { Stack, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { PluginDetail } from '../../api/types.ts';
import { useApi, withQuery } from '../../api/use-api.ts';
import { CodeDiff } from '../../ui/code/code-editor.tsx';
import { Answer } from '../../ui/display/query-result.tsx';
import { pluginPath } from './plugin-paths.ts';

/** The sources of two versions beside each other. `factory` is what ships with the gateway. */
export function VersionDiff({ pluginKey, from, to }: { pluginKey: string; from: string; to: string }) {
  const { t } = useTranslation();
  const before = useApi<PluginDetail>(withQuery(pluginPath(pluginKey), { version: from }), { keep: false });
  const after = useApi<PluginDetail>(withQuery(pluginPath(pluginKey), { version: to }), { keep: false });
  return (
    <Answer query={before}>
      {(left) => (
        <Answer query={after}>
          {(right) =>
            left.source_hash === right.source_hash ? (
              <Text size="sm" c="dimmed">
                {t('plugins.diff.same')}
              </Text>
            ) : (
              <Stack gap="sm">
                <CodeDiff
                  before={{ label: t('plugins.diff.before', { version: nameOf(from, left, t) }), text: left.source }}
                  after={{ label: t('plugins.diff.after', { version: nameOf(to, right, t) }), text: right.source }}
                  language="javascript"
                  height={720}
                />
              </Stack>
            )
          }
        </Answer>
      )}
    </Answer>
  );
}

const nameOf = (name: string, { meta }: PluginDetail, t: TFunction): string =>
  name === 'factory'
    ? [meta?.version, t('plugins.source.factory')].filter((part) => part !== undefined).join(', ')
    : name;
