import { parseJson, type Sentence } from '../../../src/kernel/index.ts';
import { MAX_ICON_BYTES } from '../../../src/plugins/icons/check-icon.ts';
import { MARKET_FILE_BYTES } from '../../../src/plugins/marketplace/fetch-file.ts';
import {
  followHandOvers,
  MAX_HAND_OVER_BYTES,
  readHandOvers,
  signHandOver,
  writeHandOvers,
} from '../../../src/plugins/signing/rotate-signing-key.ts';
import { MAX_SIGNATURE_BYTES, readSignature } from '../../../src/plugins/signing/signature.ts';
import { generateSigningKey } from '../../../src/plugins/signing/signing-keys.ts';
import { MAX_SOURCE_BYTES } from '../../../src/plugins/source/check-source.ts';
import { createCompiler } from '../../../src/plugins/worker/compile-plugin.ts';
import { createPluginWorker } from '../../../src/plugins/worker/create-worker.ts';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { MAX_INSPECT_BYTES } from '../../../src/sandbox/pool/create-sandbox.ts';
import { startSandbox } from '../../sandbox/start-sandbox.ts';
import { fill, stallCase } from '../measure-block.ts';

let sandbox: Sandbox | undefined;
// The long work runs in another thread: the loop only hands it over and receives the result.
const worker = createPluginWorker();
const svg = (body: string) =>
  `data:image/svg+xml;base64,${Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${body}</svg>`).toString('base64')}`;
const each = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join();
const HASH = 'a'.repeat(64);

const [oldKey, newKey] = [generateSigningKey(), generateSigningKey()];

const LETTER_A = 0x61;

/** About as many as an inspection has room for. Loading many more takes the sandbox seconds. */
const EXPORTS = 9000;

/** An index of plugins that have this besides what each must have; without a count, of one. */
function indexFor(size: number, more: (bytes: number) => string, count = 1): string {
  const version = `{"version":"1.0.0","kind":"task","path":"p.js","sha256":"${HASH}"}`;
  const bytes = Math.max(0, Math.floor(size / count) - 300);
  const plugins = each(
    Math.min(2000, Math.floor(count)),
    (i) => `{"key":"p${i}","name":"n","versions":[${version}],${more(bytes)}}`,
  );
  return `{"indexVersion":1,"plugins":[${plugins}]}`;
}

export const pluginCases = [
  stallCase({
    name: 'source of a plugin',
    limit: MAX_SOURCE_BYTES,
    worst: (size) => ({
      statements: fill(';', size),
      calls: fill('a();', size),
      members: fill('a:{},', size, { before: 'x={', after: '}' }),
      names: fill('a,', size, { before: '', after: 'a' }),
      'async functions': fill('async()=>{};', size),
      parentheses: fill('(', size),
    }),
    call: (source: string) => worker.run('checkSource', source),
    refuses: (faults) => (faults as { rule: string }[])[0]?.rule === 'source.size',
  }),
  stallCase({
    name: 'exports of a plugin',
    limit: MAX_SOURCE_BYTES,
    worst: (size) => ({
      list: `const a=0;export{${each(Math.min(EXPORTS, size / 13), (i) => `a as b${i}`)}}`,
      'more than are taken': `const a=0;export{${each(Math.min(1.3 * EXPORTS, size / 13), (i) => `a as b${i}`)}}`,
      variables: `export const ${each(Math.min(EXPORTS, size / 11), (i) => `b${i}=0`)}`,
      functions: `${each(Math.min(EXPORTS, size / 30), (i) => `export function b${i}(){}`).replaceAll(',', ';')}`,
      'members of one': `export const protocols={${each(size / 12, (i) => `b${i}:{}`)}}`,
      meta: `export const meta={${each(size / 12, (i) => `b${i}:1`)}}`,
    }),
    call: async (source: string) => {
      sandbox ??= startSandbox({ processes: 1, idleMs: 1000, sourceBytes: 2 * MAX_SOURCE_BYTES });
      const outcome = await createCompiler(sandbox, worker).compile(source);
      return outcome.ok ? outcome : outcome.error;
    },
    limitedBy: 'the bytes of a source, and those of an inspection',
  }),
  stallCase({
    name: 'manifest of a plugin',
    limit: MAX_INSPECT_BYTES,
    worst: (size) => ({
      'same models': fill('"a",', size, { before: '{"models":[', after: '"a"]}' }),
      'models of other types': fill('1,', size, { before: '{"models":[', after: '1]}' }),
      routes: fill('{},', size, { before: '{"routes":[', after: '{}]}' }),
      'language tags': `{"description":{${each(size / 16, (i) => `"aa-${i.toString(36)}":"a"`)}}}`,
      'one language tag of parts': `{"description":{"${fill('aa-', size - 40)}":"a"}}`,
      'unknown names': `{${each(size / 12, (i) => `"k${i}":1`)}}`,
      'usage fields': `{"usageSchema":{${each(size / 40, (i) => `"k${i}":{"type":"enum","enum":["a"]}`)}}}`,
      hosts: `{"allowedHosts":[${each(size / 14, (i) => `"h${i}.com"`)}]}`,
    }),
    call: (text: string) => worker.run('checkManifest', { source: '', meta: parseJson(text), exports: {} }),
    limitedBy: 'the sandbox, which answers an inspection with so much',
  }),
  stallCase({
    name: 'difference of two versions',
    limit: MAX_SOURCE_BYTES,
    worst: (size) => ({
      'empty lines': fill('\n', size),
      'short lines': fill('a\nb\n', size),
      'one line': fill('a', size),
    }),
    call: (source: string) => {
      const other = Buffer.from(source).map((code) => (code === LETTER_A ? code + 2 : code));
      const [from, to] = [source, Buffer.from(other).toString()].map((text) => ({
        name: '',
        source: text,
        meta: undefined,
      }));
      return from && to && worker.run('compareVersions', from, to);
    },
    limitedBy: 'the size of a source',
  }),
  stallCase({
    name: 'icon',
    limit: MAX_ICON_BYTES,
    worst: (size) => ({
      elements: svg(fill('<g/>', size - 60)),
      attributes: svg(fill(`<g ${each(100, (i) => ` a${i}=""`).replaceAll(',', '')}/>`, size - 60)),
      style: svg(fill('url(', size - 90, { before: '<style>', after: '</style>' })),
      addresses: svg(fill('url(#a)', size - 90, { before: '<g a="', after: '"/>' })),
      references: svg(fill('&#65;', size - 60)),
      'rules with references': svg(
        fill('a{mask:url(#a)}', size - 200, {
          before: '<style>',
          after: `</style>${'<a/>'.repeat(9)}`,
        }),
      ),
      'many of one name': svg(fill('<g id="a" mask="url(#b)"/>', size - 60)),
      'texts of a style': svg(fill('"#a"', size - 90, { before: '<style>a{x:', after: '}</style>' })),
      'open rules': svg(fill('a{', size - 90, { before: '<style>', after: '</style>' })),
      colons: svg(fill(':', size - 120, { before: '<animate attributeName="', after: '"/>' })),
    }),
    call: (dataUrl: string) => worker.run('readIcon', dataUrl),
    refuses: (answer) =>
      (answer as { ok: boolean; error?: Sentence }).error?.message.includes('is larger than') === true,
  }),
  stallCase({
    name: 'index of a marketplace',
    limit: MARKET_FILE_BYTES.index,
    worst: (size) => ({
      'empty objects': fill('{},', size, { before: '{"indexVersion":1,"plugins":[', after: '{}]}' }),
      numbers: fill('0,', size, { before: '[', after: '0]' }),
      'plugins with many channel types': indexFor(size, (bytes) => `"channelTypes":[${fill('1,', bytes)}1]`),
      'plugins with many models': indexFor(size, (bytes) => `"models":[${fill('"aa",', bytes)}"a"]`),
      'plugins with many languages': indexFor(
        size,
        (bytes) => `"description":{${each(bytes / 16, (i) => `"aa-${i.toString(36)}":"a"`)}}`,
      ),
      'plugins with some of all': indexFor(size, () => `"models":[${each(400, (i) => `"m${i}"`)}]`, size / 4000),
      nesting: fill('[', size),
      'plugins with many versions': `{"indexVersion":1,"plugins":[${each(
        Math.min(2000, Math.floor(size / 13_000)),
        (key) =>
          `{"key":"p${key}","name":"n","versions":[${each(100, (i) => `{"version":"1.0.${i}","kind":"task","path":"p${key}-${i}.js","sha256":"${HASH}"}`)}]}`,
      )}]}`,
    }),
    call: (text: string) => worker.run('readIndex', text, 'https://market.example/index.json'),
    limitedBy: 'the size of a fetched file',
  }),
  stallCase({
    name: 'signature of a marketplace',
    limit: MAX_SIGNATURE_BYTES,
    worst: (size) => ({
      'empty lines': fill('\n', size),
      'white space': fill(' ', size),
      'a long comment': fill('a', size, { before: 'untrusted comment: a\nRUQ\ntrusted comment: ' }),
    }),
    call: (text: string) => readSignature(text) ?? 'refused',
    refuses: (answer) => answer === 'refused',
  }),
  stallCase({
    name: 'hand-over of a marketplace',
    limit: MAX_HAND_OVER_BYTES,
    worst: (size) => {
      const step = signHandOver(oldKey, newKey, 1);
      return {
        nesting: fill('[', size),
        steps: writeHandOvers(Array.from({ length: Math.min(50, Math.floor(size / 1000)) }, () => step)),
      };
    },
    call: (text: string) => {
      const steps = readHandOvers(text);
      return steps && followHandOvers(steps, { from: oldKey.publicKey, toId: 'another', seenSerial: 2 });
    },
    limitedBy: 'the size of a fetched file',
  }),
];
