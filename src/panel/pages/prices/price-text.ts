import { useTranslation } from 'react-i18next';
import type { PriceSummary } from '../../api/types.ts';
import { labelInSentence, useFormat } from '../../ui/display/use-format.ts';
import { type PriceWords, usePriceWords } from '../../ui/display/use-price-words.ts';
import { type Fact, type PriceForm, readLabels } from './price-draft.ts';

type Named = Pick<Fact, 'name' | 'label' | 'unit'>;

/** The words of a price whose facts are known. */
export function useWordsOfFacts(): (summary: PriceSummary, facts: readonly Named[]) => PriceWords {
  const words = usePriceWords();
  return (summary, facts) =>
    words(summary, Object.fromEntries(facts.map(({ name, unit }) => [name, unit])), readLabels(facts));
}

/** A price and what it depends on, such as "$0.04–$0.08 / second" and "resolution"; or "". */
export function usePriceParts(): (summary: PriceSummary | null, facts: readonly Named[]) => readonly [string, string] {
  const { t, i18n } = useTranslation();
  const words = useWordsOfFacts();
  return (summary, facts) => {
    if (summary === null) return [t('prices.formula'), ''];
    const { short } = words(summary, facts);
    if (summary.kind === 'amount') return [short, ''];
    return [short, labelInSentence(readLabels(facts), summary.by, i18n.language)];
  };
}

/** A price in one line, such as "$0.04–$0.08 / second, by resolution". */
export function usePriceText(): (summary: PriceSummary | null, facts: readonly Named[]) => string {
  const { t } = useTranslation();
  const toParts = usePriceParts();
  return (summary, facts) => {
    const [counted, name] = toParts(summary, facts);
    return name === '' ? counted : t('prices.table.by', { counted, name });
  };
}

/** The margins of all amounts as one text, such as "9%–54%"; null where none is known. */
export function useMarginText(): (tiers: ReadonlyMap<string, { margin: number | null }>) => string | null {
  const { t } = useTranslation();
  const format = useFormat();
  return (tiers) => {
    const margins = [...tiers.values()].flatMap(({ margin }) => margin ?? []);
    if (margins.length === 0) return null;
    const [low, high] = [format.percent(Math.min(...margins)), format.percent(Math.max(...margins))];
    return low === high ? low : t('price.words.range', { low, high });
  };
}

/** A change in percent with its sign, such as "+10%". */
export const signShare = (share: number, percent: (share: number) => string): string =>
  `${share > 0 ? '+' : share < 0 ? '−' : ''}${percent(Math.abs(share))}`;

/** What a form counts, such as "per second, by resolution". */
export function useFormName(facts: readonly Fact[]): (form: PriceForm) => string {
  const { t, i18n } = useTranslation();
  const say = (name: string): string => labelInSentence(readLabels(facts), name, i18n.language);
  return ({ per, by }) => {
    const counted =
      per === null
        ? t('prices.table.perTask')
        : per.unit === 'second'
          ? t('prices.table.perSecond')
          : per.unit === 'token'
            ? t('prices.table.perTokens')
            : t('prices.table.perFact', { name: say(per.name) });
    return by === null ? counted : t('prices.table.by', { counted, name: say(by.name) });
  };
}
