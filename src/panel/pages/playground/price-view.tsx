import { Skeleton, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { errorMessage } from '../../api/error-message.ts';
import type { CallableModel, TaskQuote } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { usePriceWords } from '../../ui/display/use-price-words.ts';
import classes from './playground.module.css';
import type { QuoteState } from './use-quote.ts';
import { refusalText } from './use-quote.ts';

type PriceViewProps = QuoteState & {
  offer: CallableModel;
  /** Two models are compared: each price says whose it is. */
  isOneOfTwo?: boolean;
  /** The balance is said below; of two prices, one says it. */
  hasBalance?: boolean;
};

/** The price of the request and how it comes about, or what is missing to calculate it. */
export function PriceView({ offer, quote, isCurrent, isOneOfTwo = false, hasBalance = true }: PriceViewProps) {
  const { t, i18n } = useTranslation();
  const format = useFormat();
  const status = useGatewayStatus();
  const calculate = useCalculation(offer);
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
      <Skeleton h={22} w={180} />
    ) : (
      <Text size="sm" c="dimmed">
        {t('play.price.waiting')}
      </Text>
    );
  }
  const isShort = price.quota > price.balance;
  const hint = status.data?.balance_hint || t('home.balanceAsk');
  const balance = format.money(price.balance);
  const calculation = price.expression === null ? null : calculate(price);
  const amount = price.expression === null ? t('play.price.free') : (calculation ?? format.money(price.quota));
  return (
    <div className={classes.price}>
      <p className={classes.amount} data-stale={!isCurrent || undefined} aria-live="polite">
        {isOneOfTwo ? `${offer.model}: ${amount}` : amount}
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
      {calculation === null && price.steps.length > 0 && (
        <Collapsible label={t('play.price.steps')}>
          <pre className={classes.steps}>{[price.expression, ...price.steps].join('\n')}</pre>
        </Collapsible>
      )}
    </div>
  );
}

type Price = Exclude<TaskQuote, { refused: object }>;

/** Says "4 sec × $0.02 / second = $0.08" where a price is one rate times a field of the request. */
function useCalculation({ price: { summary }, schema, labels }: CallableModel): (price: Price) => string | null {
  const { t } = useTranslation();
  const format = useFormat();
  const words = usePriceWords();
  return ({ facts, quota }) => {
    const [measured = '', ...others] = summary?.per ?? [];
    const unit = schema.properties[measured]?.['x-unit'];
    const value = facts[measured];
    if (summary === null || others.length > 0 || unit === undefined || typeof value !== 'number') return null;
    const rate =
      summary.kind === 'amount'
        ? summary
        : (summary.rates.find((each) => each.value === String(facts[summary.by])) ??
          summary.rates.find((each) => each.value === null));
    if (rate === undefined) return null;
    const said = words({ kind: 'amount', usd: rate.usd, per: [measured] }, { [measured]: unit }, labels).short;
    const number = `${format.number(value)}${unit === 'second' ? ` ${t('play.field.seconds')}` : ''}`;
    return `${number} × ${said} = ${format.money(quota)}`;
  };
}
