import { Text } from '@mantine/core';
import { Fragment, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { translateOrQuote } from '../../api/translate-sentence.ts';
import type { AttentionItem, BackupsReport, NodeReport } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiQuery, useReadAhead } from '../../session/use-api.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { Page } from '../../ui/page/page.tsx';
import { FoldedSection, Section } from '../../ui/page/section.tsx';
import { AttentionList } from '../home/attention-list.tsx';
import { Backups, backupsPath } from './backups.tsx';
import { findHealthProblems, type HealthProblems } from './health-problems.ts';
import { LedgerCheck } from './ledger-check.tsx';
import { NodeTable } from './node-table.tsx';
import classes from './system.module.css';
import { SystemCharts, useHistoryPath } from './system-charts.tsx';
import { SystemParts, systemParts } from './system-parts.tsx';

/** The gateway's health, and what needs attention. */
export function SystemPage() {
  const { t } = useTranslation();
  const report = useApiQuery<NodeReport>('/api/node', { refreshMs: 5000 });
  useReadAhead(useHistoryPath(), backupsPath);
  return (
    <Page heading={t('nav.system')} intro={t('system.intro')}>
      <QueryResult query={report}>{(data) => <Report report={data} />}</QueryResult>
    </Page>
  );
}

function Report({ report }: { report: NodeReport }) {
  const { t } = useTranslation();
  const attention = useApiQuery<AttentionItem[]>('/api/attention', { refreshMs: 60_000 });
  const backup = useApiQuery<BackupsReport>(backupsPath);
  const problems = findHealthProblems(attention.data ?? []);
  const hasBackups = backup.data?.place !== null;
  return (
    <div className={classes.report}>
      <SystemParts report={report} problems={problems} backup={backup.data} />
      {attention.data?.length !== 0 ? (
        <AttentionList />
      ) : (
        <Text size="lg" role="status">
          <StatusLabel tone={hasBackups ? 'good' : 'waiting'}>
            {t(hasBackups ? 'system.allGood' : 'system.goodNoBackups')}
          </StatusLabel>
        </Text>
      )}
      <Work report={report} problems={problems} />
      <SystemCharts />
      <Section
        anchor={systemParts.nodes}
        heading={t('system.nodes')}
        {...(problems.versions ? { intro: t('system.versionsDiffer') } : {})}
      >
        <NodeTable nodes={report.nodes} />
      </Section>
      <Sandbox report={report} problems={problems} />
      <Data report={report} />
      <Backups />
      <Limits limits={report.limits} />
    </div>
  );
}

type PartProps = { report: NodeReport; problems: HealthProblems };

function Work({ report: { queue, polls, webhooks }, problems }: PartProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const activity = { running: format.number(polls.running), waiting: format.number(polls.waiting) };
  return (
    <Section anchor={systemParts.work} heading={t('system.work')}>
      <SystemFigures
        rows={[
          { label: t('system.unfinished'), value: format.number(queue.unfinished) },
          { label: t('system.due'), value: format.number(queue.due) },
          {
            label: t('system.lateness'),
            value: format.duration(Math.max(0, queue.latest_lateness_ms) / 1000),
            note: t('system.latenessHelp', { limit: format.duration(30), most: format.duration(60) }),
            isProblem: problems.lateness,
          },
          {
            label: t('system.polls'),
            value: format.number(polls.made),
            note: polls.polling ? t('system.pollsHelp', activity) : t('system.pollsOff'),
          },
          {
            label: t('system.webhooks'),
            value: format.number(webhooks.pending),
            ...(webhooks.pending > 0 && {
              note: t('system.webhooksHelp', {
                time: format.duration(webhooks.oldest_seconds),
                limit: format.duration(600),
              }),
            }),
            isProblem: problems.webhooks,
          },
        ]}
      />
    </Section>
  );
}

