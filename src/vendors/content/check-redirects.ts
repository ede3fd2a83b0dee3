import { canonicalHost, type UpstreamRequest } from '../../upstream/index.ts';

/** `isAllowed`: whether this kind of request may be sent to an address at all. */
type Origin = { url: URL; vendor: URL; credentialless: boolean; isAllowed: (hop: URL) => boolean };

/**
 * The redirect rules of a request for content. A request without credential may go to any host, and
 * such a host must not redirect it into the private network that only the channel may reach. So it
 * may start at the vendor's private address and stay there, but never come back or come from
 * elsewhere.
 */
export function checkRedirects({
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
