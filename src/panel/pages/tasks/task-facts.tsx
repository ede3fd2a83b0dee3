import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/types.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import classes from './task-facts.module.css';
import { useChannelNames, usePluginNames, useUserNames } from './use-display-names.ts';

/** Names, ids and times of a task; administrators also see its user and channel. */
export function TaskFacts({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const format = useFormat();
  const plugins = usePluginNames();
  const channels = useChannelNames();
  const users = useUserNames(task.user_id !== undefined);
  const at = (seconds: number): string | null => (seconds > 0 ? format.time(seconds) : null);
  const { user_id, channel_id, upstream_model, plugin_version, poll_failures = 0 } = task;
  const polls = { polls: format.number(task.polls), failures: format.number(poll_failures) };
  const plugin = plugins.get(task.platform) ?? task.platform;
  const rows: readonly (readonly [label: string, value: string | null | undefined, isCode?: boolean])[] = [
    [t('task.facts.id'), task.id, true],
    [t('task.facts.model'), task.model, true],
    [t('task.facts.upstream'), upstream_model === task.model ? null : upstream_model, true],
    [t('task.facts.plugin'), plugin_version === undefined ? plugin : `${plugin} ${plugin_version}`],
    [t('task.facts.action'), task.action, true],
    [t('task.facts.sent'), at(task.submit_time)],
    [t('task.facts.started'), at(task.start_time)],
    [t('task.facts.ended'), at(task.finish_time)],
    [t('task.facts.polls'), t(poll_failures > 0 ? 'task.facts.pollFailures' : 'task.facts.pollCount', polls)],
    [t('task.facts.user'), user_id && (users.get(String(user_id)) ?? t('tasks.userNumber', { id: user_id }))],
    [
      t('task.facts.channel'),
      channel_id && (channels.get(String(channel_id)) ?? t('tasks.channelNumber', { id: channel_id })),
    ],
    [t('task.facts.group'), task.group],
    [t('task.facts.request'), task.request_id, true],
  ].map(([label, value, isCode]) => [String(label), value ? String(value) : null, isCode === true]);
  return (
    <Section heading={t('task.facts.heading')}>
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
    </Section>
  );
}
