import ipaddr from 'ipaddr.js';
import type { DecidingIp } from '../types.ts';

/** An IPv4 address in its usual form, which most are: it is its own key. */
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/**
 * The part of an address that limits count by: an IPv4 address, or the first 64 bits of an IPv6
 * address, since one customer usually holds the whole /64. IPv4 inside IPv6 counts as IPv4.
 */
export function addressKey(ip: DecidingIp): string {
  if (IPV4.test(ip) || !ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  if (!(address instanceof ipaddr.IPv6)) return address.toString();
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
