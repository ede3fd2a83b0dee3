import { Button, SegmentedControl, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Fragment, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { type Channel, type ChannelChoices, type ChannelPage, channelStatus } from '../../api/types.ts';
import { useApiQuery, useLocalisedQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState, NoMatches } from '../../ui/display/empty-state.tsx';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { FilterBar, SearchField } from '../../ui/form/filter-bar.tsx';
import type { Filters } from '../../ui/form/use-filters.ts';
import { useDebouncedFilter, useFilters } from '../../ui/form/use-filters.ts';
import { NameLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { Slots } from './channel-capacity.tsx';
import { findPlugin, readSource } from './channel-form-values.ts';
import { ChannelHours, ChannelRowState, ChannelSwitch } from './channel-status.tsx';
import classes from './channels.module.css';

/** Accounts at vendors, and which of them are enabled. */
export function ChannelsPage() {
  const { t } = useTranslation();
  const filters = useFilters(channelFilterNames);
  const query = useApiQuery<ChannelPage>(withQuery('/api/channel', { page: filters.page, ...filters.values }));
  const choices = useLocalisedQuery<ChannelChoices>('/api/channel/choices');
  const add = (
    <Button component={Link} to="/channels/new" leftSection={<IconPlus size={18} stroke={1.6} aria-hidden="true" />}>
      {t('channels.add')}
    </Button>
  );
  // The rows of the former filter are shown until those of this one are there.
  const isNew = query.data?.total === 0 && !query.isPlaceholderData && !filters.isFiltered;
  const columns = useColumns(choices.data, query.data?.items ?? []);
  return (
    <Page heading={t('nav.channels')} intro={t('channels.intro')} actions={isNew ? undefined : add}>
      <div>
        {!isNew && <ChannelFilters filters={filters} />}
        <DataTable
          label={t('nav.channels')}
          query={query}
          columns={columns}
          rowKey={({ id }) => id}
          onPage={filters.setPage}
          brief={(channel) => <ChannelBrief channel={channel} choices={choices.data} />}
          empty={
            filters.isFiltered ? (
              <NoMatches text={t('channels.noMatchText')} onClear={filters.clear} />
            ) : (
              <EmptyState heading={t('channels.empty')} text={t('channels.emptyText')} action={add} />
            )
          }
        />
      </div>
    </Page>
  );
}

function useColumns(choices: ChannelChoices | undefined, channels: readonly Channel[]): readonly Column<Channel>[] {
  const { t } = useTranslation();
  const format = useFormat();
  const spent = format.moneyLike(channels.map(({ used_quota: used }) => used));
  return [
    {
      key: 'name',
      heading: t('channels.channel'),
      render: (channel) => <ChannelName channel={channel} choices={choices} />,
    },
    { key: 'status', heading: t('channels.on'), render: (channel) => <ChannelSwitch channel={channel} /> },
    {
      key: 'health',
      heading: t('channels.health'),
      render: (channel) => (
        <div>
          <ChannelRowState channel={channel} />
          <ChannelHours channel={channel} />
        </div>
      ),
    },
    {
      key: 'capacity',
      heading: t('channels.slotsInUse'),
      render: ({ capacity }) => <RowCapacity capacity={capacity} />,
    },
    {
      key: 'models',
      heading: t('channels.models'),
      render: ({ models, groups }) => (
        <>
          <Models models={models} />
          <Text size="xs" c="dimmed" className={classes.models ?? ''}>
            {t('channels.groups')}: {groups.join(', ')}
          </Text>
        </>
      ),
    },
    {
      key: 'spend',
      heading: t('channels.spend'),
      numeric: true,
      minor: true,
      render: ({ used_quota: used }) => spent(used),
    },
  ];
}

type ChannelNameProps = { channel: Channel; choices: ChannelChoices | undefined };

/** What a channel's vendor is called, and its icon. */
function useVendor({ channel, choices }: ChannelNameProps): { vendor: string; icon: ReactNode } {
  const { t } = useTranslation();
  const source = readSource(channel);
  const plugin = choices === undefined ? undefined : findPlugin(choices, source);
  const name = plugin?.name ?? source;
  return {
    vendor: source === 'relay' ? t('channels.relay') : name,
    icon: <PluginIcon name={source === 'relay' ? 'API' : name} icon={plugin?.icon} size={34} />,
  };
}

function ChannelName({ channel, choices }: ChannelNameProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { vendor, icon } = useVendor({ channel, choices });
  const share = { priority: format.number(channel.priority), weight: format.number(channel.weight) };
  return (
    <div className={classes.name}>
      {icon}
      <div>
        <NameLink to={`/channels/${channel.id}`}>{channel.name}</NameLink>
        <Text size="xs" c="dimmed">
          {vendor}
        </Text>
        <Text size="xs" c="dimmed">
          {t('channels.priorityWeight', share)}
        </Text>
      </div>
    </div>
  );
}

/** The slots of an account that tasks hold, and how many tasks wait for one. */
function RowCapacity({ capacity }: Pick<Channel, 'capacity'>) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <>
      <Slots capacity={capacity} />
      {capacity.waiting > 0 && (
        <Text size="xs" c="dimmed">
          {t('channels.waiting')}: {format.number(capacity.waiting)}
        </Text>
      )}
    </>
  );
}

function ChannelBrief({ channel, choices }: ChannelNameProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { vendor, icon } = useVendor({ channel, choices });
  const { running, abandoned, limit } = channel.capacity;
  const slots = { taken: format.number(running + abandoned), limit: format.number(limit ?? 0) };
  return (
    <RowBrief
      icon={icon}
      name={channel.name}
      to={`/channels/${channel.id}`}
      state={<ChannelRowState channel={channel} />}
      facts={[]}
      detail={[
        vendor,
        `${t('channels.priority')} ${format.number(channel.priority)}`,
        limit === null ? '' : t('channels.slotsOf', slots),
        channel.used_quota === 0 ? '' : t('channels.charged', { amount: format.money(channel.used_quota) }),
      ]}
      wraps
      wrapsName
      actions={<ChannelSwitch channel={channel} />}
    />
  );
}

/** The first few model names, and how many more there are. */
function Models({ models }: { models: readonly string[] }) {
  const { t } = useTranslation();
  const shown = models.length > 3 ? models.slice(0, 2) : models;
  const rest = models.length - shown.length;
  return (
    <div className={classes.models} title={models.join('\n')}>
      {shown.map((model, index) => (
        <Fragment key={model}>
          <span>{index < shown.length - 1 ? `${model},` : model}</span>{' '}
        </Fragment>
      ))}
      {rest > 0 && (
        <Text span size="sm" c="dimmed">
          {t('rows.more', { count: rest })}
        </Text>
      )}
    </div>
  );
}

const channelFilterNames = ['keyword', 'status'] as const;

/** Finds channels by what they are called, offer and serve. */
function ChannelFilters({ filters }: { filters: Filters<(typeof channelFilterNames)[number]> }) {
  const { t } = useTranslation();
  const { values, set } = filters;
  const search = useDebouncedFilter(values.keyword, (text) => set('keyword', text));
  return (
    <FilterBar
      search={
        <SearchField aria-label={t('app.search')} placeholder={t('channels.search')} maxLength={100} {...search} />
      }
    >
      <SegmentedControl
        aria-label={t('tasks.status')}
        value={values.status}
        onChange={(status) => set('status', status)}
        data={[
          { value: '', label: t('app.all') },
          { value: String(channelStatus.enabled), label: t('channels.filter.on') },
          { value: String(channelStatus.disabled), label: t('channels.filter.off') },
        ]}
      />
    </FilterBar>
  );
}
