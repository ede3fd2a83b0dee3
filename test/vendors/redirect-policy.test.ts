import { describe, expect, test } from 'bun:test';
import { createRedirectPolicy } from '../../src/vendors/content/redirect-policy.ts';

const VENDOR = 'http://10.0.0.5:8080';
const CDN = 'https://cdn.example';
const OTHER = 'https://other.example';

describe('server-side request forgery: where content requests may be redirected', () => {
  test.each<[string, { from: string; credentialless: boolean; hops: string[] }, { opens: boolean; led: boolean[] }]>([
    [
      'without credential, from elsewhere',
      { from: CDN, credentialless: true, hops: [OTHER] },
      { opens: false, led: [true] },
    ],
    // The address filter then refuses the channel's host if it is private.
    [
      'to the channel, from elsewhere',
      { from: CDN, credentialless: true, hops: [VENDOR] },
      { opens: false, led: [true] },
    ],
    [
      'within the channel',
      { from: VENDOR, credentialless: true, hops: [VENDOR, VENDOR] },
      { opens: true, led: [true, true] },
    ],
    ['away and back', { from: VENDOR, credentialless: true, hops: [CDN, VENDOR] }, { opens: true, led: [true, false] }],
    ['away and on', { from: VENDOR, credentialless: true, hops: [CDN, OTHER] }, { opens: true, led: [true, true] }],
    [
      'with credential',
      { from: VENDOR, credentialless: false, hops: [CDN, VENDOR] },
      { opens: true, led: [true, true] },
    ],
    [
      'with credential, from another host',
      { from: CDN, credentialless: false, hops: [VENDOR] },
      { opens: true, led: [true] },
    ],
    [
      'what is closed',
      { from: CDN, credentialless: true, hops: ['https://closed.example'] },
      { opens: false, led: [false] },
    ],
  ])('%s', (_name, { from, credentialless, hops }, { opens, led }) => {
    const { privateHosts, allowRedirect } = createRedirectPolicy({
      url: new URL(`${from}/file`),
      vendor: new URL(`${VENDOR}/v1`),
      credentialless,
      isAllowed: ({ hostname }) => hostname !== 'closed.example',
    });
    expect(privateHosts).toEqual(opens ? ['10.0.0.5:8080'] : []);
    expect(hops.map((hop) => allowRedirect(new URL(hop)))).toEqual(led);
  });
});
