/**
 * Owns: what administrators change while the gateway runs: the catalogue of options, the rule of
 * each, the service that changes them, each node's replica of them, the settings of other rooms
 * that follow from them, the trials of what they describe. May touch: the options' rows, the
 * network for trials, the types of `auth`. Never touches: accounts, money, tasks, plugins.
 *
 * - `catalogue/`: every option, with its default, rule and proof.
 * - `settings-service.ts`: shows and changes them, and refuses what would lock root out;
 *   `check-change.ts`, `requirements.ts`: what a feature needs before it is switched on;
 *   `option-trials.ts`: whether it works.
 * - `live-options.ts`, `read-options.ts`: this node's replica, and values by their types.
 * - `auth-settings.ts`, `public-address.ts`, `read-branding.ts`, `describe-status.ts`: what follows
 *   from them; `risk-log.ts`: which are unsafe. What other rooms take of the options:
 *   `app/config/room-settings.ts`.
 */
export { authSettings, findGroupLimits, modelRequestSettings } from './auth-settings.ts';
export {
  DEFAULT_MARKET_SOURCES,
  MARKET_SOURCES,
  parseMarketSources,
  repinSources,
  replaceSources,
} from './catalogue/market-sources.ts';
export { isOptionKey, type OptionKey, ruleFor } from './catalogue/option-catalogue.ts';
export { describeStatus } from './describe-status.ts';
export { createLiveOptions, type LiveOptions } from './live-options.ts';
export { createOptionTrials } from './option-trials.ts';
export {
  configuredAddress,
  describeMissingAddress,
  type NodeAddress,
  serverAddress,
  taskPublicAddress,
} from './public-address.ts';
export { readLogo } from './read-branding.ts';
export { type OptionValues, readOptions } from './read-options.ts';
export { FEATURES, missingFor } from './requirements.ts';
export { createRiskLog, describeRisks, type SettingWarning } from './risk-log.ts';
export { createSettingsService } from './settings-service.ts';
export type { OptionFault, OptionTrials, PublicSettings, SettingsService } from './types.ts';
