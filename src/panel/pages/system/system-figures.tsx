import { useTranslation } from 'react-i18next';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import classes from './system.module.css';

export type SystemFigure = {
  label: string;
  value: string;
  /** What is normal, or further information. */
  note?: string;
  isProblem?: boolean;
};

/** Figures side by side; a problem is also stated in words. */
export function SystemFigures({ rows }: { rows: readonly SystemFigure[] }) {
  const { t } = useTranslation();
  return (
    <dl className={classes.figures}>
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
