import { describe, expect, test } from 'bun:test';
import { ok } from '../../src/kernel/index.ts';
import type { ChannelRecord } from '../../src/store/ports/index.ts';
import type { UpstreamRequest, UpstreamResponse } from '../../src/upstream/index.ts';
import { createSendToVendor } from '../../src/vendors/index.ts';

const HEADERS = { 'X-Access-Secret': 'of the operator' };

/** The headers with which a request to `url` leaves, of a channel at `baseUrl`. */
async function sentTo(url: string, baseUrl: string): Promise<UpstreamRequest['headers']> {
  let sent: UpstreamRequest | undefined;
  const send = createSendToVendor({
    channels: { network: () => ({ proxy: undefined, headers: HEADERS, secrets: [] }) },
    upstream: {
      async request(request) {
        sent = request;
        return ok({} as UpstreamResponse);
      },
      close: async () => {},
    },
  });
  const request = { method: 'GET', headers: {}, body: { kind: 'none' }, privateHosts: [], maxRedirects: 0 };
  await send({ baseUrl } as ChannelRecord, { ...request, url } as unknown as UpstreamRequest);
  return sent?.headers ?? {};
}

describe("a channel's secret headers", () => {
  test.each([
    ['https://vendor.example/v1/jobs', 'https://vendor.example/v1'],
    ['https://vendor.example:443/other', 'https://vendor.example'],
    ['http://10.0.0.5:8188/view', 'http://10.0.0.5:8188'],
    ['https://vendor.example/file', 'http://vendor.example'],
  ])('go to %s of a channel at %s', async (url, baseUrl) => {
    expect(await sentTo(url, baseUrl)).toEqual(HEADERS);
  });

  test.each([
    ['http://vendor.example/result.mp4', 'https://vendor.example'],
    ['http://vendor.example:443/result.mp4', 'https://vendor.example'],
    ['https://vendor.example:8443/x', 'https://vendor.example'],
    ['https://vendor.example.evil.test/x', 'https://vendor.example'],
    ['https://cdn.vendor.example/x', 'https://vendor.example'],
  ])('downgrade: a link of the vendor to %s has none of a channel at %s', async (url, baseUrl) => {
    expect(await sentTo(url, baseUrl)).toEqual({});
  });
});
