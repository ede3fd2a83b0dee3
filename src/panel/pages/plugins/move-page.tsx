import { Alert, Button, Code, Group, List, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import { movePath, pluginDependentPaths, pluginPath } from '../../api/plugin-paths.ts';
import type { PluginMove, PluginSummary } from '../../api/types.ts';
import { useApiMutation, useApiQuery, useLocalisedQuery, withQuery } from '../../session/use-api.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { BackLink } from '../../ui/page/links.tsx';
import { Page, useScopedNavigate } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { ConflictAlert, PluginErrors } from './plugin-errors.tsx';

/** `/plugins/:key/move?to=`: what follows when another plugin takes the place of this one. */
export function MovePage() {
  const { t } = useTranslation();
  const { key = '' } = useParams();
  const [params] = useSearchParams();
  const to = params.get('to') ?? '';
  const navigate = useScopedNavigate();
  const page = `/plugins/${encodeURIComponent(to)}`;
  const toName = usePluginNames();
  const names = { from: toName(key), to: toName(to) };
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
      notifySuccess(t('plugins.move.done', names));
      navigate(page);
    },
  });
  return (
    <Page
      heading={t('plugins.move.heading', names)}
      intro={t('plugins.move.intro', names)}
      back={<BackLink to={page}>{names.to}</BackLink>}
    >
      {move.isError && <PluginErrors error={move.error} />}
      <QueryResult query={preview}>
        {(data) => (
          <>
            {data.conflict !== null && <ConflictAlert conflict={data.conflict} />}
            <LostModels channels={data.channels.filter(({ lost }) => lost.length > 0)} />
            <MoveEffects move={data} names={names} />
            <Group gap="sm" justify="flex-end">
              <Button size="md" variant="default" component={Link} to={page}>
                {t('app.cancel')}
              </Button>
              <Button
                size="md"
                {...(isOutage(data) ? { color: 'red' } : {})}
                loading={move.isPending}
                disabled={data.conflict !== null}
                onClick={() => move.mutate()}
              >
                {t('plugins.move.action', names)}
              </Button>
            </Group>
          </>
        )}
      </QueryResult>
    </Page>
  );
}

const isOutage = ({ channels, lost_routes: routes }: PluginMove): boolean =>
  routes.length > 0 || channels.some(({ lost }) => lost.length > 0);

/** The worst first: what would no longer be served. */
function LostModels({ channels }: { channels: PluginMove['channels'] }) {
  const { t, i18n } = useTranslation();
  if (channels.length === 0) return null;
  const models = [...new Set(channels.flatMap(({ lost }) => lost))];
  const list = new Intl.ListFormat(i18n.language);
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle stroke={1.6} aria-hidden="true" />}
      title={t('plugins.move.losing', { count: channels.length })}
    >
      <Text size="sm">{t('plugins.move.losingText', { models: list.format(models) })}</Text>
      <List size="sm" mt="xs">
        {channels.map(({ id, name, lost }) => (
          <List.Item key={id}>
            <Link to={`/channels/${id}`}>{name}</Link> {t('plugins.preview.channel', { models: list.format(lost) })}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

function MoveEffects({ move, names }: { move: PluginMove; names: { from: string; to: string } }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const kept = move.prices.filter((price) => price.kept).map(({ model }) => model);
  const count = (key: 'channels' | 'prices', all: number): string =>
    t(`plugins.move.${key}`, { count: all, number: format.number(all) });
  return (
    <Section heading={t('plugins.preview.affected')}>
      <Text size="sm">
        {t('plugins.move.counts', {
          channels: count('channels', move.channels.length),
          prices: count('prices', move.prices.length - kept.length),
        })}{' '}
        {move.unfinished_tasks > 0 &&
          t('plugins.move.running', { count: move.unfinished_tasks, number: format.number(move.unfinished_tasks) })}
      </Text>
      {kept.length > 0 && (
        <Text size="sm">
          {t('plugins.move.kept', { ...names, models: new Intl.ListFormat(i18n.language).format(kept) })}
        </Text>
      )}
      {move.lost_routes.length > 0 && (
        <div>
          <Text size="sm">{t('plugins.move.lostRoutes')}</Text>
          <List size="sm" mt="xs">
            {move.lost_routes.map((route) => (
              <List.Item key={route}>
                <Code>{route}</Code>
              </List.Item>
            ))}
          </List>
        </div>
      )}
    </Section>
  );
}

function usePluginNames(): (key: string) => string {
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task');
  return (key) => plugins.data?.find((each) => each.key === key)?.meta?.name ?? key;
}

/** Offers a plugin that does the work of one that serves, under another key. */
export function MoveNotice({ from, to }: { from: string; to: string }) {
  const { t } = useTranslation();
  const toName = usePluginNames();
  return (
    <Alert color="gate" variant="light" title={t('plugins.move.offer', { from: toName(from), to: toName(to) })}>
      <Text size="sm" mb="xs">
        {t('plugins.move.offerText')}
      </Text>
      <Button component={Link} to={movePath(from, to)} variant="light" size="xs">
        {t('plugins.move.see')}
      </Button>
    </Alert>
  );
}
