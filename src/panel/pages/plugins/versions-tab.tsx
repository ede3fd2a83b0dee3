import { ActionIcon, Badge, Button, Group, Text } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import { activatePath, pluginDependentPaths, pluginPath } from '../../api/plugin-paths.ts';
import type { PluginSummary, PluginVersion } from '../../api/types.ts';
import { useApiMutation, useApiQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { ChangeList } from './change-log.tsx';

/** A stored version, or the built-in one while it serves. */
type Row = Pick<PluginVersion, 'version' | 'remark' | 'changelog' | 'active' | 'enabled'> & {
  id: number | 'factory';
  created_at: number | null;
};
type Removal = { version: string; force: boolean };

/** Uploaded and installed versions, newest first, with links to activate another one. */
export function VersionsTab({ plugin }: { plugin: PluginSummary }) {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const path = pluginPath(plugin.key);
  const versions = useApiQuery<PluginVersion[]>(`${path}/versions`);
  const remove = useApiMutation<Removal>({
    request: ({ version, force }) => ({
      method: 'DELETE',
      path: withQuery(`${path}/versions/${encodeURIComponent(version)}`, force ? { force: 'true' } : {}),
    }),
    invalidates: pluginDependentPaths,
    onSuccess: (_answer, { version }) => notifySuccess(t('plugins.deleted', { version })),
  });
  async function confirmAndDelete(version: string, force: boolean): Promise<void> {
    const isActive = versions.data?.some((each) => each.version === version && each.active);
    const text = t(force ? 'plugins.deleteForceText' : isActive ? 'plugins.deleteText' : 'plugins.deleteUnusedText', {
      version,
    });
    const title = t('plugins.deleteTitle', { version });
    if (!(await confirm({ title, text, action: t('plugins.deleteAction') }))) return;
    remove.mutate(
      { version, force },
      {
        // Passed here because callbacks of `mutate` do not run after the page is left: nobody is
        // asked on another page.
        onError: (error) => {
          if (!force && error instanceof ApiError && error.code === 'PLUGIN_IN_USE')
            void confirmAndDelete(version, true);
        },
      },
    );
  }

  const builtIn: Row[] =
    plugin.source === 'factory'
      ? [
          {
            ...{ id: 'factory', version: plugin.version, remark: '', changelog: null, created_at: null },
            ...{ active: true, enabled: plugin.runtime_status !== 'disabled' },
          },
        ]
      : [];
  const hasFactoryVersion = plugin.factory_meta !== undefined;
  const diffPath = (version: string): string =>
    withQuery(`/plugins/${encodeURIComponent(plugin.key)}/diff`, { version });
  const columns: readonly Column<Row>[] = [
    {
      key: 'version',
      heading: t('plugins.version'),
      render: ({ id, version, active, enabled }) => (
        <span style={{ display: 'inline-flex', alignItems: 'center', gap: 10 }}>
          <span style={{ whiteSpace: 'nowrap' }}>
            <strong>{version}</strong>
            {id === 'factory' && <Text span size="sm" c="dimmed">{` · ${t('plugins.source.factory')}`}</Text>}
          </span>
          {active && (
            <Badge variant="light" color={enabled ? 'gate' : 'gray'} tt="none" flex="none">
              {t(enabled ? 'plugins.serves' : 'plugins.switchedOffMark')}
            </Badge>
          )}
        </span>
      ),
    },
    {
      key: 'at',
      heading: t('plugins.uploadedAt'),
      render: ({ created_at: at }) => (at === null ? '' : <span title={format.time(at)}>{format.ago(at)}</span>),
    },
    {
      key: 'remark',
      heading: t('plugins.upload.remark'),
      render: ({ remark }) =>
        remark !== '' && (
          <Text size="sm" lineClamp={2} maw={360}>
            {remark}
          </Text>
        ),
    },
    {
      key: 'changelog',
      heading: t('plugins.changelog'),
      render: ({ changelog }) =>
        changelog !== null && (
          <details>
            <summary>{t('plugins.changelogShow')}</summary>
            <ChangeList changelog={changelog} />
          </details>
        ),
    },
    {
      key: 'actions',
      heading: t('table.actions'),
      actions: true,
      // What ships with the gateway is neither removed nor activated here.
      render: ({ id, version, active }) =>
        id !== 'factory' && (
          <Group gap={8} wrap="nowrap" justify="flex-end">
            {!active && (
              <>
                <Button component={Link} to={activatePath(plugin.key, version)} size="xs" variant="light">
                  {t('plugins.reviewAndActivate')}
                </Button>
                <Button
                  component={Link}
                  to={diffPath(version)}
                  size="xs"
                  variant="default"
                  title={t('plugins.compare', { version })}
                >
                  {t('plugins.compareAction')}
                </Button>
              </>
            )}
            <ActionIcon
              variant="subtle"
              color="gray"
              size={32}
              aria-label={t('plugins.deleteTitle', { version })}
              loading={remove.isPending && remove.variables.version === version}
              disabled={remove.isPending}
              onClick={() => void confirmAndDelete(version, false)}
            >
              <IconTrash size={18} stroke={1.6} aria-hidden="true" />
            </ActionIcon>
          </Group>
        ),
    },
  ];

  return (
    <QueryResult query={versions}>
      {(all) =>
        all.length === 0 ? (
          <EmptyState heading={t('plugins.noVersions')} text={t('plugins.noVersionsText')} />
        ) : (
          <div style={{ display: 'grid', gap: 16 }}>
            {remove.isError && <ErrorNotice error={remove.error} />}
            <PlainTable
              label={t('plugins.tab.versions')}
              columns={columns.filter(
                ({ key }) => key !== 'changelog' || all.some(({ changelog }) => changelog !== null),
              )}
              rows={[...builtIn, ...all]}
              rowKey={({ id }) => id}
            />
            {hasFactoryVersion && all.some(({ active }) => active) && (
              <Text size="sm" c="dimmed">
                {t('plugins.factoryBelow')}{' '}
                <Link to={activatePath(plugin.key, 'factory')}>{t('plugins.backToFactory')}</Link>
              </Text>
            )}
          </div>
        )
      }
    </QueryResult>
  );
}
