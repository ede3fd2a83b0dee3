import ipaddr from 'ipaddr.js';
import type { DecidingIp, RequestOrigin } from '../../auth/index.ts';
import { type Clock, memoizeTexts, type ReportCacheSize } from '../../kernel/index.ts';

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** How long an unlisted proxy is reported after its last request. */
const UNLISTED_MS = 3_600_000;

export type ClientAddresses = {
  /** Both addresses of a request, from the peer's address and `X-Forwarded-For`. */
  read(peer: string, forwardedFor: string | null): Pick<RequestOrigin, 'ip' | 'decidingIp'>;
  /**
   * A proxy that is trusted for the displayed address but not for limits: limits count all its
   * clients as one. Set TRUSTED_PROXIES to fix that.
   */
  unlistedProxy(): string | undefined;
  /** Whether a request has come through a proxy since the start. */
  hasProxy(): boolean;
};

export type SeenProxies = Pick<ClientAddresses, 'unlistedProxy' | 'hasProxy'>;

/**
 * `trustedProxies` are trusted for `ip`, the address in logs and the audit log; `decidingProxies`
 * for `decidingIp`, the one that limits and allow lists use. They differ while `TRUSTED_PROXIES` is
 * unset: otherwise any host of a private network could choose the address it is limited by.
 */
export function createClientAddresses(deps: {
  trustedProxies: readonly string[];
  decidingProxies: readonly string[];
  clock: Clock;
  reportCacheSize?: ReportCacheSize;
}): ClientAddresses {
  const { reportCacheSize } = deps;
  const readShown = createIpReader(deps.trustedProxies, (size) => reportCacheSize?.('client_addresses', size));
  const readDeciding = createIpReader(deps.decidingProxies, (size) => reportCacheSize?.('deciding_addresses', size));
  let unlisted: { peer: string; atMs: number } | undefined;
  let hasProxy = false;

  return {
    read(peer, forwardedFor) {
      const shown = readShown(peer);
      if (forwardedFor === null) {
        const ip = shown?.text ?? peer;
        return { ip, decidingIp: ip as DecidingIp };
      }
      hasProxy = true;
      if (shown?.isTrusted && !readDeciding(peer)?.isTrusted)
        unlisted = { peer: shown.text, atMs: deps.clock.monotonicMs() };
      return {
        ip: clientIp(readShown, peer, forwardedFor),
        decidingIp: clientIp(readDeciding, peer, forwardedFor) as DecidingIp,
      };
    },
    unlistedProxy: () =>
      unlisted && deps.clock.monotonicMs() - unlisted.atMs < UNLISTED_MS ? unlisted.peer : undefined,
    hasProxy: () => hasProxy,
  };
}

/**
 * The client's address: the peer's, unless the peer is a trusted proxy. Then it is the first
 * untrusted address of the chain, read from the right, of which the last `MAX_HOPS` count. An entry
 * that is not an address ends the reading, because everything to its left is untrusted too.
 */
function clientIp(read: IpReader, peer: string, forwardedFor: string | null): string {
  let client = read(peer);
  if (!client) return peer;
  if (forwardedFor !== null && client.isTrusted) {
    let end = forwardedFor.length;
    for (let hops = 0; hops < MAX_HOPS && end >= 0; hops += 1) {
      // From -1 on it would search from 0 and find a comma there again.
      const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1);
      const entry = forwardedFor.slice(comma + 1, end).trim();
      const hop = entry.length <= MAX_ENTRY_CHARS ? read(entry) : undefined;
      if (!hop) break;
      client = hop;
      if (!hop.isTrusted) break;
      end = comma;
    }
  }
  return client.text;
}

/** No request passes this many proxies; what is further to the left is not read. */
const MAX_HOPS = 16;
/** An IPv6 address with brackets, zone and port is shorter. */
const MAX_ENTRY_CHARS = 100;

/** An address in its usual form, and whether it is one of the proxies. */
type ReadIp = { text: string; isTrusted: boolean };
type IpReader = (text: string) => ReadIp | undefined;

function createIpReader(proxies: readonly string[], watch?: (size: () => number) => void): IpReader {
  const ranges: Range[] = proxies.map((entry) =>
    entry.includes('/') ? ipaddr.parseCIDR(entry) : [ipaddr.parse(entry), entry.includes(':') ? 128 : 32],
  );
  return memoizeTexts((text) => {
    const address = parseAddress(text);
    return (
      address && {
        text: address.toString(),
        isTrusted: ranges.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits)),
      }
    );
  }, watch);
}

/** Parses an address without its port and brackets; IPv4 in IPv6 form becomes IPv4. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare);
  if (bare.includes(':') && ipaddr.IPv6.isValid(bare)) return ipaddr.process(bare);
  return undefined;
}

export function isLoopback(address: string): boolean {
  return parseAddress(address)?.range() === 'loopback';
}
