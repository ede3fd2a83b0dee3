import type { NodeAddress } from '../../settings/index.ts';
import { isLoopback } from './check-config.ts';
import type { Config } from './config-variables.ts';

/** What the configuration says of a node's address. */
export const configuredNode = ({ cookieTrustedUrls, host }: Config): Omit<NodeAddress, 'listening'> => ({
  trustedOrigin: cookieTrustedUrls[0] ?? '',
  isLoopback: isLoopback(host),
});

/**
 * Where a browser on this machine finds a listener; passkeys and cookies want `localhost` where
 * loopback or every address is meant.
 */
export function listeningAddress({ host, tlsCert }: Config, port: number): string {
  const isHere = ['127.0.0.1', '::1', '0.0.0.0', '::', 'localhost'].includes(host);
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tlsCert === '' ? 'http' : 'https'}://${isHere ? 'localhost' : name}:${port}`;
}
