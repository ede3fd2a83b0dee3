import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsageStats } from '../../api/types.ts';
import { Figures } from '../../ui/display/figures.tsx';
import { useFormat } from '../../ui/display/use-format.ts';

type SummaryFiguresProps = { balance: number; figures: UsageStats; days: string; all: boolean };

/** Balance, spending, success rate and running tasks. */
export function SummaryFigures({ balance, figures: { totals }, days, all }: SummaryFiguresProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const ended = totals.succeeded + totals.failed;
  const successNote =
    ended === 0
      ? t('home.successNone')
      : t('home.successOf', { succeeded: format.number(totals.succeeded), ended: format.number(ended) });
  const runningLink = (
    <Anchor component={Link} to={all ? '/tasks?scope=all' : '/tasks'} size="sm">
      {t('home.runningShow')}
    </Anchor>
  );
  return (
    <Figures
      label={t('home.figures')}
      figures={[
        { label: t('home.balance'), value: format.money(balance) },
        { label: t('home.spent'), value: format.money(totals.spend), note: <span>{t('home.inDays', { days })}</span> },
        {
          label: t('home.success'),
          value: totals.success_rate === null ? '–' : format.percent(totals.success_rate),
          note: <span>{successNote}</span>,
        },
        { label: t('home.running'), value: format.number(totals.running), note: totals.running > 0 && runningLink },
      ]}
    />
  );
}
