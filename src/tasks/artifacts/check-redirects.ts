import { canonicalHost, type UpstreamRequest } from '../../upstream/index.ts';

/** `isOpen`: whether a request of this kind may be sent to an address at all. */
type Asked = { url: URL; vendor: URL; credentialless: boolean; isOpen: (hop: URL) => boolean };

/**
 * Where a request for content may be led. One without credential may go to anybody, so those whom
 * it went to must not lead it into the network that only the channel opens: at a private address it
 * may begin and stay there, but not come back or come in from elsewhere.
 */
export function checkRedirects({
  url,
  vendor,
  credentialless,
  isOpen,
}: Asked): Required<Pick<UpstreamRequest, 'privateHosts' | 'allowRedirect'>> {
  const vendorHost = canonicalHost(vendor);
  const isVendor = (target: URL) => canonicalHost(target) === vendorHost;
  const beginsThere = isVendor(url);
  let wasElsewhere = !beginsThere;
  return {
    privateHosts: credentialless && !beginsThere ? [] : [vendorHost],
    allowRedirect(hop) {
      const comesBack = wasElsewhere && beginsThere && isVendor(hop);
      wasElsewhere ||= !isVendor(hop);
      return isOpen(hop) && !(credentialless && comesBack);
    },
  };
}
