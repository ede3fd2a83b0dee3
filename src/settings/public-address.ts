import { type Sentence, sentence, trimTrailing } from '../kernel/index.ts';
import type { OptionValues } from './read-options.ts';

export const withoutSlash = (address: string): string => trimTrailing(address, '/');

/** What a node knows of its own address without the options. Never taken from a request. */
export type NodeAddress = {
  /** The first of `SESSION_COOKIE_TRUSTED_URL`; empty if unset. */
  trustedOrigin: string;
  /**
   * The listener's address for a browser on this machine, without a trailing slash; empty until it
   * is open.
   */
  listening: string;
  /** Whether only this machine reaches the listener. */
  isLoopback: boolean;
};

/** The panel's configured address: `ServerAddress`, else the first trusted origin, else empty. */
export const configuredAddress = (options: OptionValues, { trustedOrigin }: NodeAddress): string =>
  withoutSlash(options.text('ServerAddress')) || trustedOrigin;

/** The panel's address: the configured one, else the listener's for a browser on this machine. */
export const serverAddress = (options: OptionValues, node: NodeAddress): string =>
  configuredAddress(options, node) || node.listening;

/**
 * The address at which vendors and clients fetch artifacts: `TaskPublicAddress`, else the panel's
 * configured address, else, on loopback only, the listener's: on other machines a link to
 * `localhost` is wrong. Undefined: no link can be made.
 */
export const taskPublicAddress = (options: OptionValues, node: NodeAddress): string | undefined =>
  withoutSlash(options.text('TaskPublicAddress')) ||
  configuredAddress(options, node) ||
  (node.isLoopback && node.listening) ||
  undefined;

/** What is wrong with links while no address is configured; undefined once one is. */
export function describeMissingAddress(options: OptionValues, node: NodeAddress): Sentence | undefined {
  if (configuredAddress(options, node) !== '') return undefined;
  const address = node.listening;
  if (options.isSet('TaskPublicAddress')) return sentence('attention.address_mails', { address });
  return sentence(node.isLoopback ? 'attention.address_local' : 'attention.address_none', { address });
}
