import { Button, Group, Select, Skeleton, Stack, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import type { PluginDetail, PluginSummary, PluginVersion } from '../../api/types.ts';
import { useApiQuery, withQuery } from '../../session/use-api.ts';
import { CodeEditor } from '../../ui/code/code-editor.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { downloadText } from '../../ui/table/export-menu.tsx';
import { PluginErrorList } from './plugin-errors.tsx';
import { pluginPath } from './plugin-paths.ts';

/** The source of a version, read-only. */
export function SourceTab({ plugin }: { plugin: PluginSummary }) {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const version = params.get('version');
  const versions = useApiQuery<PluginVersion[]>(`${pluginPath(plugin.key)}/versions`);
  const detail = useApiQuery<PluginDetail>(withQuery(pluginPath(plugin.key), { version }));
  const stored = (versions.data ?? []).map((each) => each.version);
  // What serves is not among the stored versions if it came with the gateway.
  const isBuiltIn = plugin.source === 'factory';
  const choices = [
    ...(isBuiltIn ? [{ value: '', label: t('plugins.source.factory') }] : []),
    ...stored.map((each) => ({ value: each, label: each })),
  ];
  return (
    <QueryResult query={detail}>
      {({ source, source_hash: hash, errors, meta }) => (
        <Stack gap="md">
          <Group justify="space-between" align="flex-end" gap="sm">
            {stored.length > 0 ? (
              <Select
                label={t('plugins.version')}
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
