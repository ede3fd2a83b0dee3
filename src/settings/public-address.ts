import { trimTrailing } from '../kernel/index.ts';
import type { OptionValues } from './read-options.ts';

export const withoutSlash = (address: string): string => trimTrailing(address, '/');

/** What a node knows of its own address without the options; never what a request says. */
export type NodeAddress = {
  /** The first of `SESSION_COOKIE_TRUSTED_URL`; empty where there is none. */
  trustedOrigin: string;
  /**
   * Where a browser on this machine finds the listener, without a trailing slash; empty until it is
   * open.
   */
  listening: string;
  /** Only this machine reaches the listener. */
  isLoopback: boolean;
};

/**
 * Where people reach the panel as it is configured: `ServerAddress`, else the first trusted origin,
 * else empty.
 */
export const configuredAddress = (options: OptionValues, { trustedOrigin }: NodeAddress): string =>
  withoutSlash(options.text('ServerAddress')) || trustedOrigin;

/**
 * Where people reach the panel: as it is configured, else where a browser on this machine finds the
 * listener.
 */
export const serverAddress = (options: OptionValues, node: NodeAddress): string =>
  configuredAddress(options, node) || node.listening;

/**
 * Where vendors and clients fetch artifacts: `TaskPublicAddress`, else the panel's configured
 * address. The listener's own counts on loopback only: a link to `localhost` leads people on other
 * machines astray. Undefined: no link can be made.
 */
export const taskPublicAddress = (options: OptionValues, node: NodeAddress): string | undefined =>
  withoutSlash(options.text('TaskPublicAddress')) ||
  configuredAddress(options, node) ||
  (node.isLoopback && node.listening) ||
  undefined;

/**
 * Says what links are like while nothing names the gateway's address; undefined when something
 * does.
 */
export function describeMissingAddress(options: OptionValues, node: NodeAddress): string | undefined {
  if (configuredAddress(options, node) !== '') return undefined;
  const remedy = 'set ServerAddress to the address at which people reach the gateway';
  if (options.isSet('TaskPublicAddress')) {
    return `ServerAddress is not set: links in mails and redirect addresses lead to ${node.listening}; ${remedy}`;
  }
  return node.isLoopback
    ? `ServerAddress is not set: links to artifacts and in mails lead to ${node.listening}, which only this machine reaches; ${remedy}`
    : `ServerAddress is not set and HOST is no loopback address: links to artifacts cannot be made, and links in mails lead to ${node.listening}; ${remedy}`;
}
