import type { Channels } from '../../channels/index.ts';
import { allowsHost } from '../../plugins/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { Upstream, UpstreamRequest } from '../../upstream/index.ts';
import type { SendToVendor } from '../types.ts';

/** Sends each request of a channel the way that the channel names, with its headers. */
export const createSendToVendor =
  ({ upstream, channels }: { upstream: Upstream; channels: Pick<Channels, 'network'> }): SendToVendor =>
  (channel, request) => {
    const { proxy, headers } = channels.network(channel);
    return upstream.request({
      ...request,
      ...(proxy === undefined ? {} : { proxy }),
      headers: takesHeaders(headers, { channel, request }) ? addHeaders(request.headers, headers) : request.headers,
    });
  };

/** Their values are secret like the key: they never leave without TLS where the channel has it. */
function takesHeaders(
  headers: Readonly<Record<string, string>>,
  { channel, request }: { channel: ChannelRecord; request: UpstreamRequest },
): boolean {
  if (Object.keys(headers).length === 0) return false;
  const url = URL.parse(request.url);
  return url !== null && allowsHost({ allowedHosts: [] }, channel.baseUrl, url);
}

/** Adds headers; a header that the request has itself stays. */
function addHeaders(
  own: UpstreamRequest['headers'],
  added: Readonly<Record<string, string>>,
): UpstreamRequest['headers'] {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const missing = Object.entries(added).filter(([name]) => !names.has(name.toLowerCase()));
  return missing.length === 0 ? own : { ...own, ...Object.fromEntries(missing) };
}
