import { ActionIcon, Anchor, Button, Menu, Text, Title } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { QueuedTask, QueuePage as QueuedTasks } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiMutation, useApiQuery, withQuery } from '../../session/use-api.ts';
import { EmptyState, NoMatches } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { useFilters } from '../../ui/form/use-filters.ts';
import { Page } from '../../ui/page/page.tsx';
import { type Column, DataTable, RowLink } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { exactPositions, formatPosition, formatStart, formatWait } from '../tasks/queue-position.ts';
import { usePluginNames } from '../tasks/use-plugin-names.ts';
import { taskPath, useTaskTitle } from '../tasks/use-task-columns.tsx';
import { Accounts, NoChannel, QueueClasses } from './queue-classes.tsx';
import classes from './queue-page.module.css';

const refreshMs = 4000;
const filterNames = ['model'] as const;

/** What waits for a free slot at a vendor: the user's own, or everybody's for administrators. */
export function QueuePage() {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const filters = useFilters(filterNames);
  const query = useApiQuery<QueuedTasks>(withQuery('/api/queue', { page: filters.page, ...filters.values }), {
    refreshMs,
  });
  const columns = useColumns(isAdmin);
  const format = useFormat();
  const models = query.data?.classes ?? [];
  const isByModel = models.length > 0;
  const shown = query.data?.total ?? 0;
  const waiting = models.reduce((sum, each) => sum + each.waiting, 0);
  return (
    <Page heading={t('nav.queue')} intro={t(isAdmin ? 'queue.introAll' : 'queue.intro')}>
      <div className={classes.parts}>
        <QueueClasses queue={models} chosen={filters.values.model} onChoose={(model) => filters.set('model', model)} />
        <section className={classes.list} aria-labelledby={isByModel ? 'queue-tasks' : undefined}>
          {isByModel && (
            <Title order={2} fz={18} id="queue-tasks">
              {t('queue.waiting')}{' '}
              <Text span inherit fw={400} c="dimmed">
                {filters.isFiltered && shown < waiting
                  ? t('queue.slotsOf', { taken: format.number(shown), limit: format.number(waiting) })
                  : format.number(shown)}
              </Text>
            </Title>
          )}
          <DataTable
            label={t('queue.waiting')}
            query={query}
            columns={columns}
            rowKey={({ id }) => id}
            onPage={filters.setPage}
            brief={(task) => <QueueBrief task={task} />}
            empty={
              filters.isFiltered ? (
                <NoMatches text={t('queue.noMatchText')} onClear={filters.clear} />
              ) : (
                <EmptyState
                  heading={t('queue.empty')}
                  text={t(isAdmin ? 'queue.emptyTextAll' : 'queue.emptyText')}
                  action={
                    <Button component={Link} to={isAdmin ? '/channels' : '/tasks'} variant="default">
                      {t(isAdmin ? 'queue.openChannels' : 'nav.tasks')}
                    </Button>
                  }
                />
              )
            }
          />
        </section>
      </div>
    </Page>
  );
}

function useColumns(isAdmin: boolean): readonly Column<QueuedTask>[] {
  const { t } = useTranslation();
  const format = useFormat();
  const plugins = usePluginNames();
  const toTitle = useTaskTitle();
  const describeReason = useReasonText();
  const columns: Column<QueuedTask>[] = [
    {
      key: 'task',
      heading: t('tasks.column.task'),
      render: (task) => (
        <div className={classes.task}>
          <RowLink to={taskPath(task)} className={classes.name ?? ''}>
            {task.input === '' ? <span className={classes.untitled}>{toTitle(task)}</span> : toTitle(task)}
          </RowLink>
          <span className={classes.detail}>
            {task.model}
            <span aria-hidden="true"> · </span>
            {plugins.get(task.platform) ?? task.platform}
          </span>
        </div>
      ),
    },
    {
      key: 'place',
      heading: t('queue.column.place'),
      numeric: true,
      leads: true,
      render: ({ position, reason }) =>
        reason === 'no_channel'
          ? '–'
          : typeof position === 'number'
            ? format.number(position)
            : t('queue.over', { place: format.number(exactPositions) }),
    },
    {
      key: 'start',
      heading: t('queue.column.start'),
      numeric: true,
      render: (task) => (
        <div className={classes.start}>
          <span>{formatStart(task, t, format) ?? (task.reason === 'no_channel' ? '–' : t('queue.noEstimate'))}</span>
          <span className={classes.detail} title={format.time(task.waiting_since)}>
            {t('tasks.waitingFor', { duration: formatWait(task.waiting_since, format) })}
          </span>
        </div>
      ),
    },
    { key: 'actions', heading: t('queue.column.actions'), actions: true, render: (task) => <Actions task={task} /> },
  ];
  const [task, place, ...others] = columns;
  const first = task && place ? [place, task] : [];
  const why: Column<QueuedTask> = {
    key: 'why',
    heading: t('queue.column.why'),
    render: (task) => <Reason task={task} />,
  };
  if (!isAdmin) return [...first, why, ...others];
  const user: Column<QueuedTask> = {
    key: 'user',
    heading: t('tasks.column.user'),
    render: (task) => (
      <div className={classes.who}>
        <Anchor component={Link} to={`/users/${task.user_id ?? 0}`} inherit>
          {task.username ?? t('tasks.userNumber', { id: task.user_id ?? 0 })}
        </Anchor>
        {task.api_key_name !== null && <span className={classes.detail}>{task.api_key_name}</span>}
      </div>
    ),
  };
  const account: Column<QueuedTask> = {
    key: 'account',
    heading: t('queue.column.account'),
    render: (task) => (
      <div className={classes.account}>
        {task.reason === 'no_channel' ? (
          <NoChannel reason={describeReason(task)} />
        ) : (
          <>
            <Accounts accounts={task.channels ?? []} />
            <span className={classes.detail}>
              <Reason task={task} />
            </span>
          </>
        )}
      </div>
    ),
  };
  return [...first, user, account, ...others];
}

