import { useTranslation } from 'react-i18next';
import { ServerText } from '../../ui/display/server-text.tsx';
import { type FilterChip, FilterChips } from '../../ui/form/filter-chips.tsx';
import { useNamed } from '../../ui/form/name-select.tsx';
import { useFailureReasons } from './failure-reasons.tsx';
import { taskStatusTexts } from './task-filters.tsx';
import { usePluginNames } from './use-plugin-names.ts';
import { narrowingNames, type TaskQuery } from './use-task-query.ts';

type Name = Parameters<TaskQuery['filters']['set']>[0];

/** What narrows the list, beside the text that is searched, each to be removed. */
export function TaskFilterChips({ tasks: { filters, isNarrowed, all, query } }: { tasks: TaskQuery }) {
  const { t, i18n } = useTranslation();
  const { values, set } = filters;
  const plugins = usePluginNames();
  const channel = useNamed({ path: '/api/channel/names', id: values.channel });
  const user = useNamed({ path: '/api/user/names', id: all ? values.user : '' });
  const key = useNamed({
    path: '/api/token/names',
    query: all ? { scope: 'all', user_id: values.user } : {},
    id: values.key,
  });
  const reasons = useFailureReasons(query, values.reason !== '');
  if (!isNarrowed) return null;
  const day = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium' });
  const toDay = (text: string): string => {
    const date = new Date(`${text}T00:00`);
    return Number.isNaN(date.getTime()) ? text : day.format(date);
  };
  // A reason is one of failed tasks.
  const onRemove = (name: Name): void =>
    name === 'status' ? filters.setAll({ status: '', reason: '' }) : set(name, '');
  const chip = (name: Name, label: string, value: FilterChip['value']): FilterChip[] =>
    values[name] === '' ? [] : [{ key: name, label, value, onRemove: () => onRemove(name) }];
  return (
    <FilterChips
      onClear={() => filters.setAll(Object.fromEntries(narrowingNames.map((name) => [name, ''])))}
      chips={[
        ...chip('status', t('tasks.status'), t(taskStatusTexts[values.status as 'SUCCESS'] ?? 'tasks.anyStatus')),
        ...chip('period', t('tasks.period'), t(`tasks.period.${values.period as '24h'}`)),
        ...chip('from', t('tasks.from'), toDay(values.from)),
        ...chip('to', t('tasks.to'), toDay(values.to)),
        ...chip('model', t('tasks.model'), values.model),
        ...chip('platform', t('tasks.plugin'), plugins.get(values.platform) ?? values.platform),
        ...chip('channel', t('tasks.channel'), channel?.name ?? `#${values.channel}`),
        ...(all ? chip('user', t('tasks.column.user'), user?.name ?? `#${values.user}`) : []),
        ...chip('key', t('tasks.key'), key?.name ?? `#${values.key}`),
        ...chip(
          'reason',
          t('tasks.column.reason'),
          <ServerText
            text={values.reason}
            sentence={reasons.data?.find(({ reason }) => reason === values.reason)?.reason_sentence}
          />,
        ),
      ]}
    />
  );
}
