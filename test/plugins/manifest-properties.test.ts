import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { err, type Json } from '../../src/kernel/index.ts';
import { checkManifest } from '../../src/plugins/manifest/check-manifest.ts';
import { createSchemaCheck } from '../../src/plugins/manifest/check-schema.ts';
import { publishMeta } from '../../src/plugins/manifest/normalize-meta.ts';
import { checkVisibleNames } from '../../src/plugins/source/find-hidden-names.ts';
import { rounds } from '../support/full-run.ts';
import { baseMeta } from './manifest-table/base.ts';
import { validMeta, withChange } from './manifest-table/generate.ts';
import { invalid } from './manifest-table/index.ts';

/** The same manifests in every run; a failure prints seed and path. */
const SEED = { seed: 20_261_121 };

const checkSchema = createSchemaCheck();
/** As a new plugin is checked: by every rule, and by its names once it keeps those. */
const check = (meta: unknown) => {
  const manifest = checkManifest(JSON.parse(JSON.stringify(meta ?? null)) as Json, {}, checkSchema);
  if (!manifest.ok) return manifest;
  const hidden = checkVisibleNames(manifest.value);
  return hidden.length > 0 ? err(hidden) : manifest;
};

const mutations = invalid.filter(({ meta }) => typeof meta === 'object' && meta !== null && !Array.isArray(meta));

describe('manifests made at random', () => {
  test('a valid manifest is accepted, also by the schema alone', () => {
    fc.assert(
      fc.property(validMeta, (meta) => {
        expect(check(meta)).toMatchObject({ ok: true });
      }),
      { ...SEED, numRuns: rounds(400) },
    );
  });

  test('normalizing twice changes nothing', () => {
    fc.assert(
      fc.property(validMeta, (meta) => {
        const once = check(meta);
        if (!once.ok) throw new Error(JSON.stringify(once.error));
        const published = publishMeta(once.value);
        const twice = check(published);
        if (!twice.ok) throw new Error(JSON.stringify(twice.error));
        expect(publishMeta(twice.value)).toEqual(published);
        const protocols = once.value.protocols.map((claim) => ({ ...claim, writtenAs: claim.name }));
        // What the source wrote by newer names is not what is published.
        const { newerNames } = twice.value;
        expect(twice.value).toEqual({ ...once.value, protocols, newerNames });
      }),
      { ...SEED, numRuns: rounds(300) },
    );
  });

  test('any one change that breaks a rule is refused for that rule at that place, and for nothing else', () => {
    fc.assert(
      fc.property(validMeta, fc.constantFrom(...mutations), (valid, { meta, fault }) => {
        const changed = check(withChange(valid, meta as object));
        expect(changed.ok ? [] : changed.error.map(({ path, rule }) => `${path} ${rule}`)).toEqual([fault]);
      }),
      { ...SEED, numRuns: rounds(1500) },
    );
  });

  test('two changes in different parts are both reported', () => {
    const simple = mutations.filter(({ fault }) =>
      /^\/(?:key|icon|version|website|baseUrl|fetchMode|colour)\b/.test(fault),
    );
    fc.assert(
      fc.property(validMeta, fc.constantFrom(...simple), fc.constantFrom(...simple), (valid, one, two) => {
        fc.pre(one.fault.split(' ')[0] !== two.fault.split(' ')[0]);
        const changed = check(withChange(withChange(valid, one.meta as object), two.meta as object));
        const found = changed.ok ? [] : changed.error.map(({ path, rule }) => `${path} ${rule}`);
        expect(found.sort()).toEqual([one.fault, two.fault].sort());
      }),
      { ...SEED, numRuns: rounds(300) },
    );
  });
});

describe('whatever a module exports as meta', () => {
  const names = [
    ...Object.keys(baseMeta),
    ...['icon', 'description', 'sortPriority', 'website', 'baseUrl', 'allowedHosts', 'channelTypes', 'protocols'],
    ...['routes', 'usageSchema', 'usageExamples', 'auth', 'endpoints', '__proto__', 'enum', 'type', 'unit', 'path'],
    ...['method', 'models', 'supports', 'facts', 'label', 'en', 'EN', 'enumLabels', 'url', 'name', 'taskIdParam'],
  ];
  const leaf = fc.oneof(
    fc.constantFrom<Json>(null, true, '', 'proto_video', 'proto_responses', 'query', 'GET', '/a/:b', 1, -1),
    fc.jsonValue(),
  );
  const { tree } = fc.letrec<{ tree: Json; leaf: Json }>((tie) => ({
    leaf: leaf as fc.Arbitrary<Json>,
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      tie('leaf'),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom(...names), tie('tree'), { maxKeys: 6 }),
    ) as fc.Arbitrary<Json>,
  }));

  const isJudged = (meta: unknown): void => {
    const before = process.cpuUsage();
    const result = check(meta);
    if (!result.ok) {
      expect(result.error.length).toBeGreaterThan(0);
      expect(new Set(result.error.map(({ path, rule }) => `${path} ${rule}`)).size).toBe(result.error.length);
    }
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
  };

  test('the checker ends soon, never throws, and reports nothing twice', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), isJudged), { ...SEED, numRuns: rounds(300) });
    fc.assert(fc.property(tree, isJudged), { ...SEED, numRuns: rounds(600) });
  });

  test('an arbitrary value in one part affects no other part', () => {
    fc.assert(
      fc.property(validMeta, fc.constantFrom(...names), tree, (valid, name, value) =>
        isJudged({ ...valid, [name]: value }),
      ),
      { ...SEED, numRuns: rounds(800) },
    );
  });
});
