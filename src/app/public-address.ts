import { trimTrailing } from '../kernel/index.ts';
import type { OptionValues } from './options/read-options.ts';

export const withoutSlash = (address: string): string => trimTrailing(address, '/');

/** Where people reach the panel: `ServerAddress`, else where this node listens; without a trailing slash. */
export const serverAddress = (options: OptionValues, listening: string): string =>
  withoutSlash(options.text('ServerAddress')) || listening;

/** Where vendors and clients fetch artifacts: `TaskPublicAddress`, else the panel's address. */
export const taskPublicAddress = (options: OptionValues, listening: string): string =>
  withoutSlash(options.text('TaskPublicAddress')) || serverAddress(options, listening);
