import { Text } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconCircleDashed, IconCircleX } from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { ServerText } from './server-text.tsx';
import classes from './trial-steps.module.css';

/** `ok` is null if the step could not be checked. */
type TrialStep = { name: string; ok: boolean | null; message: string };

type TrialStepsProps = {
  ok: boolean;
  steps: readonly TrialStep[];
  /** Step names of the API in the user's language. */
  names?: Readonly<Record<string, string>>;
};

/** How a test ended, in words. */
export function describeTrial({ ok, steps }: Pick<TrialStepsProps, 'ok' | 'steps'>, t: TFunction): string {
  const count = steps.filter(isUnsafe).length;
  return !ok ? t('trial.failed') : count > 0 ? t('trial.warned', { count }) : t('trial.passed');
}

/** A test's end and its steps, announced to screen readers. */
export function TrialSteps(trial: TrialStepsProps) {
  const { t } = useTranslation();
  return (
    <div role="status" className={classes.trial}>
      <Text fw={600} size="sm">
        {describeTrial(trial, t)}
      </Text>
      <TrialStepList {...trial} />
    </div>
  );
}

/** The steps of a test and their outcomes. */
export function TrialStepList({ steps, names = {} }: Omit<TrialStepsProps, 'ok'>) {
  const { t } = useTranslation();
  const readStepName = (name: string): string => {
    const key = `trial.step.${name}`;
    const text = (t as (key: string) => string)(key);
    return names[name] ?? (text === key ? name : text);
  };
  return (
    <ol className={classes.steps}>
      {steps.map(({ name, ok: passed, message, ...sentence }) => (
        <li key={`${name} ${message}`} data-ok={isUnsafe(sentence) ? 'unsafe' : String(passed)}>
          {isUnsafe(sentence) ? <Warning /> : <Outcome passed={passed} />}
          <div>
            <span className={classes.name}>{readStepName(name)}</span>
            {message !== '' && (
              <p>
                <ServerText text={message} sentence={sentence} />
              </p>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

/** It works, but others on the way can read along. */
const isUnsafe = (sentence: object): boolean => 'reason' in sentence && sentence.reason === 'trial.connected_clear';

function Warning() {
  const { t } = useTranslation();
  return <IconAlertTriangle size={18} stroke={1.6} role="img" aria-label={t('trial.stepUnsafe')} />;
}

function Outcome({ passed }: { passed: boolean | null }) {
  const { t } = useTranslation();
  const mark = { size: 18, stroke: 1.6, role: 'img' } as const;
  if (passed === null) return <IconCircleDashed {...mark} aria-label={t('trial.stepUnknown')} />;
  return passed ? (
    <IconCircleCheck {...mark} aria-label={t('trial.stepPassed')} />
  ) : (
    <IconCircleX {...mark} aria-label={t('trial.stepFailed')} />
  );
}
