import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { NodeReport } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import { type Column, Rows } from '../../ui/display/data-table.tsx';
import { Answer } from '../../ui/display/query-result.tsx';
import { StatusMark } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Page } from '../../ui/page/page.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Figures } from './system-figures.tsx';
import { LedgerCheck } from './ledger-check.tsx';
import { NodeTable } from './node-table.tsx';
import classes from './system.module.css';
import { systemHealth, type Troubles } from './health-problems.ts';

/** How the gateway is doing, and what is not as it should be. */
export function SystemPage() {
  const { t } = useTranslation();
  const report = useApi<NodeReport>('/api/node', { refreshMs: 5000 });
  return (
    <Page heading={t('nav.system')} intro={t('system.intro')}>
      <Answer query={report}>{(data) => <Report report={data} />}</Answer>
    </Page>
  );
}

function Report({ report }: { report: NodeReport }) {
  const { t } = useTranslation();
  const troubles = systemHealth(report);
  const count = Object.values(troubles).filter((isTrouble) => isTrouble).length;
  return (
    <div className={classes.report}>
      <Text size="lg" role="status">
        <StatusMark tone={count === 0 ? 'good' : 'bad'}>
          {count === 0 ? t('system.allGood') : t('system.look', { count })}
        </StatusMark>
      </Text>
      <Section heading={t('system.nodes')} {...(troubles.versions ? { intro: t('system.versionsDiffer') } : {})}>
        <NodeTable nodes={report.nodes} />
      </Section>
      <Work report={report} troubles={troubles} />
      <Sandbox report={report} troubles={troubles} />
      <Data report={report} />
      <Limits limits={report.limits} />
    </div>
  );
}

type PartProps = { report: NodeReport; troubles: Troubles };

function Work({ report: { queue, polls, webhooks }, troubles }: PartProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const activity = { running: format.number(polls.running), waiting: format.number(polls.waiting) };
  return (
    <Section heading={t('system.work')}>
      <Figures
        rows={[
          { label: t('system.unfinished'), value: format.number(queue.unfinished) },
          { label: t('system.due'), value: format.number(queue.due), note: t('system.dueHelp') },
          {
            label: t('system.lateness'),
            value: format.duration(Math.max(0, queue.latest_lateness_ms) / 1000),
            note: t('system.latenessHelp'),
            isTrouble: troubles.lateness,
          },
          {
            label: t('system.polls'),
            value: format.number(polls.made),
            note: polls.polling ? t('system.pollsHelp', activity) : t('system.pollsOff'),
          },
          {
            label: t('system.webhooks'),
            value: format.number(webhooks.pending),
            note:
              webhooks.pending === 0
                ? t('system.webhooksNone')
                : t('system.webhooksHelp', { time: format.duration(webhooks.oldest_seconds) }),
            isTrouble: troubles.webhooks,
          },
        ]}
      />
    </Section>
  );
}

function Sandbox({ report: { sandbox, plugins }, troubles }: PartProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const processes = { count: format.number(sandbox.processes), max: format.number(sandbox.max_processes) };
  const errors = Object.entries(plugins.errors);
  return (
    <Section heading={t('system.sandbox')}>
      <Figures
        rows={[
          {
            label: t('system.generation'),
            value: format.number(plugins.generation),
            note: t('system.generationHelp', { ago: format.ago(plugins.published_at) }),
          },
          {
            label: t('system.processes'),
            value: t('system.ofMax', processes),
            note: t('system.memory', { bytes: format.bytes(sandbox.resident_bytes) }),
          },
          { label: t('system.calls'), value: format.number(sandbox.calls) },
          {
            label: t('system.queued'),
            value: format.number(sandbox.queued),
            note: t('system.queuedHelp'),
            isTrouble: troubles.queued,
          },
          { label: t('system.kills'), value: format.number(sandbox.kills), note: t('system.killsHelp') },
          ...(troubles.suspended
            ? [
                {
                  label: t('system.suspended'),
                  value: sandbox.suspended.join(', '),
                  note: t('system.suspendedHelp'),
                  isTrouble: true,
                },
              ]
            : []),
          ...errors.map(([key, error]) => ({
            label: t('system.pluginErrors'),
            value: key,
            note: error,
            isTrouble: true,
          })),
        ]}
      />
    </Section>
  );
}

function Data({ report: { database, ledger } }: { report: NodeReport }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Section heading={t('system.data')}>
      <Figures
        rows={[
          {
            label: t('system.database'),
            value: database.kind === 'postgres' ? 'PostgreSQL' : 'SQLite',
            note: t('system.size', { bytes: format.bytes(database.bytes) }),
          },
          { label: t('system.cache'), value: t(database.shared_cache ? 'system.cacheOn' : 'system.cacheOff') },
        ]}
      />
      <LedgerCheck ledger={ledger} />
    </Section>
  );
}

function Limits({ limits }: { limits: NodeReport['limits'] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const columns: readonly Column<[string, number]>[] = [
    { key: 'name', heading: t('system.limit'), render: ([name]) => <code className={classes.code}>{name}</code> },
    { key: 'value', heading: t('system.limitValue'), numeric: true, render: ([, value]) => format.number(value) },
  ];
  return (
    <Section heading={t('system.limits')} intro={t('system.limitsHelp')}>
      <Rows label={t('system.limits')} columns={columns} rows={Object.entries(limits)} rowKey={([name]) => name} />
    </Section>
  );
}
