import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsageFigures } from '../../api/types.ts';
import { Figures } from '../../ui/display/figures.tsx';
import { useFormat } from '../../ui/display/use-format.ts';

type GlanceFiguresProps = { balance: number; figures: UsageFigures; days: string; all: boolean };

/** The four numbers that one comes for. */
export function GlanceFigures({ balance, figures: { totals }, days, all }: GlanceFiguresProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const ended = totals.succeeded + totals.failed;
  const share =
    ended === 0
      ? t('home.successNone')
      : t('home.successOf', { succeeded: format.number(totals.succeeded), ended: format.number(ended) });
  const show = (
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
          note: <span>{share}</span>,
        },
        { label: t('home.running'), value: format.number(totals.running), note: totals.running > 0 && show },
      ]}
    />
  );
}
