import type { Channels } from '../../channels/index.ts';
import { canonicalHost, type Upstream, type UpstreamRequest } from '../../upstream/index.ts';
import type { SendToVendor } from '../types.ts';

/** Sends each request of a channel the way that the channel names, with its headers. */
export const createSendToVendor =
  ({ upstream, channels }: { upstream: Upstream; channels: Pick<Channels, 'network'> }): SendToVendor =>
  (channel, request) => {
    const { proxy, headers } = channels.network(channel);
    const isOwnHost = URL.parse(request.url)?.host === canonicalHost(new URL(channel.baseUrl));
    return upstream.request({
      ...request,
      ...(proxy === undefined ? {} : { proxy }),
      headers: isOwnHost ? addHeaders(request.headers, headers) : request.headers,
    });
  };

/** What a request says itself is never overridden. */
function addHeaders(
  own: UpstreamRequest['headers'],
  added: Readonly<Record<string, string>>,
): UpstreamRequest['headers'] {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const missing = Object.entries(added).filter(([name]) => !names.has(name.toLowerCase()));
  return missing.length === 0 ? own : { ...own, ...Object.fromEntries(missing) };
}
