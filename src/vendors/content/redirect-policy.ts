import { trimTrailing } from '../../kernel/index.ts';
import { canonicalHost, type UpstreamRequest } from '../../upstream/index.ts';

/** `isAllowed`: whether this kind of request may be sent to an address at all. */
type Origin = { url: URL; vendor: URL; credentialless: boolean; isAllowed: (hop: URL) => boolean };

/**
 * The redirect rules of a request for content. A request without credential may go to any host, and
 * such a host must not redirect it into the private network that only the channel may reach. So it
 * may start at the vendor's private address and stay there, but never come back or come from
 * elsewhere. `followRedirect` in `upstream/create-upstream.ts` applies it, and removes credentials
 * where the origin changes.
 */
export function createRedirectPolicy({
  url,
  vendor,
  credentialless,
  isAllowed,
}: Origin): Required<Pick<UpstreamRequest, 'privateHosts' | 'allowRedirect'>> {
  const vendorHost = canonicalHost(vendor);
  const isVendor = (target: URL) => canonicalHost(target) === vendorHost;
  const startsAtVendor = isVendor(url);
  let wasElsewhere = !startsAtVendor;
  return {
    privateHosts: credentialless && !startsAtVendor ? [] : [vendorHost],
    allowRedirect(hop) {
      const comesBack = wasElsewhere && startsAtVendor && isVendor(hop);
      wasElsewhere ||= !isVendor(hop);
      return isAllowed(hop) && !(credentialless && comesBack);
    },
  };
}

/**
 * Whether a URL points back to this gateway: a download from there would request itself in an
 * endless loop. `own` are the gateway's known addresses, each with its base path. The scheme is
 * ignored, since a proxy may add https. All loopback names are this machine, and a trailing dot of
 * the host name means nothing.
 */
export function pointsToSelf(own: readonly string[], target: URL): boolean {
  const path = decodePath(target.pathname);
  return own.some((address) => {
    const base = URL.canParse(address) ? new URL(address) : undefined;
    if (!base || hostAndPort(base) !== hostAndPort(target)) return false;
    return path.startsWith(`${trimTrailing(base.pathname, '/')}/v1/`);
  });
}

const LOOPBACK =
  /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\]|0\.0\.0\.0|\[::\])$/;

/** `URL` omits the scheme's default port. */
function hostAndPort({ hostname, port }: URL): string {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  return `${LOOPBACK.test(name) ? 'localhost' : name}:${port}`;
}

/** The path as the other side's router may read it: escapes decoded, empty segments dropped. */
function decodePath(path: string): string {
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // A broken escape stays as it is.
  }
  return decoded.replace(/\/{2,}/g, '/');
}
