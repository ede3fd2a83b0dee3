import { UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DayBars } from './charts.tsx';
import type { DayBarsProps, DaySeries } from './day-bars-view.tsx';
import classes from './part-bars.module.css';

type Part = DaySeries & { color: string; total: string };

type PartBarsProps = Omit<DayBarsProps, 'series' | 'legend'> & {
  parts: readonly Part[];
  /** Where a choice is more than the chart's: the key of the chosen part, or null. */
  choice?: { chosen: string | null; choose(key: string | null): void };
};

/** Stacked bars, of which a choice of one part shows that part alone. */
export function PartBars({ parts, line, choice, ...bars }: PartBarsProps) {
  const { t } = useTranslation();
  const [own, setOwn] = useState<string | null>(null);
  const { chosen, choose } = choice ?? { chosen: own, choose: setOwn };
  // The chosen one may not be a part of the next period.
  const only = parts.find(({ key }) => key === chosen);
  return (
    <div className={classes.box}>
      {only === undefined ? (
        <DayBars {...bars} {...(line === undefined ? {} : { line })} series={parts} legend={false} />
      ) : (
        // The line is that of all parts together.
        <DayBars {...bars} series={[only]} legend={false} />
      )}
      <ul className={classes.parts} aria-label={t('chart.parts')}>
        {parts.map(({ key, name, color, total }) => (
          <li key={key}>
            <UnstyledButton
              className={classes.part}
              aria-pressed={only?.key === key}
              onClick={() => choose(only?.key === key ? null : key)}
            >
              <span className={classes.dot} style={{ background: color }} aria-hidden="true" />
              <span className={classes.name}>{name}</span>
              <span className={classes.total}>{total}</span>
            </UnstyledButton>
          </li>
        ))}
        {line !== undefined && only === undefined && (
          <li className={classes.line}>
            <span className={classes.dash} aria-hidden="true" />
            {line.label}
          </li>
        )}
      </ul>
    </div>
  );
}
