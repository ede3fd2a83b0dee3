import { addressKey } from '../../../src/auth/limits/limit-requests.ts';
import { MAX_ADDRESS, readMailAddress } from '../../../src/auth/mail/mail-address.ts';
import { toWellKnownUrl } from '../../../src/auth/oauth/check-issuer.ts';
import { discover } from '../../../src/auth/oauth/discover.ts';
import type { DecidingIp } from '../../../src/auth/principals.ts';
import { checkBaseUrl, MAX_TYPED_BASE_URL } from '../../../src/channels/check-channel.ts';
import { ok } from '../../../src/kernel/index.ts';
import { normalizeAllowedHost, normalizeBaseUrl } from '../../../src/plugins/manifest/addresses.ts';
import { indexLocation } from '../../../src/plugins/marketplace/fetch-file.ts';
import { withoutSlash } from '../../../src/settings/public-address.ts';
import { MAX_PROVIDER_ANSWER_BYTES } from '../../../src/upstream/provider-requests.ts';
import { pointsToSelf } from '../../../src/vendors/content/redirect-policy.ts';
import { fill, stallCase } from '../measure-block.ts';

const KIB = 1024;

/** Slashes before another character: `/\/+$/` would take minutes. */
const urls = (size: number): Record<string, string> => ({
  'slashes that do not end it': fill('/', size, { before: 'http://a', after: 'b' }),
  'trailing slashes': fill('/', size, { before: 'http://a' }),
  'credentials without end': fill('@', size, { before: 'http://' }),
  'host of dots': fill('.', size, { before: 'http://' }),
  'host of labels': fill('a.', size, { before: 'http://' }),
  escapes: fill('%2f', size, { before: 'http://a/' }),
  'parent folders': fill('../', size, { before: 'http://a/' }),
  ports: fill(':1', size, { before: 'http://a' }),
  brackets: fill('[', size, { before: 'http://' }),
});

const answered = (text: string) => async () => ok({ status: 200, contentType: 'application/json', text });
const WELL_KNOWN = 'http://a/.well-known/openid-configuration';

export const addressCases = [
  stallCase({
    name: 'base URL of a channel',
    limit: MAX_TYPED_BASE_URL,
    worst: urls,
    call: checkBaseUrl,
    refuses: (answer) => answer instanceof Error && answer.message.includes('at most'),
  }),
  stallCase({
    name: 'base URL of a manifest or a marketplace',
    limit: 512 * KIB,
    worst: urls,
    call: normalizeBaseUrl,
    limitedBy: 'the size of the manifest or the index that it stands in',
  }),
  stallCase({
    name: 'allowed host of a manifest or a marketplace',
    limit: 512 * KIB,
    worst: (size) => ({ ...urls(size), brackets: fill('[', size), labels: fill('a.', size), ports: fill(':1', size) }),
    call: normalizeAllowedHost,
    limitedBy: 'the size of the manifest or the index that it stands in',
  }),
  stallCase({
    name: 'address of the gateway',
    limit: 512 * KIB,
    worst: urls,
    call: withoutSlash,
    limitedBy: 'the rule of the option',
  }),
  stallCase({
    name: 'issuer of an identity provider',
    limit: 512 * KIB,
    worst: urls,
    call: toWellKnownUrl,
    limitedBy: 'the provider’s fields',
  }),
  stallCase({
    name: 'location of a marketplace',
    limit: 512 * KIB,
    worst: (size) => ({
      folder: fill('/', size, { before: 'file:///a', after: 'b' }),
      slashes: fill('/', size, { before: 'file:///a' }),
    }),
    call: (indexUrl: string) => indexLocation({ name: '', indexUrl }),
    limitedBy: 'the rule of the option',
  }),
  stallCase({
    name: 'address that a download leads to',
    limit: 512 * KIB,
    worst: urls,
    call: (text: string) => pointsToSelf(['http://a/b', text], new URL(fill('/', 512 * KIB, { before: 'http://a' }))),
    limitedBy: 'the rule for addresses of requests',
  }),
  stallCase({
    name: 'discovery document',
    limit: MAX_PROVIDER_ANSWER_BYTES,
    worst: (size) => ({
      'issuer of slashes': JSON.stringify({ issuer: fill('/', size - 20, { before: 'http://a', after: 'b' }) }),
      'endpoint of slashes': JSON.stringify({
        issuer: 'http://a',
        token_endpoint: fill('/', size - 60, { before: 'http://a' }),
      }),
      'many methods': fill('"a",', size, { before: '{"issuer":"http://a","scopes_supported":[', after: '""]}' }),
      'empty objects': fill('{},', size, { before: '{"issuer":[', after: '0]}' }),
      'many names': `{${Array.from({ length: size / 14 }, (_, i) => `"name${i}":0`).join(',')}}`,
      nesting: fill('[', size),
    }),
    call: (text: string) => discover(WELL_KNOWN, answered(text)),
    limitedBy: 'the size of a provider’s answer',
  }),
  stallCase({
    name: 'email address',
    limit: MAX_ADDRESS,
    worst: (size) => ({
      'dots in the name': fill('a.', size, { before: '', after: '@' }),
      'dots in the host': fill('a.', size, { before: 'a@' }),
      hyphens: fill('-', size, { before: 'a@a', after: '.a' }),
      signs: fill('@', size),
    }),
    call: (text: string) => readMailAddress(text),
    refuses: (answer) => answer === undefined,
  }),
  stallCase({
    name: 'address by which limits count',
    limit: 16 * KIB,
    worst: (size) => ({
      colons: fill(':', size),
      groups: fill('ffff:', size),
      numbers: fill('1.', size),
      zeros: fill('0', size),
      zones: fill('a', size, { before: '::1%' }),
    }),
    call: (ip: string) => addressKey(ip as DecidingIp),
    limitedBy: 'the size of a request’s headers',
  }),
];
