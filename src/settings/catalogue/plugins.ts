import { parseJson } from '../../kernel/index.ts';
import { DEFAULT_MARKET_SOURCES, parseMarketSources, writeMarketSources } from '../market-sources.ts';
import { json, type OptionRules } from './option-rule.ts';

export const pluginOptions = {
  /** The marketplaces that the panel lists. */
  'task_plugin.marketplace_sources': {
    proof: 'settings.security',
    ...json(writeMarketSources(DEFAULT_MARKET_SOURCES), (value) => {
      const sources = parseMarketSources(parseJson(value));
      return sources.ok
        ? undefined
        : `a JSON array of {"name", "index_url", "public_key"?}. ${sources.error.message.replace(/\.$/, '')}`;
    }),
  },
} satisfies OptionRules;
