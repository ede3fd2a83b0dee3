import { Anchor, Button, Group, Menu, Stack, Text } from '@mantine/core';
import { IconCheck, IconCircle, IconFileDescription, IconTrash } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { playgroundPath } from '../../api/plugin-paths.ts';
import type { Channel, ChannelChoices, SavedChannel, TaskPage } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiMutation, useApiQuery, useLocalisedQuery, useReadAhead } from '../../session/use-api.ts';
import { ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { PluginIcon } from '../../ui/display/plugin-icon.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { BackLink } from '../../ui/page/links.tsx';
import { MoreMenu } from '../../ui/page/more-menu.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PageTabs } from '../../ui/page/page-tabs.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable } from '../../ui/table/data-table.tsx';
import { TaskBrief, useTaskColumns } from '../tasks/use-task-columns.tsx';
import { isCapacityShort } from './capacity-state.ts';
import { ChannelCapacity, ChannelRest } from './channel-capacity.tsx';
import { ChannelCharts, useHistoryPath } from './channel-charts.tsx';
import { ChannelCredentials } from './channel-credentials.tsx';
import { ChannelForm } from './channel-form.tsx';
import { type ChannelValues, findPlugin, toChannelBody, toFormValues, validateChannel } from './channel-form-values.ts';
import { ChannelMark, ChannelStatus } from './channel-status.tsx';
import { ChannelTestButton, ChannelTestSteps, useChannelTest } from './channel-test.tsx';
import { useDeleteChannel } from './use-delete-channel.tsx';

/** Slots are taken and freed all the time. */
const refreshMs = 10_000;

/** One channel: how it does, and its settings. */
export function ChannelPage() {
  const { t } = useTranslation();
  const { id = '' } = useParams();
  const channel = useApiQuery<Channel>(`/api/channel/${encodeURIComponent(id)}`, {
    keepPrevious: false,
    refreshMs,
  });
  const choices = useLocalisedQuery<ChannelChoices>('/api/channel/choices');
  const historyPath = useHistoryPath(encodeURIComponent(id));
  const isOverview = !useSearchParams()[0].has('tab');
  useReadAhead(isOverview && historyPath, isOverview && lastTasksPath(encodeURIComponent(id)));
  const back = <BackLink to="/channels">{t('nav.channels')}</BackLink>;
  if (channel.data === undefined || choices.data === undefined) {
    return (
      <Page heading={t('channels.one')} back={back}>
        <QueryResult
          query={channel}
          notFound={
            <ResourceNotFound
              heading={t('channels.missing')}
              text={t('channels.missingText')}
              list={{ to: '/channels', name: 'channels.all' }}
            />
          }
        >
          {() => <QueryResult query={choices}>{() => null}</QueryResult>}
        </QueryResult>
      </Page>
    );
  }
  return <ChannelDetail key={channel.data.id} channel={channel.data} choices={choices.data} />;
}

function ChannelDetail({ channel, choices }: { channel: Channel; choices: ChannelChoices }) {
  const { t } = useTranslation();
  const remove = useDeleteChannel(channel);
  const [params, setParams] = useSearchParams();
  const isNew = params.has('new');
  const test = useChannelTest(channel, isNew);
  // It keeps its place while the page is read, also when slots become free.
  const [isShort] = useState(isCapacityShort(channel));
  const plugin = findPlugin(choices, toFormValues(channel).task_plugin_key);
  return (
    <Page
      heading={channel.name}
      mark={<ChannelMark channel={channel} />}
      intro={t('channels.madeOf', { id: channel.id, plugin: plugin?.name ?? t('channels.relay') })}
      icon={<PluginIcon name={plugin?.name ?? 'API'} icon={plugin?.icon} size={40} />}
      back={<BackLink to="/channels">{t('nav.channels')}</BackLink>}
      actions={
        <>
          {/* The overview shows its steps. */}
          <ChannelTestButton test={test} onPress={() => params.has('tab') && setParams({}, { replace: true })} />
          <Button
            component={Link}
            to={`/case/channel/${channel.id}`}
            variant="default"
            leftSection={<IconFileDescription size={18} stroke={1.6} aria-hidden="true" />}
          >
            {t('case.open')}
          </Button>
          <MoreMenu isPending={remove.isPending}>
            <Menu.Item
              c="var(--mantine-color-error)"
              leftSection={<IconTrash size={18} stroke={1.6} aria-hidden="true" />}
              onClick={() => void remove.confirmAndDelete()}
            >
              {t('channels.deleteAction')}
            </Menu.Item>
          </MoreMenu>
        </>
      }
    >
      {remove.error !== null && <ErrorNotice error={remove.error} />}
      <PageTabs
        first="overview"
        tabs={[
          {
            name: 'overview',
            text: t('channels.tab.overview'),
            panel: (
              <Stack gap="lg">
                {isNew && <ChannelStart channel={channel} pluginKey={plugin?.key} />}
                <ChannelTestSteps test={test} />
                <ChannelRest channel={channel} />
                <ChannelStatus channel={channel} />
                {isShort && <ChannelCapacity channel={channel} />}
                <ChannelCharts channel={channel} />
                {!isShort && <ChannelCapacity channel={channel} />}
                <ChannelTasks channelId={channel.id} />
              </Stack>
            ),
          },
          {
            name: 'settings',
            text: t('channels.tab.settings'),
            keep: true,
            panel: <EditChannel channel={channel} choices={choices} />,
          },
        ]}
      />
    </Page>
  );
}