type Reasons = NonNullable<QueuedTask['reason']>;

const reasons: Readonly<Record<Exclude<Reasons, 'no_channel'>, TextKey>> = {
  full: 'queue.reason.full',
  resting: 'queue.reason.resting',
  returned: 'queue.reason.returned',
  own_limit: 'queue.reason.own_limit',
};

function useReasonText(): (task: QueuedTask) => string {
  const { t } = useTranslation();
  const format = useFormat();
  const isAdmin = useRole() >= roles.admin;
  return ({ reason, reason_until: until, model, group }) =>
    reason === 'no_channel'
      ? isAdmin
        ? t('queue.reason.no_channel', { model, group })
        : t('queue.reason.unavailable', { model })
      : t(reasons[reason], { when: until ? format.ago(until) : '' });
}

/** What only waits for its turn is usual; whatever else holds it up is not. */
function Reason({ task }: { task: QueuedTask }) {
  const say = useReasonText();
  const isUsual = task.reason === 'full' || task.reason === 'own_limit';
  return <span className={isUsual ? undefined : classes.stuck}>{say(task)}</span>;
}

/** What can be done with a task that waits: its owner cancels it, administrators also move it. */
function Actions({ task }: { task: QueuedTask }) {
  const { t } = useTranslation();
  const isAdmin = useRole() >= roles.admin;
  const toTitle = useTaskTitle();
  const confirm = useConfirm();
  const path = `/api/queue/${encodeURIComponent(task.id)}`;
  const invalidates = ['/api/queue', '/api/task'];
  const front = useApiMutation<void>({
    request: () => ({ method: 'POST', path: `${path}/front` }),
    invalidates,
    onSuccess: () => notifySuccess(t('queue.moved')),
  });
  const cancel = useApiMutation<void>({
    request: () => ({ method: 'POST', path: `${path}/cancel` }),
    invalidates,
    onSuccess: () => notifySuccess(t('task.cancelled')),
  });
  const confirmAndCancel = async (): Promise<void> => {
    const question = { title: t('task.cancelTitle'), text: t('task.cancelText'), action: t('task.cancel') };
    if (await confirm(question)) cancel.mutate();
  };
  return (
    <div className={classes.actions}>
      {/* The row below would cover it. */}
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t('queue.actionsFor', { title: toTitle(task).slice(0, 80) })}
            loading={front.isPending || cancel.isPending}
          >
            <IconDots size={18} stroke={1.6} aria-hidden="true" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {isAdmin && task.position !== 1 && <Menu.Item onClick={() => front.mutate()}>{t('queue.front')}</Menu.Item>}
          <Menu.Item onClick={() => void confirmAndCancel()}>{t('task.cancel')}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {front.isError && <ErrorNotice error={front.error} />}
      {cancel.isError && <ErrorNotice error={cancel.error} codeTexts={{ CANCEL_UNSUPPORTED: 'queue.gone' }} />}
    </div>
  );
}

/** A waiting task for a phone: when it starts or since when it waits, its place, and for what. */
function QueueBrief({ task }: { task: QueuedTask }) {
  const { t } = useTranslation();
  const format = useFormat();
  const toTitle = useTaskTitle();
  const describeReason = useReasonText();
  const start = formatStart(task, t, format);
  const isStuck = task.reason === 'no_channel';
  const isAdmin = useRole() >= roles.admin;
  // A task at its own limit says so in its position.
  const isOwnLimit = task.reason === 'own_limit';
  const accounts = isOwnLimit ? [] : (task.channels ?? []);
  return (
    <RowBrief
      name={toTitle(task)}
      to={taskPath(task)}
      facts={[task.model, task.username ?? '']}
      figure={
        start === null
          ? t('tasks.waitingFor', { duration: formatWait(task.waiting_since, format) })
          : t('queue.starts', { when: start })
      }
      isFigureBelow
      detail={
        isStuck && isAdmin ? (
          <NoChannel reason={describeReason(task)} />
        ) : (
          [
            isStuck ? '' : formatPosition(task, t, format),
            accounts.length > 0 ? <Accounts key="accounts" accounts={accounts} /> : '',
            isOwnLimit ? '' : <Reason key="reason" task={task} />,
          ]
        )
      }
      actions={<Actions task={task} />}
    />
  );
}
