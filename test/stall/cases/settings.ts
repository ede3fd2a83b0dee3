import { assertKeyAllows } from '../../../src/auth/api-keys/key-restrictions.ts';
import { validateApiKeyFields } from '../../../src/auth/api-keys/validate-api-key.ts';
import type { DecidingIp } from '../../../src/auth/principals.ts';
import { checkMapping, checkNames } from '../../../src/channels/check-channel.ts';
import { BODY_LIMITS } from '../../../src/http/bodies/body-limits.ts';
import { ok } from '../../../src/kernel/index.ts';
import { OPTION_KEYS, ruleFor } from '../../../src/settings/catalogue/option-catalogue.ts';
import type { ApiKeyRecord, UserRecord } from '../../../src/store/ports/index.ts';
import { createServiceAccountTokens, type Upstream } from '../../../src/upstream/index.ts';
import { fill, stallCase } from '../measure-block.ts';

const KIB = 1024;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const listFor = (size: number, make: (index: number) => string): string[] => {
  const entries: string[] = [];
  for (let bytes = 0, i = 0; bytes < size; i += 1) bytes += entries[entries.push(make(i)) - 1]?.length ?? 0;
  return entries;
};

const lists = (size: number): Record<string, string> => ({
  commas: fill(',', size),
  'spaces between commas': fill(' ,', size),
  addresses: fill('10.0.0.1,', size, { before: '', after: '::1' }),
  ranges: fill('10.0.0.0/8,', size, { before: '', after: '::1/64' }),
  'mapped addresses': fill('::ffff:10.0.0.1,', size, { before: '', after: '::1' }),
  names: fill('a.b,', size, { before: '', after: 'a' }),
  origins: fill('https://a.b,', size, { before: '', after: 'https://a' }),
  'one name of labels': fill('a.', size),
  'one name of hyphens': fill('-', size, { before: 'a', after: 'a' }),
  colons: fill(':', size),
  slashes: fill('/', size, { before: 'http://a', after: 'b' }),
  spaces: fill(' ', size, { before: 'a', after: 'b' }),
});

const asKey = (fields: { models?: string[]; allow_ips?: string[] }) =>
  validateApiKeyFields(fields, { role: 1, group: 'default' } as UserRecord, {
    checkWebhookUrl: (url) => ok(new URL(url)),
  });

