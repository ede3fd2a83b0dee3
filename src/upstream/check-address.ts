import ipaddr from 'ipaddr.js';
import { memoizeTexts } from '../kernel/index.ts';

/**
 * `private` addresses need permission. `forbidden` ones are never connected to, whatever the
 * configuration.
 */
type AddressVerdict = 'public' | 'private' | 'forbidden';

// Instance metadata services outside the link-local ranges, which are forbidden as a whole.
const METADATA_ADDRESSES = new Set(
  [
    '100.100.100.200', // Alibaba Cloud
    '168.63.129.16', // Azure host agent
    '192.0.0.192', // Oracle Cloud Classic
    'fd00:ec2::254', // AWS
    'fd20:ce::254', // Google Cloud
    'fd00:42::42', // Scaleway
    'fd00:c1::a9fe:a9fe', // Oracle Cloud
  ].map((address) => ipaddr.parse(address).toString()),
);

const PRIVATE_RANGES = new Set(['loopback', 'private', 'carrierGradeNat', 'uniqueLocal', 'deprecatedSiteLocal']);

// RFC 4291 2.4: the only block from which global unicast addresses are assigned.
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
// RFC 6052: the well-known NAT64 prefix. The local-use prefix (RFC 8215) is refused, because its
// translation is unknown.
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
// RFC 4291 2.5.5.1: deprecated IPv4-compatible addresses, `::127.0.0.1` as resolvers write it. The
// library would read that as `::ffff:127.0.0.1`, another address.
const IPV4_COMPATIBLE = /^::[^:]*\./;

/**
 * Classifies a resolved address or a literal host. An IPv6 address that embeds an IPv4 address
 * (mapped, NAT64, 6to4, SIIT) gets the verdict of that one. Anything not known to be public or
 * private is forbidden, and so is a text that is not a plain address.
 */
export function checkAddress(text: string): AddressVerdict {
  // A zone id (`fe80::1%eth0`) selects an interface: only link-local addresses have one.
  if (text.includes('%')) return 'forbidden';
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return checkIPv4(ipaddr.IPv4.parse(text));
  if (IPV4_COMPATIBLE.test(text)) return 'forbidden';
  if (ipaddr.IPv6.isValid(text)) return checkIPv6(ipaddr.IPv6.parse(text));
  return 'forbidden';
}

/**
 * Whether an address is in one of these CIDRs, also as an IPv4-mapped IPv6 address. Other embedded
 * forms (NAT64, 6to4) are in no range: allowing a network means its own addresses only.
 */
export function isInRanges(text: string, ranges: readonly string[]): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range);
    return network.kind() === address.kind() && address.match(network, bits);
  });
}

function checkIPv4(address: ipaddr.IPv4): AddressVerdict {
  if (METADATA_ADDRESSES.has(address.toString())) return 'forbidden';
  return readVerdict(address.range());
}

function checkIPv6(address: ipaddr.IPv6): AddressVerdict {
  if (METADATA_ADDRESSES.has(address.toString())) return 'forbidden';
  const range = address.range();
  const bytes = address.toByteArray();
  if (range === 'ipv4Mapped' || range === 'rfc6145' || address.match(NAT64)) return checkEmbedded(bytes.slice(12));
  if (range === '6to4') return checkEmbedded(bytes.slice(2, 6));
  if (range === 'unicast' && !address.match(GLOBAL_IPV6)) return 'forbidden';
  return readVerdict(range);
}

const checkEmbedded = (bytes: number[]): AddressVerdict => checkIPv4(new ipaddr.IPv4(bytes));

function readVerdict(range: string): AddressVerdict {
  if (range === 'unicast') return 'public';
  return PRIVATE_RANGES.has(range) ? 'private' : 'forbidden';
}

/**
 * The form in which hosts are compared everywhere: lower case, `host`, or `host:port` if the port
 * is not the scheme's default; IPv6 in brackets. Other spellings of an IPv4 address (decimal,
 * octal, hexadecimal, full-width) are already in dotted form: the WHATWG parser that created the
 * `URL` did all of this. The connection uses the same object, so no second parser can disagree.
 */
export const canonicalHost = (url: URL): string => url.host.toLowerCase();

/**
 * Scheme and host of a channel's base address, which requests are compared with; undefined where it
 * is no address. A channel sends many requests and has one address, so it is parsed once.
 */
export const readBaseAddress = memoizeTexts((address) => {
  const url = URL.parse(address);
  return url ? { isSecure: url.protocol === 'https:', host: canonicalHost(url) } : undefined;
});

/** An address or CIDR as a canonical CIDR; undefined for anything else. */
export function readRange(text: string): string | undefined {
  const cidr = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  // The parser accepts short, octal and hexadecimal IPv4 forms, which do not mean what they seem to
  // ("10/8").
  const [address = ''] = cidr.split('/');
  const plain = address.includes(':') ? !address.includes('%') : ipaddr.IPv4.isValidFourPartDecimal(address);
  return plain && ipaddr.isValidCIDR(cidr) ? canonicalCidr(cidr) : undefined;
}

/** One spelling per range. IPv4-mapped IPv6 becomes IPv4, as peers' addresses do before a check. */
function canonicalCidr(cidr: string): string {
  const [address, bits] = ipaddr.parseCIDR(cidr);
  const mapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96;
  return mapped ? `${address.toIPv4Address()}/${bits - 96}` : `${address}/${bits}`;
}
