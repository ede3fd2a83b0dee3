import { ActionIcon, Alert, Anchor, Button, SegmentedControl, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconBuildingStore, IconPlus, IconUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { newChannelPath } from '../../api/plugin-paths.ts';
import type { PluginRuntime, PluginSummary } from '../../api/types.ts';
import { localise, type TextKey } from '../../i18n/texts.ts';
import { useApiQuery, useLocalisedQuery } from '../../session/use-api.ts';
import { NoMatches } from '../../ui/display/empty-state.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { ServerText } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { FilterBar, SearchField } from '../../ui/form/filter-bar.tsx';
import { NameLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { type Column, PlainTable, TableSkeleton } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { findKinds, type PluginKind, pluginKinds } from './plugin-kinds.ts';
import { PluginLogo } from './plugin-logo.tsx';
import { PluginState, PluginStateWord, PluginSwitch } from './plugin-state.tsx';
import classes from './plugins.module.css';
import { UploadDialog } from './upload-dialog.tsx';

/** Factory and uploaded plugins, and which of them are enabled. */
export function PluginsPage() {
  const { t } = useTranslation();
  const plugins = useLocalisedQuery<PluginSummary[]>('/api/plugin/task');
  const runtime = useApiQuery<PluginRuntime>('/api/plugin/task/runtime/status');
  const [isUploading, setUploading] = useState(false);
  return (
    <Page
      heading={t('nav.plugins')}
      intro={t('plugins.intro')}
      actions={
        <>
          <Button
            component={Link}
            to="/marketplace"
            variant="default"
            leftSection={<IconBuildingStore size={18} stroke={1.6} aria-hidden="true" />}
          >
            {t('nav.marketplace')}
          </Button>
          <Button
            leftSection={<IconUpload size={18} stroke={1.6} aria-hidden="true" />}
            onClick={() => setUploading(true)}
          >
            {t('plugins.upload')}
          </Button>
        </>
      }
    >
      {runtime.data !== undefined && <RuntimeNotice runtime={runtime.data} />}
      <QueryResult query={plugins} pending={<TableSkeleton rows={8} />}>
        {(all) => <PluginList plugins={all} />}
      </QueryResult>
      <UploadDialog isOpen={isUploading} onClose={() => setUploading(false)} />
    </Page>
  );
}

const hasAll = ({ key, meta }: PluginSummary, query: string): boolean => {
  const text = `${key} ${meta?.name ?? ''} ${(meta?.models ?? []).join(' ')}`.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
};

const kindTexts = {
  video: 'models.medium.video',
  image: 'models.medium.image',
  audio: 'plugins.audio',
} as const satisfies Record<PluginKind, TextKey>;

/** All plugins, or those that have the words and make what is asked for. */
function PluginList({ plugins }: { plugins: readonly PluginSummary[] }) {
  const { t } = useTranslation();
  const [query, setQuery] = useState('');
  const [kind, setKind] = useState<PluginKind | ''>('');
  const made = pluginKinds.filter((each) => plugins.some((plugin) => findKinds(plugin).has(each)));
  const found = plugins.filter((plugin) => hasAll(plugin, query) && (kind === '' || findKinds(plugin).has(kind)));
  const clear = (): void => {
    setQuery('');
    setKind('');
  };
  return (
    <div>
      <FilterBar
        search={
          <SearchField
            aria-label={t('plugins.search')}
            placeholder={t('plugins.search')}
            value={query}
            onChange={({ currentTarget }) => setQuery(currentTarget.value)}
          />
        }
      >
        {made.length > 1 && (
          <SegmentedControl
            aria-label={t('models.medium')}
            value={kind}
            onChange={(value) => setKind(value as PluginKind | '')}
            data={[
              { value: '', label: t('models.medium.all') },
              ...made.map((each) => ({ value: each, label: t(kindTexts[each]) })),
            ]}
          />
        )}
      </FilterBar>
      {found.length === 0 ? (
        <NoMatches
          text={t('plugins.noMatch')}
          onClear={clear}
          others={
            <Button component={Link} to="/marketplace">
              {t('plugins.browse')}
            </Button>
          }
        />
      ) : (
        <PluginGroups plugins={found} />
      )}
    </div>
  );
}

/** Shows plugins that channels use before the many that ship. */
function PluginGroups({ plugins }: { plugins: readonly PluginSummary[] }) {
  const { t } = useTranslation();
  const groups = [
    { heading: t('plugins.inUse'), rows: plugins.filter(({ channel_count: count }) => count > 0) },
    { heading: t('plugins.available'), rows: plugins.filter(({ channel_count: count }) => count === 0) },
  ].filter(({ rows }) => rows.length > 0);
  return groups.map(({ heading, rows }) => (
    <section key={heading} aria-label={heading} className={classes.group}>
      <Title order={2} fz={16} mb={10}>
        {heading}
      </Title>
      <PluginRows label={heading} plugins={rows} isInUse={rows[0]?.channel_count !== 0} />
    </section>
  ));
}

/** Shown only if plugins could not be read or registered as a whole. */
function RuntimeNotice({ runtime }: { runtime: PluginRuntime }) {
  const { t } = useTranslation();
  const { database_error: unread, database_error_sentence: unreadSentence, last_rebuild: rebuild } = runtime;
  const problem = unread ?? rebuild.error;
  if (problem === undefined) return null;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<IconAlertTriangle stroke={1.6} aria-hidden="true" />}
      title={t('plugins.rebuildFailed')}
    >
      <Text size="sm">
        <ServerText text={problem} sentence={unread === undefined ? rebuild.error_sentence : unreadSentence} />
      </Text>
    </Alert>
  );
}