function EditChannel({ channel, choices }: { channel: Channel; choices: ChannelChoices }) {
  const { t } = useTranslation();
  const change = useApiMutation<Record<string, unknown>, SavedChannel>({
    request: (body) => ({ method: 'PUT', path: `/api/channel/${channel.id}`, body }),
    invalidates: ['/api/channel'],
    onSuccess: (saved) => {
      notifySuccess(t('app.saved'));
      form.reset(toFormValues(saved));
    },
  });
  const form = useForm<ChannelValues, Record<string, unknown>>({
    initial: toFormValues(channel),
    validate: (values) =>
      validateChannel(t, { values, stored: channel, plugin: findPlugin(choices, values.task_plugin_key) }),
    toVariables: toChannelBody,
    change,
    codeTexts: { CHANNEL_KEY_REQUIRED: 'channels.keyAgain' },
  });
  return (
    <ChannelForm
      form={form}
      choices={choices}
      stored={channel}
      keys={
        <ChannelCredentials channel={channel} plugin={findPlugin(choices, toFormValues(channel).task_plugin_key)} />
      }
    />
  );
}

type ChannelStartProps = {
  channel: Channel;
  /** The plugin that serves it; undefined for the relay. */
  pluginKey: string | undefined;
};

/** What is left to do for a new channel: prices, then a first task. */
function ChannelStart({ channel, pluginKey }: ChannelStartProps) {
  const { t } = useTranslation();
  const isRoot = useRole() >= roles.root;
  const unpriced = channel.unpriced_models;
  const model = channel.models.find((name) => !unpriced.includes(name)) ?? channel.models[0];
  const hasPrices = unpriced.length === 0;
  const hasRun = channel.health.succeeded + channel.health.failed > 0;
  if (hasPrices && (hasRun || pluginKey === undefined)) return null;
  return (
    <Section heading={t('channels.start')}>
      <Step
        isDone={hasPrices}
        text={
          hasPrices
            ? t('channels.start.priced')
            : `${t('channels.start.unpriced', { count: unpriced.length })}${isRoot ? '' : ` ${t('channels.start.askRoot')}`}`
        }
      >
        {!hasPrices && isRoot && (
          <Button component={Link} to={pluginKey === undefined ? '/prices' : `/prices/${pluginKey}`}>
            {t('channels.start.setPrices')}
          </Button>
        )}
      </Step>
      {pluginKey !== undefined && model !== undefined && !hasRun && (
        <Step isDone={false} text={t('channels.start.run')}>
          <Button component={Link} to={playgroundPath(pluginKey, model)} variant={hasPrices ? 'filled' : 'default'}>
            {t('channels.start.try')}
          </Button>
        </Step>
      )}
    </Section>
  );
}

/** One step of a new channel, and the way to it. */
function Step({ isDone, text, children }: { isDone: boolean; text: string; children: ReactNode }) {
  const Icon = isDone ? IconCheck : IconCircle;
  return (
    <Group justify="space-between" gap="md">
      <Group gap={10} wrap="nowrap" c={isDone ? 'dimmed' : undefined}>
        <Icon size={18} stroke={1.6} aria-hidden="true" />
        <Text size="sm">{text}</Text>
      </Group>
      {children}
    </Group>
  );
}

const shown = 10;
const lastTasksPath = (channelId: number | string): string =>
  `/api/task?scope=all&channel_id=${channelId}&page_size=${shown}`;

/** The latest tasks that went through a channel. */
function ChannelTasks({ channelId }: { channelId: number }) {
  const { t } = useTranslation();
  const tasks = useApiQuery<TaskPage>(lastTasksPath(channelId));
  const columns = useTaskColumns({ all: true, without: 'channel', tasks: tasks.data?.items });
  return (
    <Section
      heading={t('channels.lastTasks')}
      actions={
        <Anchor component={Link} to={`/tasks?scope=all&channel=${channelId}`} size="sm">
          {t('channels.allTasks')}
        </Anchor>
      }
    >
      <QueryResult query={tasks}>
        {({ items }) =>
          items.length === 0 ? (
            t('channels.noTasks')
          ) : (
            <PlainTable
              label={t('channels.lastTasks')}
              columns={columns}
              rows={items}
              rowKey={({ id }) => id}
              isDense
              brief={(task) => <TaskBrief task={task} all tasks={items} />}
            />
          )
        }
      </QueryResult>
    </Section>
  );
}
