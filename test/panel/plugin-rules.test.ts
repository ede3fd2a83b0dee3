/** What the gateway says about faulty plugins, in every language of the panel. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRuleTextFaults, listLanguages, readRuleTexts, readTexts } from '../../scripts/check-texts.ts';
import { root } from '../../scripts/hash-inputs.ts';
import type { Json } from '../../src/kernel/index.ts';
import { reasons } from '../../src/kernel/reasons/index.ts';
import { translateSentence } from '../../src/panel/api/translate-sentence.ts';
import { checkManifest } from '../../src/plugins/manifest/check-manifest.ts';
import { createSchemaCheck } from '../../src/plugins/manifest/check-schema.ts';
import { checkVisibleNames } from '../../src/plugins/source/find-hidden-names.ts';
import { describeFailure } from '../../src/plugins/worker/compile-plugin.ts';
import { invalid } from '../plugins/manifest-table/index.ts';
import { speak } from './speak.ts';

const checkSchema = createSchemaCheck();

/** What is said about a manifest for each rule that one can break. */
const faults = invalid.flatMap(({ meta }) => {
  const json = meta === undefined ? undefined : (JSON.parse(JSON.stringify(meta)) as Json);
  const manifest = checkManifest(json, {}, checkSchema);
  return manifest.ok ? checkVisibleNames(manifest.value) : manifest.error;
});
const others = listLanguages().filter((language) => language !== 'en');

test.each(others)('%s has no rule that is not said, and each with its values', (language) => {
  expect(findRuleTextFaults(language)).toEqual([]);
});

test('each reason of the contract’s schema is in the catalogue', () => {
  const schema = readFileSync(join(root, 'contracts/v1.schema.json'), 'utf8');
  const named = [...schema.matchAll(/"x-reason": "([^"]*)"/g)].map(([, reason]) => reason ?? '');
  expect(named.filter((reason) => !Object.hasOwn(reasons, reason))).toEqual([]);
  expect(named.length).toBeGreaterThan(20);
});

test('each fault of a manifest, and its hint, has a reason', () => {
  const isKnown = (reason: string | undefined) => reason !== undefined && Object.hasOwn(reasons, reason);
  expect(faults.filter(({ reason }) => !isKnown(reason))).toEqual([]);
  expect(faults.filter(({ hint, hint_sentence: said }) => hint !== undefined && !isKnown(said?.reason))).toEqual([]);
  expect(new Set(faults.map(({ message }) => message)).size).toBeGreaterThan(60);
});

test('the status of a stored plugin has all faults in one line, and the reason of the first', () => {
  const said = describeFailure({
    kind: 'faults',
    faults: [
      { path: 'source', rule: 'source.require', message: 'require() is not allowed', line: 3 },
      { path: '', rule: 'manifest.type', message: 'meta must be an object' },
    ],
  });
  expect(said).toMatchObject({
    message: 'source line 3: require() is not allowed; meta: meta must be an object',
    reason: 'plugins.faults',
    params: { place: 'source:3', fault: { message: 'require() is not allowed', reason: 'plugin' }, count: 1 },
  });
});

describe.each(others)('in %s', (language) => {
  test('a manifest that breaks a rule is explained without English', async () => {
    const t = await speak(language, { ...readTexts(language), ...readRuleTexts(language) });
    const english = faults.filter((fault) => translateSentence(fault, t) === fault.message);
    expect(english).toEqual([]);
  });

  test('what is code in a rule is code here, too', () => {
    const readCode = (text = ''): string[] => (text.match(/`[^`]+`/g) ?? []).toSorted();
    const english: Readonly<Record<string, string>> = reasons;
    for (const [name, text] of Object.entries(readRuleTexts(language)))
      expect(readCode(text), name).toEqual(readCode(english[name.replace('reason.', '')]));
  });

  test('no rule keeps words of the English one', () => {
    for (const [name, text] of Object.entries(readRuleTexts(language))) {
      const prose = text.replaceAll(/\{\{\w+(?:, \w+)?\}\}|[{[(][^}\])]*[}\])]|["“„«「][^"”“»」]*["”“»」]/g, '');
      expect(prose, name).not.toMatch(/\b(?:the|must|write|with|without|cannot|leave|name each|add|is|are|not)\b/i);
    }
  });
});