function Sandbox({ report: { sandbox, plugins }, problems }: PartProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const processes = { count: format.number(sandbox.processes), max: format.number(sandbox.max_processes) };
  const errors = Object.entries(plugins.errors);
  return (
    <Section anchor={systemParts.sandbox} heading={t('system.sandbox')}>
      <SystemFigures
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
          },
          { label: t('system.kills'), value: format.number(sandbox.kills), note: t('system.killsHelp') },
          ...(problems.suspended
            ? [
                {
                  label: t('system.suspended'),
                  value: sandbox.suspended.join(', '),
                  note: t('system.suspendedHelp'),
                  isProblem: true,
                },
              ]
            : []),
          ...errors.map(([key, error]) => ({
            label: t('system.pluginErrors'),
            value: key,
            note: translateOrQuote({ ...plugins.error_sentences?.[key], message: error }, t),
            isProblem: true,
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
    <Section anchor={systemParts.data} heading={t('system.data')}>
      <SystemFigures
        first={<LedgerCheck ledger={ledger} />}
        rows={[
          {
            label: t('system.database'),
            value: database.kind === 'postgres' ? 'PostgreSQL' : 'SQLite',
            note: t(database.free_bytes > 0 ? 'system.sizeFree' : 'system.size', {
              bytes: format.bytes(database.bytes),
              free: format.bytes(database.free_bytes),
            }),
          },
          { label: t('system.cache'), value: t(database.shared_cache ? 'system.cacheOn' : 'system.cacheOff') },
        ]}
      />
    </Section>
  );
}

/** What each limit is called, and what it counts; a number where nothing is said. */
const knownLimits: Readonly<Record<string, { name: TextKey; unit?: 'seconds' | 'minutes' | 'megabytes' }>> = {
  TASK_POLL_INTERVAL_SECONDS: { name: 'system.limit.pollInterval', unit: 'seconds' },
  TASK_POLL_CHANNEL_CONCURRENCY: { name: 'system.limit.pollConcurrency' },
  TASK_POLL_MAX_FAILURES: { name: 'system.limit.pollFailures' },
  TASK_TIMEOUT_MINUTES: { name: 'system.limit.taskTimeout', unit: 'minutes' },
  TASK_PLUGIN_PROTOCOL_TIMEOUT_SECONDS: { name: 'system.limit.submission', unit: 'seconds' },
  MAX_FILE_DOWNLOAD_MB: { name: 'system.limit.file', unit: 'megabytes' },
  SYNC_FREQUENCY: { name: 'system.limit.sync', unit: 'seconds' },
  SHUTDOWN_TIMEOUT_SECONDS: { name: 'system.limit.shutdown', unit: 'seconds' },
};

/** 0 or less switches these off. */
const canBeOff: ReadonlySet<string> = new Set(['TASK_POLL_MAX_FAILURES', 'TASK_TIMEOUT_MINUTES']);

function Limits({ limits }: { limits: NodeReport['limits'] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const say = (variable: string, value: number): string => {
    if (value <= 0 && canBeOff.has(variable)) return t('system.limit.none');
    const unit = knownLimits[variable]?.unit;
    if (unit === 'megabytes') return format.bytes(value * 1024 * 1024);
    return unit === undefined ? format.number(value) : format.duration(unit === 'minutes' ? value * 60 : value);
  };
  return (
    <FoldedSection anchor={systemParts.limits} heading={t('system.limits')} intro={t('system.limitsHelp')}>
      <SystemFigures
        rows={Object.entries(limits).map(([variable, value]) => {
          const known = knownLimits[variable];
          return {
            label: known ? t(known.name) : variable,
            value: say(variable, value),
            note: <VariableName name={variable} />,
          };
        })}
      />
    </FoldedSection>
  );
}

/** Breaks after an underscore where it is too long for its line. */
const VariableName = ({ name }: { name: string }) => (
  <code className={classes.code}>
    {name.split(/(?<=_)/).map((part) => (
      <Fragment key={part}>
        {part}
        <wbr />
      </Fragment>
    ))}
  </code>
);

type SystemFigure = {
  label: string;
  value: string;
  /** What is normal, or further information. */
  note?: ReactNode;
  isProblem?: boolean;
};

/** Figures side by side; a problem is also stated in words. */
function SystemFigures({ rows, first }: { rows: readonly SystemFigure[]; first?: ReactNode }) {
  const { t } = useTranslation();
  return (
    <dl className={classes.figures}>
      {first}
      {rows.map(({ label, value, note, isProblem = false }) => (
        <div key={`${label} ${value}`} data-trouble={isProblem || undefined}>
          <dt>{label}</dt>
          <dd className={classes.value}>{value}</dd>
          {note !== undefined && <dd className={classes.note}>{note}</dd>}
          {isProblem && (
            <dd className={classes.note}>
              <StatusLabel tone="bad">{t('system.attention')}</StatusLabel>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
