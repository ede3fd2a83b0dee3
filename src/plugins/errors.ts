import { defineErrors } from '../kernel/index.ts';

/**
 * `details` of each: `invalid` {errors: PluginFault[]}, `conflict` {with, kind, subject}, `in_use`
 * {channels, inFlightCount}.
 */
export const pluginErrors = defineErrors('plugins', {
  invalid: ['unprocessable', 'The plugin is not valid.'],
  conflict: ['conflict', 'The plugin is in conflict with another one.'],
  version_exists: ['conflict', 'This version of the plugin exists already with different source.'],
  in_use: ['conflict', 'The plugin is still in use.'],
  not_found: ['not_found', 'No such plugin or version.'],
  hook_failed: ['unprocessable', 'The hook failed.'],
  icon_invalid: ['unprocessable', 'The icon is not valid.'],
  market_failed: ['upstream_failed', 'The marketplace could not be read.'],
  market_mismatch: ['unprocessable', 'The file is not what the marketplace announces.'],
  market_changed: ['conflict', 'The marketplace offers something else by now.'],
  calls_refused: ['rate_limited', 'The plugin takes none of your calls at the moment. Try again later.'],
  unavailable: ['unavailable', 'Plugin code cannot run at the moment.'],
});
