import { useTranslation } from 'react-i18next';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import type { ModelCard as Model } from '../../api/types.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { usePriceWords } from '../../ui/display/use-price-words.ts';
import { findModelMedium, mediumTexts } from './read-model.ts';

/** Says what models cost, and who makes them. */
export function useModelWords() {
  const { t } = useTranslation();
  const format = useFormat();
  const words = usePriceWords();
  return {
    /** Its price in short, and what else there is to say of it. */
    formatPrice({ price, units, labels }: Model): { short: string; more: readonly string[] } {
      if (!price.priced) return { short: t('models.noPrice'), more: [t('play.price.freeHint')] };
      if (price.summary !== null) {
        const { short, rows } = words(price.summary, units, labels);
        return { short, more: rows };
      }
      const [short = t('models.priceVaries'), ...more] = price.examples.map(({ label, usd }) =>
        t('models.priceExample', { amount: format.money(usd * QUOTA_PER_USD), request: label }),
      );
      return { short, more };
    },
    /** Its vendor, and what it makes. */
    formatMaker: (card: Model): string =>
      card.plugin_name === null
        ? t('models.relayed')
        : `${card.plugin_name} · ${t(mediumTexts[findModelMedium(card)])}`,
  };
}
