import { VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { BackupsReport, NodeReport } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import type { HealthProblems } from './health-problems.ts';
import classes from './system.module.css';

/** What the address names behind its `#`, by part of the page. */
export const systemParts = {
  work: 'work',
  history: 'history',
  nodes: 'nodes',
  sandbox: 'plugins',
  data: 'database',
  backups: 'backups',
  limits: 'limits',
} as const;

const names: Readonly<Record<keyof typeof systemParts, TextKey>> = {
  work: 'system.work',
  history: 'system.history',
  nodes: 'system.nodes',
  sandbox: 'system.sandbox',
  data: 'system.data',
  backups: 'system.backups',
  limits: 'system.limits',
};

type SystemPartsProps = { report: NodeReport; problems: HealthProblems; backup: BackupsReport | undefined };

/** The parts of a long page with their state, each a link to it. */
export function SystemParts({ report, problems, backup }: SystemPartsProps) {
  const { t } = useTranslation();
  const tones: Partial<Record<keyof typeof systemParts, Tone>> = {
    work: problems.lateness || problems.webhooks ? 'bad' : 'good',
    nodes: report.nodes.some(({ alive }) => !alive) ? 'bad' : problems.versions ? 'waiting' : 'good',
    sandbox: problems.suspended || Object.keys(report.plugins.errors).length > 0 ? 'bad' : 'good',
    data: report.ledger === null ? 'quiet' : report.ledger.ok ? 'good' : 'bad',
    ...(backup && { backups: toneOfBackups(backup) }),
  };
  return (
    <nav aria-label={t('system.parts')}>
      <ul className={classes.parts}>
        {Object.entries(systemParts).map(([part, anchor]) => {
          const { [part as keyof typeof systemParts]: name } = names;
          const { [part as keyof typeof systemParts]: tone } = tones;
          return (
            <li key={part}>
              <a href={`#${anchor}`}>
                {tone === undefined ? t(name) : <StatusLabel tone={tone}>{t(name)}</StatusLabel>}
                {(tone === 'bad' || tone === 'waiting') && <VisuallyHidden> {t('system.attention')}</VisuallyHidden>}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

function toneOfBackups({ place, runs }: BackupsReport): Tone {
  if (place === null) return 'waiting';
  return runs.find(({ status }) => status !== 'running')?.status === 'failed' ? 'bad' : 'good';
}
