import type { NodeAddress } from '../../settings/index.ts';
import { isLoopback } from './check-config.ts';
import type { Config } from './config-variables.ts';

/** A node's address as far as the configuration determines it. */
export const configuredNode = ({ cookieTrustedUrls, host }: Config): Omit<NodeAddress, 'listening'> => ({
  trustedOrigin: cookieTrustedUrls[0] ?? '',
  isLoopback: isLoopback(host),
});

/** Whether the listener speaks HTTPS. */
export const servesTls = ({ tlsCert, acmeDomains }: Pick<Config, 'tlsCert' | 'acmeDomains'>): boolean =>
  tlsCert !== '' || acmeDomains.length > 0;

/**
 * The listener's address for a browser on this machine. Loopback and wildcard addresses become
 * `localhost`, which passkeys and cookies need.
 */
export function listeningAddress(config: Config, port: number): string {
  const { host } = config;
  const isLocal = ['127.0.0.1', '::1', '0.0.0.0', '::', 'localhost'].includes(host);
  const name = host.includes(':') ? `[${host}]` : host;
  return `${servesTls(config) ? 'https' : 'http'}://${isLocal ? 'localhost' : name}:${port}`;
}
