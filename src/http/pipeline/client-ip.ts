import ipaddr from 'ipaddr.js';
import type { DecidingIp, RequestOrigin } from '../../auth/index.ts';
import type { Clock } from '../../kernel/index.ts';

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** How long a proxy that is not listed is told of after its last request, in seconds. */
const UNLISTED_SECONDS = 3600;

export type ClientAddresses = {
  /** Both addresses of a request, by the address of its peer and its `X-Forwarded-For`. */
  read(peer: string, forwardedFor: string | null): Pick<RequestOrigin, 'ip' | 'decidingIp'>;
  /**
   * A peer that forwards for others and is believed for what is shown alone: to limits, all its
   * clients are one.
   */
  unlistedProxy(): string | undefined;
};

/**
 * `trustedProxies` are believed for the address that is shown, `decidingProxies` for the one that
 * decides. They differ while `TRUSTED_PROXIES` is unset: any host of a private network could
 * otherwise choose the address by which it is limited.
 */
export function createClientAddresses(deps: {
  trustedProxies: readonly string[];
  decidingProxies: readonly string[];
  clock: Clock;
}): ClientAddresses {
  const shownIp = createClientIp(deps.trustedProxies);
  const decidingIp = createClientIp(deps.decidingProxies);
  const trusts = createTrust(deps.trustedProxies);
  const decides = createTrust(deps.decidingProxies);
  let unlisted: { peer: string; at: number } | undefined;

  return {
    read(peer, forwardedFor) {
      const address = forwardedFor === null ? undefined : parseAddress(peer);
      if (address && trusts(address) && !decides(address))
        unlisted = { peer: address.toString(), at: deps.clock.unix() };
      return { ip: shownIp(peer, forwardedFor), decidingIp: decidingIp(peer, forwardedFor) as DecidingIp };
    },
    unlistedProxy: () => (unlisted && deps.clock.unix() - unlisted.at < UNLISTED_SECONDS ? unlisted.peer : undefined),
  };
}

/** Addresses and CIDRs of proxies whose `X-Forwarded-For` is believed. Empty: nobody's. */
export function createClientIp(trustedProxies: readonly string[]) {
  const trusts = createTrust(trustedProxies);

  /**
   * The client's address: the peer's own unless the peer is a trusted proxy; then the first
   * untrusted address of the chain, read from the right. What is no address ends the reading, since
   * nothing to its left can be believed.
   */
  return function clientIp(peer: string, forwardedFor: string | null): string {
    let client = parseAddress(peer);
    if (!client) return peer;
    if (forwardedFor !== null && trusts(client)) {
      for (const entry of forwardedFor.split(',').reverse()) {
        const hop = parseAddress(entry.trim());
        if (!hop) break;
        client = hop;
        if (!trusts(hop)) break;
      }
    }
    return client.toString();
  };
}

function createTrust(proxies: readonly string[]): (address: ipaddr.IPv4 | ipaddr.IPv6) => boolean {
  const ranges: Range[] = proxies.map((entry) =>
    entry.includes('/') ? ipaddr.parseCIDR(entry) : [ipaddr.parse(entry), entry.includes(':') ? 128 : 32],
  );
  return (address) =>
    ranges.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));
}

/** An address with its port and brackets taken off; IPv4 in IPv6 form becomes IPv4. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare);
  if (bare.includes(':') && ipaddr.IPv6.isValid(bare)) return ipaddr.process(bare);
  return undefined;
}

export function isLoopback(address: string): boolean {
  return parseAddress(address)?.range() === 'loopback';
}
