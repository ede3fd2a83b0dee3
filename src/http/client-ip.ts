import ipaddr from 'ipaddr.js';

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Addresses and CIDRs of proxies whose `X-Forwarded-For` is believed. Empty: nobody's. */
export function createClientIp(trustedProxies: readonly string[]) {
  const ranges: Range[] = trustedProxies.map((entry) =>
    entry.includes('/') ? ipaddr.parseCIDR(entry) : [ipaddr.parse(entry), entry.includes(':') ? 128 : 32],
  );
  const trusts = (address: ipaddr.IPv4 | ipaddr.IPv6) =>
    ranges.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));

  /**
   * The client's address: the peer's own unless the peer is a trusted proxy; then the first untrusted address of the chain, read
   * from the right. What is no address ends the reading, since nothing to its left can be believed.
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
