/**
 * How hosts are compared everywhere: lower case, `host`, or `host:port` where the port is not the
 * scheme's default; IPv6 in brackets; other spellings of an IPv4 address (decimal, octal,
 * hexadecimal, full-width) already in dotted form. The WHATWG parser that made the `URL` has done
 * all of this, and the connection uses the same object: no second parser can disagree.
 */
export const canonicalHost = (url: URL): string => url.host.toLowerCase();
