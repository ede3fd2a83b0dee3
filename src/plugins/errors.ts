import { defineErrors } from '../kernel/index.ts';

/**
 * `details`: `invalid` has {errors: PluginFault[], needs?: ContractNeed[]}, `conflict` {with,
 * kind, subject}, `in_use` {channels, inFlightCount}, `hook_failed` {kind, console, line, column},
 * `market_untrusted` {reason, known_key, seen_key}, `market_revoked` {reason}, `preview_outdated`
 * {preview: ActivationPreview}.
 */
export const pluginErrors = defineErrors('plugins', {
  invalid: ['unprocessable', 'The plugin is not valid.'],
  conflict: ['conflict', 'The plugin conflicts with another plugin.'],
  version_exists: ['conflict', 'This version of the plugin already exists with different source code.'],
  in_use: ['conflict', 'The plugin is still in use.'],
  move_outdated: ['conflict', 'Something changed since your review. Review the move again.'],
  preview_outdated: ['conflict', 'Something changed since your review. Review the activation again.'],
  not_found: ['not_found', 'There is no such plugin or version.'],
  hook_failed: ['unprocessable', 'The hook failed.'],
  icon_invalid: ['unprocessable', 'The icon is not valid.'],
  market_failed: ['upstream_failed', 'The marketplace could not be read.'],
  market_mismatch: ['unprocessable', 'The file is not the one that the marketplace announces.'],
  market_changed: ['conflict', 'The marketplace now offers a different file.'],
  market_untrusted: ['upstream_failed', 'The marketplace is not signed with its known key.'],
  market_revoked: ['unprocessable', 'The publisher has revoked this version.'],
  calls_refused: ['rate_limited', 'The plugin is not accepting your calls right now. Try again later.'],
  unavailable: ['unavailable', 'Plugins cannot run right now.'],
});
