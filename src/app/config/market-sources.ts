import { type MarketSource, parseMarketSources } from '../../plugins/index.ts';
import type { OptionValues } from '../options/read-options.ts';

/** The marketplaces as they are set now; the catalogue has checked them. */
export function marketSources(options: OptionValues): MarketSource[] {
  const sources = parseMarketSources(options.json('task_plugin.marketplace_sources'));
  return sources.ok ? sources.value : [];
}
