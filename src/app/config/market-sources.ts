import type { MarketSource } from '../../plugins/index.ts';
import { type OptionValues, parseMarketSources } from '../../settings/index.ts';

/** The marketplaces as they are set now; the catalogue has checked them. */
export function marketSources(options: OptionValues): MarketSource[] {
  const sources = parseMarketSources(options.json('task_plugin.marketplace_sources'));
  return sources.ok ? sources.value : [];
}
