import type { MarketSource } from '../../plugins/index.ts';
import { MARKET_SOURCES, type OptionValues, parseMarketSources } from '../../settings/index.ts';

/** The configured marketplaces; the catalogue has checked the option. */
export function marketSources(options: OptionValues): MarketSource[] {
  const sources = parseMarketSources(options.json(MARKET_SOURCES));
  return sources.ok ? sources.value : [];
}
