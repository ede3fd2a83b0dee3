import { useTranslation } from 'react-i18next';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import type { PriceSummary } from '../../api/types.ts';
import { type FieldLabels, labelInSentence, useFormat } from './use-format.ts';

/** The unit of a number fact: `second`, `count`, `token` or `credit`. */
type FactUnits = Readonly<Record<string, string | null>>;

/** Vendors state prices of tokens by the million. */
export const tokensPerPrice = 1_000_000;

export type PriceWords = {
  /** "$0.02 / second", or for a table its lowest and highest amount. */
  short: string;
  /** The rows of a table, such as "1080p: $0.08" and "otherwise $0.04". */
  rows: readonly string[];
  /** Another amount by the same measure: "$0.03 / second". */
  say(amount: string): string;
};

/** Puts prices into words. */
export function usePriceWords() {
  const { t, i18n } = useTranslation();
  const format = useFormat();

  const perWords = (fact: string, units: FactUnits, labels: FieldLabels): string => {
    if (units[fact] === 'second') return t('price.words.second');
    if (units[fact] === 'token') return t('price.words.tokens');
    if (fact === 'images') return t('price.words.image');
    return t('price.words.fact', { name: labelInSentence(labels, fact, i18n.language) });
  };
  return (summary: PriceSummary, units: FactUnits, labels: FieldLabels): PriceWords => {
    const factor = summary.per.some((fact) => units[fact] === 'token') ? tokensPerPrice : 1;
    const per =
      summary.per.length === 0
        ? t('price.words.task')
        : summary.per.map((fact) => perWords(fact, units, labels)).join(t('price.words.times'));
    const money = (usd: number): string => format.money(usd * factor * QUOTA_PER_USD);
    const say = (amount: string): string => t('price.words', { amount, per });
    if (summary.kind === 'amount')
      return { short: summary.usd === 0 ? t('price.words.free') : say(money(summary.usd)), rows: [], say };
    const amounts = summary.rates.map(({ usd }) => usd);
    const [low, high] = [Math.min(...amounts), Math.max(...amounts)];
    return {
      short: say(low === high ? money(low) : t('price.words.range', { low: money(low), high: money(high) })),
      rows: summary.rates.map(({ value, usd }) => {
        const price = money(usd);
        return value === null ? t('price.words.other', { price }) : t('price.words.value', { value, price });
      }),
      say,
    };
  };
}
