import { ActionIcon, Anchor } from '@mantine/core';
import { IconCopy } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { QUOTA_PER_USD } from '../../../../kernel/quota.ts';
import type { TaskDetail } from '../../../api/types.ts';
import { roles, useRole } from '../../../session/roles.ts';
import { useSessionSnapshot } from '../../../session/session-context.tsx';
import { copyText } from '../../../ui/display/copy-field.tsx';
import { notifySuccess } from '../../../ui/display/notify.ts';
import { labelField, useFormat } from '../../../ui/display/use-format.ts';
import { FoldedSection } from '../../../ui/page/section.tsx';
import { tookSeconds } from '../read-task.ts';
import { usePluginNames } from '../use-plugin-names.ts';
import classes from './task-page.module.css';

/** Names, ids and times of a task; administrators also see its user and channel. */
export function TaskFacts({ task }: { task: TaskDetail }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const role = useRole();
  const { bundle } = useSessionSnapshot();
  const plugins = usePluginNames();
  const at = (seconds: number): string | null => (seconds > 0 ? format.exactTime(seconds) : null);
  const {
    user_id,
    channel_id,
    api_key_id,
    upstream_model,
    upstream_task_id,
    vendor_cost,
    plugin_version,
    poll_failures = 0,
  } = task;
  const isSent = task.queue === undefined;
  const took = tookSeconds(task);
  const usd = (amount: number): string => format.exactMoney(amount * QUOTA_PER_USD);
  const isOwn = user_id === undefined || user_id === bundle?.user.id;
  const polls = { polls: format.number(task.polls), failures: format.number(poll_failures) };
  const name = plugins.get(task.platform) ?? task.platform;
  const plugin = plugin_version === undefined ? name : `${name} ${plugin_version}`;
  const key = api_key_id !== null && (task.api_key_name ?? t('tasks.keyNumber', { id: api_key_id }));
  const rows: readonly (readonly [label: string, value: ReactNode, isCode?: boolean])[] = [
    [t('task.facts.id'), <CopiedId key="id" id={task.id} />, true],
    [t('task.facts.model'), task.model, true],
    [t('task.facts.requestedModel'), task.requested_model, true],
    [t('task.facts.upstream'), upstream_model === task.model ? null : upstream_model, true],
    [t('task.facts.vendorId'), isSent && upstream_task_id, true],
    [
      t('task.facts.vendorCost'),
      vendor_cost && t('task.facts.costAndMargin', { cost: usd(vendor_cost.cost), margin: usd(vendor_cost.margin) }),
    ],
    [
      t('task.facts.plugin'),
      role >= roles.root ? <FactLink to={`/plugins/${encodeURIComponent(task.platform)}`}>{plugin}</FactLink> : plugin,
    ],
    [t('task.facts.action'), task.action && labelField(undefined, task.action, i18n.language)],
    [t('task.facts.submitted'), at(task.created_at)],
    [t('queue.column.since'), task.queue && at(task.queue.waiting_since)],
    [t('tasks.column.took'), took !== null && format.duration(took)],
    [
      t('task.facts.polls'),
      isSent &&
        task.submit_time > 0 &&
        t(poll_failures > 0 ? 'task.facts.pollFailures' : 'task.facts.pollCount', polls),
    ],
    [
      t('task.facts.user'),
      user_id !== undefined && (
        <FactLink to={`/users/${user_id}`}>{task.username ?? t('tasks.userNumber', { id: user_id })}</FactLink>
      ),
    ],
    [t('tasks.key'), key && (isOwn ? <FactLink to={`/keys/${api_key_id}`}>{key}</FactLink> : key)],
    [
      t('task.facts.channel'),
      channel_id !== undefined && task.queue === undefined && (
        <FactLink to={`/channels/${channel_id}`}>
          {task.channel_name ?? t('tasks.channelNumber', { id: channel_id })}
        </FactLink>
      ),
    ],
    [t('task.facts.group'), task.group],
    [t('task.facts.request'), task.request_id && <CopiedId key="request" id={task.request_id} />, true],
  ];
  return (
    <FoldedSection heading={t('task.facts.heading')}>
      <dl className={classes.facts}>
        {rows
          .filter(([, value]) => value)
          .map(([label, value, isCode]) => (
            <div key={label} className={classes.fact}>
              <dt>{label}</dt>
              <dd data-code={isCode || undefined}>{value}</dd>
            </div>
          ))}
      </dl>
    </FoldedSection>
  );
}

export const FactLink = ({ to, children }: { to: string; children: ReactNode }) => (
  <Anchor component={Link} to={to} inherit>
    {children}
  </Anchor>
);

/** Characters at an id's end that stay where it is too long for its line. */
const idEnd = 6;

/** An id with a button that copies it. */
export function CopiedId({ id }: { id: string }) {
  const { t } = useTranslation();
  const copy = async (): Promise<void> => notifySuccess(t((await copyText(id)) ? 'app.copied' : 'app.copyFailed'));
  return (
    <>
      <span className={classes.id} title={id}>
        <span>{id.slice(0, -idEnd)}</span>
        <span>{id.slice(-idEnd)}</span>
      </span>
      <ActionIcon
        className={classes.copied}
        variant="subtle"
        color="gray"
        size={22}
        aria-label={`${t('app.copy')}: ${id}`}
        onClick={() => void copy()}
      >
        <IconCopy size={15} stroke={1.6} aria-hidden="true" />
      </ActionIcon>
    </>
  );
}
