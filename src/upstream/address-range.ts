import ipaddr from 'ipaddr.js';

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