/** Made-up service accounts: only the response and the JSON of the key matter. */
const exchange = async (key: string, text: string) => {
  const upstream = {
    request: async () => ok({ status: 400, headers: {}, text: async () => ok(text) }),
  } as unknown as Upstream;
  const clock = { nowMs: () => 0 } as Parameters<typeof createServiceAccountTokens>[0]['clock'];
  return createServiceAccountTokens({ upstream, clock }).get(key, 'https://vendor.example');
};
const { privateKey } = await crypto.subtle.generateKey(
  { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
  true,
  ['sign', 'verify'],
);
const pkcs8 = Buffer.from((await crypto.subtle.exportKey('pkcs8', privateKey)) as ArrayBuffer).toString('base64');
const ACCOUNT = JSON.stringify({
  client_email: 'a@example.com',
  private_key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----`,
});

export const settingCases = [
  stallCase({
    name: 'value of any option',
    limit: BODY_LIMITS.options.maxBytes,
    worst: (size) => ({
      ...lists(size),
      'names of groups': `{${listFor(size / 2, (i) => `"group${i}":1`).join()}}`,
      'pairs of limits': `{${listFor(size / 2, (i) => `"group${i}":[1,1]`).join()}}`,
      'empty lists': fill('[],', size, { before: '[', after: '[]]' }),
      'empty objects': fill('{},', size, { before: '{"a":[', after: '{}]}' }),
      brackets: fill('[', size),
      'escaped names': fill('"\\n":1,', size, { before: '{', after: '"a":1}' }),
      markup: fill('<a href="">', size),
      'links in Markdown': fill('[a](', size),
      emphasis: fill('*a ', size),
      digits: fill('9', size),
      'line ends': fill('\n', size),
    }),
    async call(value: string) {
      for (const key of OPTION_KEYS) {
        ruleFor(key).check(value);
        await turn();
      }
    },
    limitedBy: 'the body that options come in',
  }),
  stallCase({
    name: 'models and addresses of an API key',
    limit: BODY_LIMITS.usual.maxBytes,
    worst: (size) => ({
      'empty addresses': { allow_ips: listFor(size, () => '  ') },
      'all of them addresses': { allow_ips: listFor(size, (i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`) },
      'all of them ranges': { allow_ips: listFor(size, (i) => `2001:db8:${i.toString(16)}::/48`) },
      'one long address': { allow_ips: [fill('1:', size)] },
      'long names': { models: listFor(size, (i) => `${i}${'a'.repeat(180)}`) },
      'spaces around a name': { models: [fill(' ', size, { before: 'a', after: 'b' })] },
      'short names': { models: listFor(size, (i) => i.toString(36)) },
    }),
    call: asKey,
    limitedBy: 'the body that they come in',
  }),
  stallCase({
    name: 'address against the list of an API key',
    limit: 500,
    worst: (size) => ({
      ranges: Array.from({ length: size }, (_, i) => `2001:db8:${i.toString(16)}:ffff:ffff:ffff:10.0.0.1/128`),
      addresses: Array.from({ length: size }, (_, i) => `::ffff:10.0.${i >> 8}.${i & 255}`),
    }),
    call: (allowIps: string[]) =>
      assertKeyAllows({ key: { allowIps, models: [] } as unknown as ApiKeyRecord, ip: '2001:db8::1' as DecidingIp }),
    limitedBy: 'the number of entries of a list',
  }),
  stallCase({
    name: 'models and mapping of a channel',
    limit: BODY_LIMITS.configuration.maxBytes,
    worst: (size) => ({
      chain: listFor(size / 2, (i) => `m${i}`),
      'names of hidden characters': listFor(size, (i) => `${i}${'\u200b'.repeat(190)}`),
      'names of spaces': listFor(size, (i) => `${i}${' '.repeat(180)}a`),
      'tags without end': listFor(size, (i) => `${i}${'\u{e0041}'.repeat(90)}`),
    }),
    async call(names: string[]) {
      const mapping = Object.fromEntries(names.map((name, i) => [name, `m${i + 1}`]));
      await turn();
      for (const check of [() => checkNames('models', names.slice(0, 1000)), () => checkMapping(mapping)]) {
        try {
          check();
        } catch {
          // Continue with the next one.
        }
        await turn();
      }
    },
    limitedBy: 'the body that they come in',
  }),
  stallCase({
    name: 'key of a service account',
    limit: 16 * KIB,
    worst: (size) => ({
      'private key': JSON.stringify({ client_email: 'a', private_key: fill('-', size - 60) }),
      'private key of lines': JSON.stringify({ client_email: 'a', private_key: fill('\n', size / 2 - 60) }),
      'address of its server': JSON.stringify({
        client_email: 'a',
        private_key: 'b',
        token_uri: fill('/', size - 90, { before: 'https://a' }),
      }),
      'empty objects': fill('{},', size, { before: '{"x":[', after: '{}]}' }),
    }),
    call: (key: string) => exchange(key, ''),
    limitedBy: 'the length of a channel’s key',
  }),
  stallCase({
    name: 'answer of a token server',
    limit: 512 * KIB,
    worst: (size) => ({
      'reason of controls': JSON.stringify({ error: fill('\u0001', size / 6 - 20) }),
      'reason of spaces': JSON.stringify({ error_description: fill(' ', size - 40) }),
      'many names': `{${listFor(size / 2, (i) => `"name${i}":0`).join()}}`,
      'empty objects': fill('{},', size, { before: '{"x":[', after: '{}]}' }),
      brackets: fill('[', size),
    }),
    call: (text: string) => exchange(ACCOUNT, text),
    limitedBy: 'the size of a provider’s answer',
  }),
];
