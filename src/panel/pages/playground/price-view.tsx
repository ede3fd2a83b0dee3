import { Skeleton, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { errorMessage } from '../../api/error-message.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './playground.module.css';
import type { QuoteState } from './use-quote.ts';
import { refusalText } from './use-quote.ts';

/**
 * The price of the request, or what is missing to calculate it. `hasBalance`: the balance is said
 * beside it; of two prices, one says it.
 */
export function PriceView({ quote, isCurrent, hasBalance = true }: QuoteState & { hasBalance?: boolean }) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const status = useGatewayStatus();
  const { data, error } = quote;
  const refusal = data?.price === null ? refusalText(data.refusal, t, i18n.language) : null;
  if (error !== null || refusal !== null) {
    return (
      <Text size="sm" c="dimmed" aria-live="polite">
        {refusal ?? errorMessage(error, t, i18n.language)}
      </Text>
    );
  }
  const price = data?.price ?? undefined;
  if (price === undefined) {
    return quote.isFetching ? (
      <Skeleton h={32} w={96} />
    ) : (
      <Text size="sm" c="dimmed">
        {t('play.price.waiting')}
      </Text>
    );
  }
  const isShort = price.quota > price.balance;
  const hint = status.data?.balance_hint || t('home.balanceAsk');
  const balance = format.money(price.balance);
  return (
    <div className={classes.price}>
      <p className={classes.amount} data-stale={!isCurrent || undefined} aria-live="polite">
        {price.expression === null ? t('play.price.free') : format.money(price.quota)}
      </p>
      {(hasBalance || isShort) && (
        <Text size="sm" c={isShort ? 'var(--mantine-color-error)' : 'dimmed'} lh={1.55}>
          {price.expression === null
            ? t('play.price.freeHint')
            : isShort
              ? `${t('play.price.short', { balance })} ${hint}`
              : t('play.price.balance', { balance })}
        </Text>
      )}
      {price.steps.length > 0 && (
        <Collapsible label={t('play.price.steps')}>
          <pre className={classes.steps}>{[price.expression, ...price.steps].join('\n')}</pre>
        </Collapsible>
      )}
    </div>
  );
}
