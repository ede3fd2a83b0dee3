import { Text } from '@mantine/core';
import { IconCircleCheck, IconCircleX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import classes from './trial-steps.module.css';

type TrialStep = { name: string; ok: boolean; message: string; ms?: number | null | undefined };

/** What came of a trial, step by step as it happened; read out when it is there. */
export function TrialSteps({ ok, steps }: { ok: boolean; steps: readonly TrialStep[] }) {
  const { t } = useTranslation();
  return (
    <div role="status" className={classes.trial}>
      <Text fw={600} size="sm">
        {t(ok ? 'trial.passed' : 'trial.failed')}
      </Text>
      <ol className={classes.steps}>
        {steps.map(({ name, ok: passed, message, ms }) => (
          <li key={`${name} ${message}`} data-ok={passed}>
            {passed ? (
              <IconCircleCheck size={18} stroke={1.6} role="img" aria-label={t('trial.stepPassed')} />
            ) : (
              <IconCircleX size={18} stroke={1.6} role="img" aria-label={t('trial.stepFailed')} />
            )}
            <div>
              <span className={classes.name}>{name}</span>
              {ms !== undefined && ms !== null && <span className={classes.time}>{t('trial.ms', { ms })}</span>}
              {message !== '' && <p>{message}</p>}
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}
