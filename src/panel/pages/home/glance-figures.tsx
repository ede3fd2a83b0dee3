import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsageFigures } from '../../api/types.ts';
import { useFormat } from '../../ui/use-format.ts';
import classes from './glance-figures.module.css';

type GlanceFiguresProps = { balance: number; figures: UsageFigures; days: string; all: boolean };

/** The four numbers that one comes for. */
export function GlanceFigures({ balance, figures: { totals }, days, all }: GlanceFiguresProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const ended = totals.succeeded + totals.failed;
  return (
    <dl className={classes.figures} aria-label={t('home.figures')}>
      <div>
        <dt>{t('home.balance')}</dt>
        <dd>{format.money(balance)}</dd>
      </div>
      <div>
        <dt>{t('home.spent')}</dt>
        <dd>
          {format.money(totals.spend)}
          <span>{t('home.inDays', { days })}</span>
        </dd>
      </div>
      <div>
        <dt>{t('home.success')}</dt>
        <dd>
          {totals.success_rate === null ? '–' : format.percent(totals.success_rate)}
          <span>
            {ended === 0
              ? t('home.successNone')
              : t('home.successOf', { succeeded: format.number(totals.succeeded), ended: format.number(ended) })}
          </span>
        </dd>
      </div>
      <div>
        <dt>{t('home.running')}</dt>
        <dd>
          {format.number(totals.running)}
          {totals.running > 0 && (
            <Anchor component={Link} to={all ? '/tasks?scope=all' : '/tasks'} size="sm">
              {t('home.runningShow')}
            </Anchor>
          )}
        </dd>
      </div>
    </dl>
  );
}
