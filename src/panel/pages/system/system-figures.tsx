import { useTranslation } from 'react-i18next';
import { StatusMark } from '../../ui/display/status-label.tsx';
import classes from './system.module.css';

export type Figure = {
  label: string;
  value: string;
  /** What is normal, or what else there is to say. */
  note?: string;
  isTrouble?: boolean;
};

/** Figures side by side; one that is not as it should be says so in words. */
export function Figures({ rows }: { rows: readonly Figure[] }) {
  const { t } = useTranslation();
  return (
    <dl className={classes.figures}>
      {rows.map(({ label, value, note, isTrouble = false }) => (
        <div key={`${label} ${value}`} data-trouble={isTrouble || undefined}>
          <dt>{label}</dt>
          <dd className={classes.value}>{value}</dd>
          {note !== undefined && <dd className={classes.note}>{note}</dd>}
          {isTrouble && (
            <dd className={classes.note}>
              <StatusMark tone="bad">{t('system.attention')}</StatusMark>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
