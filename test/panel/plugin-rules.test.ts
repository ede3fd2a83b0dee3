/** What the gateway says about faulty plugins, in every language of the panel. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRuleTextFaults, listLanguages, readRuleTexts } from '../../scripts/check-texts.ts';
import { root } from '../../scripts/hash-inputs.ts';
import { listSentences } from '../../scripts/list-sentences.ts';
import type { Json } from '../../src/kernel/index.ts';
import { createSentenceFinder } from '../../src/panel/api/recognize-sentence.ts';
import { createRuleSpeaker, readPlacedFaults } from '../../src/panel/pages/plugins/say-plugin-rule.ts';
import { checkManifest } from '../../src/plugins/manifest/check-manifest.ts';
import { createSchemaCheck } from '../../src/plugins/manifest/check-schema.ts';
import {
  hintForMissing,
  REMOVED_EXPORTS,
  REMOVED_NAMES,
  REMOVED_ROUTE_NAMES,
  RULES,
} from '../../src/plugins/manifest/rules.ts';
import { checkVisibleNames } from '../../src/plugins/source/find-hidden-names.ts';
import { describeFailure } from '../../src/plugins/worker/compile-plugin.ts';
import { invalid } from '../plugins/manifest-table/index.ts';

const english = readRuleTexts('en');
const find = createSentenceFinder(english);
const checkSchema = createSchemaCheck();

/** What is said about a manifest for each rule that one can break. */
const said = new Set(
  invalid.flatMap(({ meta }) => {
    const json = meta === undefined ? undefined : (JSON.parse(JSON.stringify(meta)) as Json);
    const manifest = checkManifest(json, {}, checkSchema);
    const faults = manifest.ok ? checkVisibleNames(manifest.value) : manifest.error;
    return faults.flatMap(({ message, hint }) => (hint === undefined ? [message] : [message, hint]));
  }),
);
const others = listLanguages().filter((language) => language !== 'en');

/** Where the rules are whose messages authors read in the panel. */
const SOURCES = [
  'src/plugins/{manifest,source,hooks}/*.ts',
  'src/plugins/icons/check-{icon,svg}.ts',
  'src/plugins/{market-index/read-index,marketplace/compare-entry}.ts',
];

test.each(listLanguages())('%s has each rule with its values', (language) => {
  expect(findRuleTextFaults(language)).toEqual([]);
});

test('each hint of a rule is known', () => {
  const subjects = ['manifest', 'author', 'protocol', 'route', 'usageField', 'usageExample', 'usageExamples.token'];
  const properties = [
    ...['apiVersion', 'key', 'name', 'version', 'author', 'models', 'fetchMode', 'usageExamples', 'supports'],
    ...['method', 'path', 'type', 'render', 'decode', 'unit', 'label', 'facts', 'anything'],
  ];
  const hints = [
    ...Object.values(RULES).filter((hint) => hint !== null),
    ...[REMOVED_EXPORTS, REMOVED_NAMES, REMOVED_ROUTE_NAMES].flatMap((names) => Object.values(names)),
    ...subjects.flatMap((subject) => properties.map((property) => hintForMissing(subject, property))),
  ];
  expect(hints.filter((hint) => hint !== undefined && find(hint) === null)).toEqual([]);
  expect(hints.length).toBeGreaterThan(200);
});

test('each message of the contract’s schema is known', () => {
  const schema = readFileSync(join(root, 'contracts/v1.schema.json'), 'utf8');
  const messages = [...schema.matchAll(/"x-message": ("(?:[^"\\]|\\.)*")/g)].map(([, text]) => JSON.parse(text ?? ''));
  expect(messages.filter((message) => find(message) === null)).toEqual([]);
  expect(messages.length).toBeGreaterThan(20);
});

/** Pieces of messages that are known as a whole, and sentences that have a text elsewhere. */
const PIECES = new Set([
  'The model * is not served by this plugin.',
  'The earlier tasks to build on must be a list of at most * task ids,',
  'each of 1 to * characters.',
  'The index is not JSON.',
  'The index is not a JSON object.',
  'The index must have indexVersion *: this gateway supports no other.',
  'The index has no list of plugins.',
  'is made for a newer contract (needs *)',
  'newer manifest fields',
  'needs a text named refusal',
  'needs a text named text',
  'needs the lists annotations and logprobs',
  'a text or a list',
  'true or false',
  'a number from 0 to 2',
  'a text or an object',
  'a number from 0 to 1',
  '* must be *',
  'is an async function',
  '*; it must be a plain function',
  'is not a function',
  'is exported under two names: *',
  'must have at least * *',
  'must not refer to anything outside itself',
  'script foreignobject a handler listener iframe frame object embed audio video canvas form base link meta',
  'is not a valid path',
  'is on another origin than the index',
  // A line of a diff.
  '\\ No newline at end of file',
]);

test('each message in the source is known', () => {
  const files = SOURCES.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)]).filter(
    (file) => !/\/rules\.ts$|removed-names/.test(file),
  );
  const unknown = files
    .flatMap((file) => listSentences(file))
    .filter(({ text }) => !PIECES.has(text.trim()) && find(text.trim().replaceAll('*', '7')) === null)
    .map(({ file, text }) => `${file}: ${text}`);
  expect(unknown).toEqual([]);
  expect(files.length).toBeGreaterThan(25);
});

test('the status of a stored plugin has its faults in one line', () => {
  const faults = [
    { path: '/key', rule: 'key.type', message: 'must be string' },
    { path: 'exports/extractUsage', rule: 'export.function', message: 'is a class; it must be a plain function' },
    { path: 'source', rule: 'source.require', message: 'require() is not allowed', line: 3 },
    { path: '', rule: 'manifest.type', message: 'meta must be an object' },
  ];
  expect(readPlacedFaults(describeFailure({ kind: 'faults', faults }))).toEqual([
    { place: '/key', message: 'must be string' },
    { place: 'exports/extractUsage', message: 'is a class; it must be a plain function' },
    { place: 'source:3', message: 'require() is not allowed' },
    { place: 'meta', message: 'meta must be an object' },
  ]);
  expect(readPlacedFaults('its source is not stored')).toBeNull();
});

describe.each(others)('in %s', (language) => {
  const say = createRuleSpeaker(english, readRuleTexts(language));

  test('a manifest that breaks a rule is explained without English', () => {
    const unsaid = [...said].filter((sentence) => say(sentence) === null);
    expect(unsaid).toEqual([]);
    expect(said.size).toBeGreaterThan(100);
  });

  test('no rule keeps words of the English one', () => {
    for (const [name, text] of Object.entries(readRuleTexts(language))) {
      const prose = text.replaceAll(/\{\{\w+\}\}|[{[(][^}\])]*[}\])]|["“„«「][^"”“»」]*["”“»」]/g, '');
      expect(prose, name).not.toMatch(/\b(?:the|must|write|with|without|cannot|leave|name each|add|is|are|not)\b/i);
    }
  });

  test('what a parser says stays as it is', () => {
    expect(say('Unexpected token')).toBeNull();
  });
});
