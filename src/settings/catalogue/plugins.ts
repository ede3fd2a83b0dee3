import { parseJson } from '../../kernel/index.ts';
import { DEFAULT_MARKET_SOURCES, parseMarketSources, writeMarketSources } from '../market-sources.ts';
import { boolean, json, type OptionRules } from './option-rule.ts';

export const pluginOptions = {
  /** Goes back from a version that fails clearly more often than the one before it. */
  'task_plugin.auto_rollback': { proof: 'none', ...boolean(false) },
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
