import type { LiveOptions } from './live-options.ts';

const withoutSlash = (address: string | undefined): string | undefined =>
  address?.trim().replace(/\/+$/, '') || undefined;

/** Where people reach the panel: `ServerAddress`, else where this node listens; without a trailing slash. */
export const serverAddress = (options: LiveOptions, listening: string): string =>
  withoutSlash(options.get('ServerAddress')) ?? listening;

/** Where vendors and clients fetch artifacts: `TaskPublicAddress`, else the panel's address. */
export const taskPublicAddress = (options: LiveOptions, listening: string): string =>
  withoutSlash(options.get('TaskPublicAddress')) ?? serverAddress(options, listening);
