/**
 * The form in which hosts are compared everywhere: lower case, `host`, or `host:port` if the port
 * is not the scheme's default; IPv6 in brackets. Other spellings of an IPv4 address (decimal,
 * octal, hexadecimal, full-width) are already in dotted form: the WHATWG parser that created the
 * `URL` did all of this. The connection uses the same object, so no second parser can disagree.
 */
export const canonicalHost = (url: URL): string => url.host.toLowerCase();
