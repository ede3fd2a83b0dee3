import { Button, Checkbox, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import { pluginDependentPaths, pluginPath } from '../../api/plugin-paths.ts';
import type { PluginPreview, PluginSummary } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation, useLocalisedQuery, withQuery } from '../../session/use-api.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { Page, useScopedNavigate } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { isUnchanged, NoChanges, PreviewChanges, PreviewReplay } from './activation-preview.tsx';
import { ChangelogSection } from './change-log.tsx';
import { BackToVersions, VersionDiff } from './diff-page.tsx';
import { PermissionSection } from './permission-list.tsx';
import { ConflictAlert, PluginErrors } from './plugin-errors.tsx';

/** Previews the changes of an activation before it happens. */
export function ActivatePage() {
  const { t, i18n } = useTranslation();
  const { key = '' } = useParams();
  const [params] = useSearchParams();
  const version = params.get('version') ?? '';
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task');
  const name = plugins.data?.find((each) => each.key === key)?.meta?.name ?? key;
  const session = useSession();
  const navigate = useScopedNavigate();
  const confirm = useConfirm();
  const [adopts, setAdopts] = useState(false);
  /** Undefined: as it was. */
  const [shares, setShares] = useState<boolean>();
  const sharing = shares === undefined ? {} : { share_models: shares };
  const preview = useQuery({
    queryKey: ['api', `${pluginPath(key)}/preview`, version, shares],
    queryFn: () =>
      session.send<PluginPreview>({
        method: 'POST',
        path: `${pluginPath(key)}/preview`,
        body: { version, ...sharing },
        timeoutMs: 60_000,
      }),
  });
  const activate = useApiMutation<void>({
    request: () => ({
      method: 'POST',
      path: withQuery(`${pluginPath(key)}/activate`, adopts ? { adopt: 'true' } : {}),
      body: { version, preview_digest: preview.data?.digest, ...sharing },
      timeoutMs: 60_000,
    }),
    // The error says that the review is out of date; what is shown below it is the new one.
    onError: (error) => {
      if (error instanceof ApiError && error.code === 'PLUGIN_PREVIEW_OUTDATED') void preview.refetch();
    },
    invalidates: pluginDependentPaths,
    onSuccess: () => {
      notifySuccess(t('plugins.activated', { key: name, version: preview.data?.to.version ?? version }));
      navigate(`/plugins/${encodeURIComponent(key)}`);
    },
  });
  const ask = async (): Promise<void> => {
    const to = preview.data?.to.version ?? version;
    const question = {
      title: t('plugins.activateTitle', { version: to }),
      text: `${t('plugins.activateText')} ${t(adopts ? 'plugins.adoptWarning' : 'plugins.tasksStay')}`,
      action: t('plugins.activate'),
      destructive: false,
    };
    if (await confirm(question)) activate.mutate();
  };

  return (
    <Page
      heading={t('plugins.activateHeading', { key: name, version: preview.data?.to.version ?? version })}
      intro={t('plugins.activateIntro')}
      back={<BackToVersions pluginKey={key} name={name} />}
    >
      {activate.isError && <PluginErrors error={activate.error} />}
      <QueryResult query={preview}>
        {(data) => (
          <>
            {data.conflict !== null && <ConflictAlert conflict={data.conflict} />}
            <ChangelogSection changelog={data.changelog} />
            {data.sharing.models.length > 0 && (
              <Section heading={t('plugins.share')}>
                <Checkbox
                  checked={data.sharing.share_models}
                  onChange={(event) => setShares(event.currentTarget.checked)}
                  label={t('plugins.shareAction')}
                  description={t('plugins.shareModels', {
                    models: [...new Set(data.sharing.models.map(({ model }) => model))].join(', '),
                    plugins: [...new Set(data.sharing.models.flatMap((each) => each.with))].join(', '),
                  })}
                />
              </Section>
            )}
            {data.from !== null && isUnchanged(data, { t, language: i18n.language }) ? (
              <NoChanges preview={data} />
            ) : (
              <>
                <PermissionSection changes={data.permissions} isNew={data.from === null} />
                <PreviewChanges preview={data} />
                <PreviewReplay preview={data} />
              </>
            )}
            {data.from !== null && (
              <Section heading={t('plugins.preview.source')}>
                <VersionDiff
                  pluginKey={key}
                  from={data.from.layer === 'factory' ? 'factory' : data.from.version}
                  to={version}
                />
              </Section>
            )}
            {data.from !== null && (
              <Section
                heading={t('plugins.adoptHeading')}
                intro={t('plugins.adoptIntro', { count: data.unfinished_tasks })}
              >
                <Checkbox
                  checked={adopts}
                  onChange={(event) => setAdopts(event.currentTarget.checked)}
                  label={t('plugins.adoptLabel')}
                  description={t('plugins.adoptHint')}
                />
              </Section>
            )}
            <Group gap="sm" justify="flex-end">
              <Button
                size="md"
                variant="default"
                component={Link}
                to={`/plugins/${encodeURIComponent(key)}?tab=versions`}
              >
                {t('app.cancel')}
              </Button>
              <Button
                size="md"
                loading={activate.isPending}
                disabled={data.conflict !== null}
                onClick={() => void ask()}
              >
                {t('plugins.activateVersion', { version: data.to.version })}
              </Button>
            </Group>
          </>
        )}
      </QueryResult>
    </Page>
  );
}
