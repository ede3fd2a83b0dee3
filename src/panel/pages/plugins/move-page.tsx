import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import type { PluginMove } from '../../api/types.ts';
import { useApiMutation, useApiQuery, withQuery } from '../../session/use-api.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { BackLink, useScopedNavigate } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { ConflictAlert, PluginErrors } from './plugin-errors.tsx';
import { movePath, pluginDependentPaths, pluginPath } from './plugin-paths.ts';

/** `/plugins/:key/move?to=`: what follows when another plugin takes the place of this one. */
export function MovePage() {
  const { t } = useTranslation();
  const { key = '' } = useParams();
  const [params] = useSearchParams();
  const to = params.get('to') ?? '';
  const navigate = useScopedNavigate();
  const page = `/plugins/${encodeURIComponent(to)}`;
  const preview = useApiQuery<PluginMove>(withQuery(`${pluginPath(key)}/move`, { to }), { keepPrevious: false });
  const move = useApiMutation<void>({
    request: () => ({
      method: 'POST',
      path: `${pluginPath(key)}/move`,
      body: { to, digest: preview.data?.digest },
      timeoutMs: 60_000,
    }),
    onError: (error) => {
      if (error instanceof ApiError && error.code === 'PLUGIN_MOVE_OUTDATED') void preview.refetch();
    },
    invalidates: pluginDependentPaths,
    onSuccess: () => {
      notifySuccess(t('plugins.move.done', { from: key, to }));
      navigate(page);
    },
  });
  return (
    <Page
      heading={t('plugins.move.heading', { from: key, to })}
      intro={t('plugins.move.intro')}
      back={<BackLink to={page}>{to}</BackLink>}
    >
      {move.isError && <PluginErrors error={move.error} />}
      <QueryResult query={preview}>
        {(data) => (
          <>
            {data.conflict !== null && <ConflictAlert conflict={data.conflict} />}
            <MoveEffects move={data} />
            <Group gap="sm">
              <Button
                size="md"
                loading={move.isPending}
                disabled={data.conflict !== null}
                onClick={() => move.mutate()}
              >
                {t('plugins.move.action', { from: key })}
              </Button>
              <Button size="md" variant="default" component={Link} to={page}>
                {t('app.cancel')}
              </Button>
            </Group>
          </>
        )}
      </QueryResult>
    </Page>
  );
}

function MoveEffects({ move }: { move: PluginMove }) {
  const { t } = useTranslation();
  const kept = move.prices.filter((price) => price.kept).map(({ model }) => model);
  return (
    <Section heading={t('plugins.preview.affected')}>
      <Text size="sm">
        {t('plugins.move.counts', {
          channels: move.channels.length,
          prices: move.prices.length - kept.length,
          tasks: move.unfinished_tasks,
        })}
      </Text>
      {move.channels
        .filter(({ lost }) => lost.length > 0)
        .map(({ id, name, lost }) => (
          <Text key={id} size="sm">
            <Link to={`/channels/${id}`}>{name}</Link> {t('plugins.preview.channel', { models: lost.join(', ') })}
          </Text>
        ))}
      {kept.length > 0 && <Text size="sm">{t('plugins.move.kept', { to: move.to.key, models: kept.join(', ') })}</Text>}
      {move.lost_routes.length > 0 && (
        <Text size="sm" component="div">
          {t('plugins.move.lostRoutes')} <Code style={{ overflowWrap: 'anywhere' }}>{move.lost_routes.join(', ')}</Code>
        </Text>
      )}
    </Section>
  );
}

/** Offers a plugin that does the work of one that serves, under another key. */
export function MoveNotice({ from, to }: { from: string; to: string }) {
  const { t } = useTranslation();
  return (
    <Alert color="gate" variant="light" title={t('plugins.move.offer', { from, to })}>
      <Text size="sm" mb="xs">
        {t('plugins.move.offerText')}
      </Text>
      <Button component={Link} to={movePath(from, to)} variant="light" size="xs">
        {t('plugins.move.see')}
      </Button>
    </Alert>
  );
}
