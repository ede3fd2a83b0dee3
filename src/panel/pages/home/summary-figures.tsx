import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsageStats } from '../../api/types.ts';
import { withQuery } from '../../api/use-api.ts';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { Figures } from '../../ui/display/figures.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { LowBalanceNote } from '../notifications/low-balance-note.tsx';

type SummaryFiguresProps = {
  /** The reader's; null: the figures are everybody's. */
  balance: number | null;
  figures: UsageStats;
  days: string;
};

/** Balance, or everybody's ended tasks; spending, success rate and running tasks. */
export function SummaryFigures({ balance, figures: { totals }, days }: SummaryFiguresProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const hint = useGatewayStatus().data?.balance_hint || t('home.balanceAsk');
  const ended = totals.succeeded + totals.failed;
  const successNote =
    ended === 0
      ? t('home.successNone')
      : t('home.successOf', { succeeded: format.number(totals.succeeded), ended: format.number(ended) });
  const scope = balance === null ? 'all' : null;
  const failedLink = (
    <Anchor component={Link} to={withQuery('/tasks', { scope, status: 'FAILURE', period: `${days}d` })} size="sm">
      {t('home.failedShow', { failed: format.number(totals.failed) })}
    </Anchor>
  );
  const runningLink = (
    <Anchor component={Link} to={balance === null ? '/tasks?scope=all' : '/tasks'} size="sm">
      {t('home.runningShow')}
    </Anchor>
  );
  return (
    <Figures
      label={t('home.figures')}
      figures={[
        ...(balance === null
          ? []
          : [
              {
                label: t('home.balance'),
                value: format.money(balance),
                note: balance <= 0 ? <span>{`${t('home.balanceEmpty')} ${hint}`}</span> : <LowBalanceNote />,
              },
            ]),
        { label: t('home.spent'), value: format.money(totals.spend), note: <span>{t('home.inDays', { days })}</span> },
        {
          label: t('home.success'),
          value: totals.success_rate === null ? '–' : format.percent(totals.success_rate),
          note: (
            <>
              <span>{successNote}</span>
              {totals.failed > 0 && failedLink}
            </>
          ),
        },
        ...(balance === null ? [{ label: t('home.ended'), value: format.number(ended) }] : []),
        { label: t('home.running'), value: format.number(totals.running), note: totals.running > 0 && runningLink },
      ]}
    />
  );
}
