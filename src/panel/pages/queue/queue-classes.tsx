import { Anchor, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { QueueClass } from '../../api/types.ts';
import { Share } from '../../ui/display/figures.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { RowBrief } from '../../ui/table/row-brief.tsx';
import { usePluginNames } from '../tasks/use-plugin-names.ts';
import classes from './queue-page.module.css';

type QueueClassesProps = { queue: readonly QueueClass[]; chosen: string; onChoose(model: string): void };

/** What waits in all, by model and group, and how many slots its accounts have in use. */
export function QueueClasses({ queue, chosen, onChoose }: QueueClassesProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const plugins = usePluginNames();
  if (queue.length === 0) return null;
  const describeReason = ({ reason, reason_until: until, model, group }: QueueClass): string | undefined =>
    reason === null
      ? undefined
      : reason === 'no_channel'
        ? t('queue.reason.no_channel', { model, group })
        : t(`queue.reason.${reason}`, { when: until === null ? '' : format.ago(until) });
  const formatSlots = ({ running, limit }: QueueClass): string =>
    limit === null
      ? format.number(running)
      : t('queue.slotsOf', { taken: format.number(running), limit: format.number(limit) });
  const columns: readonly Column<QueueClass>[] = [
    {
      key: 'model',
      heading: t('tasks.model'),
      render: ({ model, platform, group }) => (
        <div className={classes.who}>
          <Anchor
            component="button"
            type="button"
            size="sm"
            fw={550}
            ta="start"
            onClick={() => onChoose(chosen === model ? '' : model)}
          >
            {model}
          </Anchor>
          <span className={classes.detail}>
            {plugins.get(platform) ?? platform}
            <span aria-hidden="true"> · </span>
            {t('keys.groupIs', { group })}
          </span>
        </div>
      ),
    },
    { key: 'account', heading: t('queue.column.account'), render: ({ channels }) => <Accounts accounts={channels} /> },
    {
      key: 'why',
      heading: t('queue.column.why'),
      wide: true,
      render: (each) => <Why each={each} reason={describeReason(each)} />,
    },
    {
      key: 'running',
      heading: t('queue.column.running'),
      numeric: true,
      render: (each) => (
        <span className={each.limit !== null && each.running >= each.limit ? classes.stuck : undefined}>
          {formatSlots(each)}
        </span>
      ),
    },
    {
      key: 'waiting',
      heading: t('queue.column.waiting'),
      numeric: true,
      render: ({ waiting }) => format.number(waiting),
    },
  ];
  const all = queue.reduce((sum, { waiting }) => sum + waiting, 0);
  const share: Column<QueueClass> = {
    key: 'share',
    heading: t('usage.share'),
    numeric: true,
    minor: true,
    render: ({ waiting }) => <Share part={waiting} of={all} />,
  };
  return (
    <section className={classes.list} aria-labelledby="queue-models">
      <Title order={2} fz={18} id="queue-models">
        {t('queue.byModel')}
      </Title>
      <PlainTable
        label={t('queue.byModel')}
        columns={queue.length > 1 ? [...columns, share] : columns}
        rows={queue}
        rowKey={({ platform, model, group }) => `${platform} ${model} ${group}`}
        brief={(each) => (
          <RowBrief
            name={each.model}
            figure={t('queue.waitingCount', { count: each.waiting, shown: format.number(each.waiting) })}
            facts={[t('keys.groupIs', { group: each.group }), t('queue.inUse', { slots: formatSlots(each) })]}
            detail={listReasons(each, describeReason(each))}
            onPress={() => onChoose(chosen === each.model ? '' : each.model)}
          />
        )}
      />
      {chosen !== '' && (
        <Text size="sm">
          {t('queue.chosen', { model: chosen })}{' '}
          <Anchor component="button" type="button" size="sm" onClick={() => onChoose('')}>
            {t('list.clear')}
          </Anchor>
        </Text>
      )}
    </section>
  );
}

type ReasonProps = { each: QueueClass; reason: string | undefined };

function Why({ each, reason }: ReasonProps) {
  if (each.reason === 'no_channel') return <NoChannel reason={reason ?? ''} />;
  return <span className={each.reason === 'full' ? undefined : classes.stuck}>{reason ?? '–'}</span>;
}

/** Nothing can serve a task: what is missing, and where it is set. */
export function NoChannel({ reason }: { reason: string }) {
  const { t } = useTranslation();
  return (
    <>
      <span className={classes.stuck}>{reason}</span>{' '}
      <Anchor component={Link} to="/channels" inherit className={classes.link ?? ''}>
        {t('queue.openChannels')}
      </Anchor>
    </>
  );
}

/** What a phone says of a model: on which channel it waits, and why. */
function listReasons(each: QueueClass, reason: string | undefined) {
  if (each.reason === 'no_channel') return <NoChannel reason={reason ?? ''} />;
  return [
    each.channels.length > 0 ? <Accounts key="accounts" accounts={each.channels} /> : '',
    reason === undefined ? '' : <Why key="why" each={each} reason={reason} />,
  ];
}

/** The channels that may serve a task, the first by name. */
export function Accounts({ accounts }: { accounts: readonly { id: number; name: string }[] }) {
  const { t } = useTranslation();
  const [first, ...others] = accounts;
  if (first === undefined) return <span>–</span>;
  return (
    <span title={accounts.map(({ name }) => name).join('\n')}>
      <Anchor component={Link} to={`/channels/${first.id}`} inherit className={classes.link ?? ''}>
        {first.name}
      </Anchor>
      {others.length > 0 && ` ${t('rows.more', { count: others.length })}`}
    </span>
  );
}
