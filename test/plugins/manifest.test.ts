import { describe, expect, test } from 'bun:test';
import { err, type Json, sentence } from '../../src/kernel/index.ts';
import { checkManifest } from '../../src/plugins/manifest/check-manifest.ts';
import { createSchemaCheck } from '../../src/plugins/manifest/check-schema.ts';
import { publishMeta } from '../../src/plugins/manifest/normalize-meta.ts';
import { RULES } from '../../src/plugins/manifest/rules.ts';
import { checkVisibleNames } from '../../src/plugins/source/find-hidden-names.ts';
import type { ExportShape } from '../../src/sandbox/index.ts';
import { m as withMeta } from './manifest-table/base.ts';
import { invalid, valid } from './manifest-table/index.ts';
import { submit } from './manifest-table/routes.ts';

const checkSchema = createSchemaCheck();
/** As a plugin's module gives it: JSON. */
const check = (meta: unknown, exports: Record<string, ExportShape> = {}) => {
  const json = meta === undefined ? undefined : (JSON.parse(JSON.stringify(meta)) as Json);
  const manifest = checkManifest(json, exports, checkSchema);
  if (!manifest.ok) return manifest;
  const hidden = checkVisibleNames(manifest.value);
  return hidden.length > 0 ? err(hidden) : manifest;
};

const findFaults = (meta: unknown, exports: Record<string, ExportShape> = {}): string[] => {
  const result = check(meta, exports);
  return result.ok ? [] : result.error.map(({ path, rule }) => `${path} ${rule}`);
};

describe('a manifest is refused for exactly the rule that it breaks', () => {
  test.each(invalid)('$name', ({ meta, fault }) => {
    expect(findFaults(meta)).toEqual([fault]);
  });
});

describe('a manifest is accepted, and accepted again in its published form', () => {
  test.each(valid)('$name', ({ meta }) => {
    const first = check(meta);
    expect(first).toMatchObject({ ok: true });
    if (!first.ok) return;
    const protocols = first.value.protocols.map((claim) => ({ ...claim, writtenAs: claim.name }));
    // What the source wrote by newer names is not what is published.
    expect(check(publishMeta(first.value))).toMatchObject({
      ok: true,
      value: { ...first.value, protocols, newerNames: expect.any(Array) },
    });
  });
});

test('the table has a manifest for every rule of manifests, and each fault says what to do', () => {
  const rules = new Set(invalid.map(({ fault }) => fault.split(' ').at(-1)));
  const named = Object.keys(RULES).filter((rule) => !/^(?:export\.|source\.|strict_v1$)/.test(rule));
  expect([...rules].sort()).toEqual(named.sort());
  expect(invalid.length + valid.length).toBeGreaterThan(300);
  for (const { meta } of invalid) {
    const result = check(meta);
    for (const fault of result.ok ? [] : result.error) {
      expect(fault.message).toMatch(/\S/);
      expect(fault.hint).toMatch(/^(?:\S.*[.…]|.*\))$/u);
    }
  }
});

test('manifest bombs: long texts and endless lists are checked without delay', () => {
  const long = 'a'.repeat(1_000_000);
  const many = Array.from({ length: 100_000 }, (_, index) => `h${index}`);
  const started = process.cpuUsage();
  for (const meta of [
    {
      key: long,
      version: `1.0.0-${long}!`,
      description: `${' '.repeat(1_000_000)}\u0001`,
      icon: long,
      website: `https://${long} `,
    },
    {
      baseUrl: `https://${long}@`,
      allowedHosts: [`${long}!`, `a${'.-'.repeat(500_000)}`],
      routes: [{ ...submit, path: `/${long}!` }],
    },
    {
      description: { en: 'x', [`aa${'-bb'.repeat(300_000)}!`]: 'y' },
      routes: [{ ...submit, path: `${'/a'.repeat(500_000)}!` }],
    },
    { allowedHosts: many.map((host) => `${host}/`), models: many, channelTypes: many },
    { allowedHosts: many.map((host) => `${host}:0`), protocols: [{ name: 'proto_responses', supports: many }] },
  ]) {
    const faults = findFaults(withMeta(meta));
    expect(faults.length).toBeGreaterThan(1);
    expect(faults.length).toBeLessThanOrEqual(500);
  }
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(10_000);
});

test('every fault is reported at once', () => {
  const meta = withMeta({
    key: 'A',
    version: '1',
    models: [],
    icon: 'data:x',
    website: 'http://x',
    colour: 1,
    channelType: 3,
    routes: [{ ...submit, method: 'get', path: 'x' }],
  });
  expect(findFaults(meta).sort()).toEqual([
    '/channelType removed_name',
    '/colour unknown_property',
    '/icon icon.format',
    '/key key.format',
    '/models models.count',
    '/routes/0/method route.method.value',
    '/routes/0/path route.path.format',
    '/version version.format',
    '/website website.format',
  ]);
  const result = check(meta);
  expect(result.ok ? [] : result.error).toContainEqual({
    path: '/version',
    rule: 'version.format',
    ...sentence('fault.version_form'),
    hint: 'Three numbers such as "1.4.0", optionally with "-beta.1" or "+build".',
    hint_sentence: { reason: 'hint.version.format', params: {} },
  });
});

test('texts become maps by canonical locale, hosts and URLs their canonical form', () => {
  const result = check(
    withMeta({
      name: ' Acme ',
      models: [' acme-1 '],
      description: { EN: ' x ', 'zh-hant-tw': 'y', 'sr-LATN': 'z' },
      baseUrl: 'http://EXAMPLE.com:80/api//',
      allowedHosts: ['CDN.Example:8443', '[2001:DB8:0::1]'],
      usageSchema: { a: { enum: ['s'], enumLabels: { s: 'Small' }, description: 'Size' } },
      protocols: [{ name: 'proto_responses', supports: ['background', 'stream'] }],
    }),
  );
  expect(result).toMatchObject({
    ok: true,
    value: {
      name: 'Acme',
      models: ['acme-1'],
      description: { en: 'x', 'zh-Hant-TW': 'y', 'sr-Latn': 'z' },
      baseUrl: 'http://example.com/api',
      allowedHosts: ['cdn.example:8443', '[2001:db8::1]'],
      sortPriority: 0,
      usageSchema: {
        a: { kind: 'enum', values: ['s'], enumLabels: { s: { en: 'Small' } }, description: { en: 'Size' } },
      },
      protocols: [
        {
          name: 'proto_responses',
          writtenAs: 'proto_responses',
          supports: ['stream', 'background'],
          models: ['acme-1'],
        },
      ],
    },
  });
});

test("a bare alias of new-api's contract takes its modes from the exported hooks", () => {
  const fn: ExportShape = { type: 'function' };
  const exports: Record<string, ExportShape> = {
    protocols: {
      type: 'object',
      members: { openai_responses: { type: 'object', members: { decodeRequest: fn, renderFinal: fn } } },
    },
  };
  const result = check(withMeta({ protocols: ['openai_responses', 'openai_video'] }), exports);
  expect(result).toMatchObject({
    ok: true,
    value: {
      protocols: [
        { name: 'proto_responses', writtenAs: 'openai_responses', supports: ['sync', 'background'] },
        { name: 'proto_video', writtenAs: 'openai_video', supports: [] },
      ],
    },
  });
});
