import type { MarketSource } from '../../plugins/index.ts';
import { type OptionValues, parseMarketSources } from '../../settings/index.ts';

/** The configured marketplaces; the catalogue has checked the option. */
export function marketSources(options: OptionValues): MarketSource[] {
  const sources = parseMarketSources(options.json('task_plugin.marketplace_sources'));
  return sources.ok ? sources.value : [];
}
