import type { OptionValues } from '../../settings/index.ts';
import type { Config } from './config-variables.ts';

/** The host names, in lower case, under which the panel answers besides `localhost`. */
export const panelHostNames = (
  config: Pick<Config, 'trustedHosts' | 'cookieTrustedUrls'>,
  options: OptionValues,
): string[] => [
  ...config.trustedHosts,
  ...[options.text('ServerAddress'), options.text('TaskPublicAddress'), ...config.cookieTrustedUrls]
    .filter((address) => URL.canParse(address))
    .map((address) => new URL(address).hostname),
];
