import { useTranslation } from 'react-i18next';

type ChangeProps = {
  now: number | null;
  /** The figure of the period before. Undefined: it is not known yet. */
  before: number | null | undefined;
  /** How long the periods are. */
  days: number;
};

/** Says how much more or less it is than in the period before; else which period it is. */
export function Change({ now, before, days }: ChangeProps & { now: number }) {
  const { t, i18n } = useTranslation();
  if (before === undefined) return <span>{t('home.inDays', { days })}</span>;
  if (before === 0 || before === null) return null;
  const percent = new Intl.NumberFormat(i18n.language, { style: 'percent', maximumFractionDigits: 0 });
  const change = `${arrow(now - before)}${percent.format(Math.abs(now / before - 1))}`;
  return <span>{t('home.change', { change, days })}</span>;
}

const arrow = (change: number): string => (change === 0 ? '' : change > 0 ? '▲ ' : '▼ ');

/** How many percentage points more or less than in the period before. */
export function PointsChange({ now, before, days }: ChangeProps) {
  const { t, i18n } = useTranslation();
  if (now === null || before === null || before === undefined) return null;
  const points = new Intl.NumberFormat(i18n.language, { maximumFractionDigits: 1 });
  const change = Math.round((now - before) * 1000) / 10;
  return <div>{t('home.changePoints', { points: `${arrow(change)}${points.format(Math.abs(change))}`, days })}</div>;
}