type PluginRowsProps = { label: string; plugins: readonly PluginSummary[]; isInUse: boolean };

function PluginRows({ label, plugins, isInUse }: PluginRowsProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const channels: Column<PluginSummary> = {
    key: 'channels',
    heading: t('plugins.channels'),
    numeric: true,
    render: ({ channel_count: count, in_flight_count: running }) => (
      <>
        {format.number(count)}
        {running > 0 && (
          <Text size="xs" c="dimmed">
            {t('plugins.runningCount', { count: running, shown: format.number(running) })}
          </Text>
        )}
      </>
    ),
  };
  const columns: readonly Column<PluginSummary>[] = [
    { key: 'name', heading: t('plugins.plugin'), render: (plugin) => <PluginName plugin={plugin} /> },
    {
      key: 'version',
      heading: t('plugins.version'),
      render: ({ version, source }) => (
        <>
          {version}{' '}
          <Text span size="xs" c="dimmed">
            {t(source === 'factory' ? 'plugins.source.factory' : 'plugins.source.uploaded')}
          </Text>
        </>
      ),
    },
    {
      key: 'models',
      heading: t('plugins.models'),
      numeric: true,
      minor: true,
      render: ({ meta, narrowed_models: narrowed }) => format.number((narrowed ?? meta?.models ?? []).length),
    },
    ...(isInUse ? [channels] : []),
    {
      key: 'act',
      ...(isInUse ? { heading: t('plugins.switch') } : { heading: t('channels.add'), actions: true }),
      render: (plugin) => <PluginAct plugin={plugin} />,
    },
  ];
  return (
    <PlainTable
      label={label}
      columns={columns}
      rows={plugins}
      rowKey={(plugin) => plugin.key}
      brief={(plugin) => <PluginBrief plugin={plugin} />}
    />
  );
}

function PluginBrief({ plugin }: { plugin: PluginSummary }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const { meta, key, channel_count: channels } = plugin;
  const name = meta?.name ?? key;
  const models = (plugin.narrowed_models ?? meta?.models ?? []).length;
  return (
    <RowBrief
      icon={<PluginLogo plugin={plugin} />}
      name={name}
      to={`/plugins/${encodeURIComponent(key)}`}
      state={plugin.runtime_status === 'registered' ? undefined : <PluginStateWord plugin={plugin} />}
      facts={[]}
      detail={
        <Text span inherit lineClamp={2}>
          {[
            ...(channels === 0
              ? []
              : [t('plugins.move.channels', { count: channels, number: format.number(channels) })]),
            t('keys.modelCount', { count: models }),
            withoutName(localise(meta?.description, i18n.language), name) || key,
          ].join(' · ')}
        </Text>
      }
      actions={<PluginAct plugin={plugin} isSmall />}
    />
  );
}

/** What is done next: a plugin gets a channel, or is switched. Its page has the switch, too. */
function PluginAct({ plugin, isSmall = false }: { plugin: PluginSummary; isSmall?: boolean }) {
  const { t } = useTranslation();
  const { key, meta, channel_count: channels, runtime_status: state } = plugin;
  if (channels > 0 || state !== 'registered') return <PluginSwitch plugin={plugin} />;
  const action = { to: newChannelPath(key), 'aria-label': `${t('channels.add')}: ${meta?.name ?? key}` };
  return isSmall ? (
    <ActionIcon component={Link} {...action} variant="subtle" color="gray" size={44}>
      <IconPlus size={18} stroke={1.6} aria-hidden="true" />
    </ActionIcon>
  ) : (
    <Anchor component={Link} {...action} size="sm">
      {t('channels.add')}
    </Anchor>
  );
}

/** "Alibaba Wan: text to video" beside its name as "Text to video". */
function withoutName(description: string, name: string): string {
  if (!description.startsWith(`${name}: `)) return description;
  const rest = description.slice(name.length + 2);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

function PluginName({ plugin }: { plugin: PluginSummary }) {
  const { i18n } = useTranslation();
  const { meta, key } = plugin;
  const name = meta?.name ?? key;
  return (
    <div className={classes.name}>
      <PluginLogo plugin={plugin} />
      <div className={classes.nameText}>
        <NameLink to={`/plugins/${encodeURIComponent(key)}`}>{name}</NameLink>
        <Text size="xs" c="dimmed" lineClamp={1}>
          {withoutName(localise(meta?.description, i18n.language), name) || key}
        </Text>
        {plugin.runtime_status !== 'registered' && <PluginState plugin={plugin} />}
      </div>
    </div>
  );
}
