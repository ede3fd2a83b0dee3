import { describe, expect, test } from 'bun:test';
import type { Json } from '../../src/kernel/index.ts';
import { checkManifest } from '../../src/plugins/manifest/check-manifest.ts';
import { createSchemaCheck } from '../../src/plugins/manifest/compile-schema.ts';
import { publishMeta } from '../../src/plugins/manifest/normalize-meta.ts';
import type { ExportShape } from '../../src/sandbox/index.ts';
import { baseMeta } from './support.ts';

const checkSchema = createSchemaCheck();
const check = (meta: unknown, exports: Record<string, ExportShape> = {}) =>
  checkManifest(meta as Json | undefined, exports, checkSchema);

const faultsOf = (meta: unknown, exports: Record<string, ExportShape> = {}): string[] => {
  const result = check(meta, exports);
  return result.ok ? [] : result.error.map(({ path, rule }) => `${path} ${rule}`);
};
const withMeta = (change: object): object => ({ ...baseMeta, ...change });
const without = (name: string): object => Object.fromEntries(Object.entries(baseMeta).filter(([key]) => key !== name));

const submit = { method: 'POST', path: '/acme/v1/jobs', type: 'submit', decode: 'd', render: 'r' };
const query = { method: 'GET', path: '/acme/v1/jobs/:task_id', type: 'query', render: 'r' };
const seconds = { type: 'number', unit: 'second' };
const size = { enum: ['s', 'l'] };

/** Meta, then the only fault that it may have: pointer and rule. */
const invalid: [name: string, meta: unknown, fault: string][] = [
  ['no meta', undefined, ' manifest.type'],
  ['a list as meta', [], ' manifest.type'],
  ['a text as meta', 'acme', ' manifest.type'],
  ['no apiVersion', without('apiVersion'), '/apiVersion required'],
  ['apiVersion 2', withMeta({ apiVersion: 2 }), '/apiVersion apiVersion.value'],
  ['apiVersion as text', withMeta({ apiVersion: '1' }), '/apiVersion apiVersion.value'],
  ['no key', without('key'), '/key required'],
  ['an empty key', withMeta({ key: '' }), '/key key.format'],
  ['a key in upper case', withMeta({ key: 'Acme' }), '/key key.format'],
  ['a key that begins with a hyphen', withMeta({ key: '-acme' }), '/key key.format'],
  ['a key with a dot', withMeta({ key: 'ac.me' }), '/key key.format'],
  ['a key of 31 characters', withMeta({ key: 'a'.repeat(31) }), '/key key.length'],
  ['the reserved key runtime', withMeta({ key: 'runtime' }), '/key key.format'],
  ['the reserved key marketplace', withMeta({ key: 'marketplace' }), '/key key.format'],
  ['a number as key', withMeta({ key: 1 }), '/key key.type'],
  ['no name', without('name'), '/name required'],
  ['a blank name', withMeta({ name: '  ' }), '/name name.format'],
  ['no version', without('version'), '/version required'],
  ['a version of two numbers', withMeta({ version: '1.0' }), '/version version.format'],
  ['a version with v', withMeta({ version: 'v1.0.0' }), '/version version.format'],
  ['a version with leading zero', withMeta({ version: '01.0.0' }), '/version version.format'],
  ['no author', without('author'), '/author required'],
  ['an author as text', withMeta({ author: 'Acme' }), '/author author.type'],
  ['an author without name', withMeta({ author: {} }), '/author/name required'],
  ['an author with a blank name', withMeta({ author: { name: ' ' } }), '/author/name author.name.format'],
  ['an author with e-mail', withMeta({ author: { name: 'A', email: 'a@b.c' } }), '/author/email unknown_property'],
  ['an author with a relative URL', withMeta({ author: { name: 'A', url: '/me' } }), '/author/url author.url.format'],
  ['an author with an ftp URL', withMeta({ author: { name: 'A', url: 'ftp://x.y' } }), '/author/url author.url.format'],
  ['an author URL without host', withMeta({ author: { name: 'A', url: 'http://?' } }), '/author/url author.url.format'],
  ['no models', without('models'), '/models required'],
  ['empty models', withMeta({ models: [] }), '/models models.count'],
  ['models as text', withMeta({ models: 'm' }), '/models models.type'],
  ['a blank model', withMeta({ models: ['m', ''] }), '/models/1 models.item.format'],
  ['a number as model', withMeta({ models: [1] }), '/models/0 models.item.type'],
  ['a model twice', withMeta({ models: ['m', 'n', 'm'] }), '/models/2 models.unique'],
  ['a model twice after trimming', withMeta({ models: ['m', ' m'] }), '/models/1 models.unique'],
  ['no fetchMode', without('fetchMode'), '/fetchMode required'],
  ['an unknown fetchMode', withMeta({ fetchMode: 'stream' }), '/fetchMode fetchMode.value'],
  ['an inline icon', withMeta({ icon: 'data:image/png;base64,AA' }), '/icon icon.format'],
  ['an inline icon in capitals', withMeta({ icon: 'DATA:image/png;base64,AA' }), '/icon icon.format'],
  ['a remote icon', withMeta({ icon: 'https://x.y/i.png' }), '/icon icon.format'],
  ['a scheme-relative icon', withMeta({ icon: '//x.y/i.png' }), '/icon icon.format'],
  ['an icon of 129 characters', withMeta({ icon: 'a'.repeat(129) }), '/icon icon.length'],
  ['an empty description', withMeta({ description: '' }), '/description text.format'],
  ['a number as description', withMeta({ description: 5 }), '/description text.type'],
  ['a description with a control character', withMeta({ description: 'a\u0007b' }), '/description text.format'],
  ['a description of 513 code points', withMeta({ description: '😀'.repeat(513) }), '/description text.length'],
  ['a locale text of 513', withMeta({ description: { en: 'x', zh: 'y'.repeat(513) } }), '/description/zh text.length'],
  ['a description without English', withMeta({ description: { zh: 'x' } }), '/description text.en.forbidden'],
  ['a blank English description', withMeta({ description: { en: ' ' } }), '/description/en text.format'],
  [
    'a locale with an underscore',
    withMeta({ description: { en: 'x', zh_CN: 'y' } }),
    '/description/zh_CN text.locale.format',
  ],
  [
    'a locale of four letters',
    withMeta({ description: { en: 'x', engl: 'y' } }),
    '/description/engl text.locale.format',
  ],
  [
    'locales that collide',
    withMeta({ description: { en: 'x', 'zh-cn': 'y', 'zh-CN': 'z' } }),
    '/description/zh-CN text.locale.unique',
  ],
  ['English twice', withMeta({ description: { en: 'x', EN: 'y' } }), '/description/EN text.locale.unique'],
  [
    'seventeen locales',
    withMeta({
      description: Object.fromEntries(['en', ...'abcdefghijklmnop'].map((c) => [c === 'en' ? c : `a${c}`, 'x'])),
    }),
    '/description text.count',
  ],
  ['a fractional priority', withMeta({ sortPriority: 1.5 }), '/sortPriority sortPriority.type'],
  ['a priority above 32 bits', withMeta({ sortPriority: 2 ** 31 }), '/sortPriority sortPriority.range'],
  ['a priority below 32 bits', withMeta({ sortPriority: -(2 ** 31) - 1 }), '/sortPriority sortPriority.range'],
  ['an http website', withMeta({ website: 'http://x.y' }), '/website website.format'],
  ['a website with credentials', withMeta({ website: 'https://u:p@x.y' }), '/website website.format'],
  ['a website with empty credentials', withMeta({ website: 'https://@x.y' }), '/website website.format'],
  ['a website with a backslash', withMeta({ website: 'https://x.y\\z' }), '/website website.format'],
  ['a website with a space', withMeta({ website: 'https://x.y/a b' }), '/website website.format'],
  ['a website with a non-ASCII host', withMeta({ website: 'https://bücher.example' }), '/website website.format'],
  ['a website with a bad label', withMeta({ website: 'https://-x.example' }), '/website website.format'],
  ['a website with a bad port', withMeta({ website: 'https://x.example:70000' }), '/website website.format'],
  ['a baseUrl without scheme', withMeta({ baseUrl: 'x.y' }), '/baseUrl baseUrl.format'],
  ['a baseUrl with query', withMeta({ baseUrl: 'https://x.y/?a=1' }), '/baseUrl baseUrl.format'],
  ['a baseUrl with fragment', withMeta({ baseUrl: 'https://x.y/#a' }), '/baseUrl baseUrl.format'],
  ['a baseUrl with credentials', withMeta({ baseUrl: 'https://u@x.y' }), '/baseUrl baseUrl.format'],
  ['a baseUrl with a non-ASCII host', withMeta({ baseUrl: 'https://bücher.example' }), '/baseUrl baseUrl.format'],
  ['a baseUrl of 192 characters', withMeta({ baseUrl: `https://x.y/${'a'.repeat(180)}` }), '/baseUrl baseUrl.length'],
  ['an ftp baseUrl', withMeta({ baseUrl: 'ftp://x.y' }), '/baseUrl baseUrl.format'],
  [
    'an allowed host with scheme',
    withMeta({ allowedHosts: ['https://x.y'] }),
    '/allowedHosts/0 allowedHosts.item.format',
  ],
  ['an allowed host with path', withMeta({ allowedHosts: ['x.y/z'] }), '/allowedHosts/0 allowedHosts.item.format'],
  [
    'an allowed host with credentials',
    withMeta({ allowedHosts: ['u@x.y'] }),
    '/allowedHosts/0 allowedHosts.item.format',
  ],
  ['an allowed host with query', withMeta({ allowedHosts: ['x.y?a'] }), '/allowedHosts/0 allowedHosts.item.format'],
  ['an allowed host with port 0', withMeta({ allowedHosts: ['x.y:0'] }), '/allowedHosts/0 allowedHosts.item.format'],
  [
    'an allowed host with port 65536',
    withMeta({ allowedHosts: ['x.y:65536'] }),
    '/allowedHosts/0 allowedHosts.item.format',
  ],
  ['a bare IPv6 address', withMeta({ allowedHosts: ['2001:db8::1'] }), '/allowedHosts/0 allowedHosts.item.format'],
  [
    'a broken IPv6 address',
    withMeta({ allowedHosts: ['[2001:db8::1::2]'] }),
    '/allowedHosts/0 allowedHosts.item.format',
  ],
  ['an empty allowed host', withMeta({ allowedHosts: [''] }), '/allowedHosts/0 allowedHosts.item.format'],
  ['a wildcard host', withMeta({ allowedHosts: ['*.x.y'] }), '/allowedHosts/0 allowedHosts.item.format'],
  ['an allowed host twice', withMeta({ allowedHosts: ['X.y', 'x.Y'] }), '/allowedHosts/1 allowedHosts.unique'],
  ['an IPv6 host twice', withMeta({ allowedHosts: ['[::1]', '[0:0::1]'] }), '/allowedHosts/1 allowedHosts.unique'],
  ['channel type 0', withMeta({ channelTypes: [0] }), '/channelTypes/0 channelTypes.item.range'],
  ['channel type 61', withMeta({ channelTypes: [61] }), '/channelTypes/0 channelTypes.item.forbidden'],
  ['a channel type twice', withMeta({ channelTypes: [7, 7] }), '/channelTypes/1 channelTypes.unique'],
  ['a channel type as text', withMeta({ channelTypes: ['7'] }), '/channelTypes/0 channelTypes.item.type'],
  ['an unknown protocol', withMeta({ protocols: [{ name: 'proto_image' }] }), '/protocols/0/name protocol.name.value'],
  ['an unknown bare protocol', withMeta({ protocols: ['proto_image'] }), '/protocols/0 protocol.bare.value'],
  ['bare proto_responses', withMeta({ protocols: ['proto_responses'] }), '/protocols/0 protocol.bare.value'],
  ['a number as protocol', withMeta({ protocols: [1] }), '/protocols/0 protocol.type'],
  ['a protocol without name', withMeta({ protocols: [{ models: ['acme-1'] }] }), '/protocols/0/name required'],
  [
    'proto_responses without supports',
    withMeta({ protocols: [{ name: 'proto_responses' }] }),
    '/protocols/0/supports required',
  ],
  [
    'empty supports',
    withMeta({ protocols: [{ name: 'proto_responses', supports: [] }] }),
    '/protocols/0/supports protocol.supports.count',
  ],
  [
    'an unknown mode',
    withMeta({ protocols: [{ name: 'proto_responses', supports: ['sync', 'ws'] }] }),
    '/protocols/0/supports/1 protocol.supports.item.value',
  ],
  [
    'a number as mode',
    withMeta({ protocols: [{ name: 'proto_responses', supports: ['sync', 1] }] }),
    '/protocols/0/supports/1 protocol.supports.item.type',
  ],
  [
    'a mode twice',
    withMeta({ protocols: [{ name: 'proto_responses', supports: ['sync', 'sync'] }] }),
    '/protocols/0/supports/1 protocol.supports.unique',
  ],
  [
    'supports on proto_video',
    withMeta({ protocols: [{ name: 'proto_video', supports: ['sync'] }] }),
    '/protocols/0/supports unknown_property',
  ],
  [
    'an unknown protocol field',
    withMeta({ protocols: [{ name: 'proto_video', path: '/x' }] }),
    '/protocols/0/path unknown_property',
  ],
  [
    'a protocol twice',
    withMeta({ protocols: ['proto_video', { name: 'proto_video' }] }),
    '/protocols/1 protocol.unique',
  ],
  [
    'a protocol and its alias',
    withMeta({ protocols: ['proto_video', 'openai_video'] }),
    '/protocols/1 protocol.unique',
  ],
  [
    'empty protocol models',
    withMeta({ protocols: [{ name: 'proto_video', models: [] }] }),
    '/protocols/0/models protocol.models.count',
  ],
  [
    'a foreign protocol model',
    withMeta({ protocols: [{ name: 'proto_video', models: ['x'] }] }),
    '/protocols/0/models/0 protocol.models.subset',
  ],
  [
    'a protocol model twice',
    withMeta({ protocols: [{ name: 'proto_video', models: ['acme-1', 'acme-1'] }] }),
    '/protocols/0/models/1 protocol.models.unique',
  ],
  [
    'a bare responses alias without hooks',
    withMeta({ protocols: ['openai_responses'] }),
    '/protocols/0/supports protocol.supports.count',
  ],
  [
    'a route method in lower case',
    withMeta({ routes: [{ ...submit, method: 'post' }] }),
    '/routes/0/method route.method.value',
  ],
  ['a HEAD route', withMeta({ routes: [{ ...submit, method: 'HEAD' }] }), '/routes/0/method route.method.value'],
  ['a route without method', withMeta({ routes: [{ ...submit, method: undefined }] }), '/routes/0/method required'],
  ['a path without slash', withMeta({ routes: [{ ...submit, path: 'acme' }] }), '/routes/0/path route.path.format'],
  ['the path /', withMeta({ routes: [{ ...submit, path: '/' }] }), '/routes/0/path route.path.format'],
  ['a path with a query', withMeta({ routes: [{ ...submit, path: '/acme?x' }] }), '/routes/0/path route.path.format'],
  [
    'a path with a fragment',
    withMeta({ routes: [{ ...submit, path: '/acme#x' }] }),
    '/routes/0/path route.path.format',
  ],
  ['a path with percent', withMeta({ routes: [{ ...submit, path: '/acme%20' }] }), '/routes/0/path route.path.format'],
  ['a path with //', withMeta({ routes: [{ ...submit, path: '/acme//x' }] }), '/routes/0/path route.path.format'],
  ['a path with ..', withMeta({ routes: [{ ...submit, path: '/acme/../x' }] }), '/routes/0/path route.path.format'],
  [
    'a path with a bad parameter',
    withMeta({ routes: [{ ...submit, path: '/acme/:1' }] }),
    '/routes/0/path route.path.format',
  ],
  [
    'a catch-all inside',
    withMeta({ routes: [{ ...submit, path: '/acme/*rest/x' }] }),
    '/routes/0/path route.path.format',
  ],
  ['a parameter twice', withMeta({ routes: [{ ...submit, path: '/acme/:a/:a' }] }), '/routes/0/path route.path.params'],
  ['a reserved path', withMeta({ routes: [{ ...submit, path: '/api/acme' }] }), '/routes/0/path route.reserved'],
  [
    'a reserved namespace by parameter',
    withMeta({ routes: [{ ...submit, path: '/:any/acme' }] }),
    '/routes/0/path route.reserved',
  ],
  [
    'a catch-all over everything',
    withMeta({ routes: [{ ...submit, path: '/*all' }] }),
    '/routes/0/path route.reserved',
  ],
  ['the generic API', withMeta({ routes: [{ ...submit, path: '/v1/tasks/acme' }] }), '/routes/0/path route.reserved'],
  ['a host protocol path', withMeta({ routes: [{ ...submit, path: '/v1/videos' }] }), '/routes/0/path route.reserved'],
  [
    'a host protocol path by parameter',
    withMeta({ routes: [{ ...submit, path: '/v1/videos/:id' }] }),
    '/routes/0/path route.reserved',
  ],
  ['an unknown route type', withMeta({ routes: [{ ...submit, type: 'proxy' }] }), '/routes/0/type route.type.value'],
  ['a route without render', withMeta({ routes: [{ ...submit, render: undefined }] }), '/routes/0/render required'],
  [
    'a submit route without decode',
    withMeta({ routes: [{ ...submit, decode: undefined }] }),
    '/routes/0/decode required',
  ],
  [
    'a dynamic route without decode',
    withMeta({ routes: [{ ...submit, type: 'dynamic', decode: undefined }] }),
    '/routes/0/decode required',
  ],
  [
    'a query route with decode',
    withMeta({ routes: [{ ...query, decode: 'd' }] }),
    '/routes/0/decode route.decode.forbidden',
  ],
  [
    'a query route with models',
    withMeta({ routes: [{ ...query, models: ['acme-1'] }] }),
    '/routes/0/models route.models.forbidden',
  ],
  [
    'a query route without its parameter',
    withMeta({ routes: [{ ...query, path: '/acme/:id' }] }),
    '/routes/0/path route.path.task_id',
  ],
  [
    'a bad taskIdParam',
    withMeta({ routes: [{ ...query, taskIdParam: '1' }] }),
    '/routes/0/taskIdParam route.taskIdParam.format',
  ],
  ['empty route models', withMeta({ routes: [{ ...submit, models: [] }] }), '/routes/0/models route.models.count'],
  [
    'a foreign route model',
    withMeta({ routes: [{ ...submit, models: ['acme-1', 'x'] }] }),
    '/routes/0/models/1 route.models.subset',
  ],
  ['an unknown route field', withMeta({ routes: [{ ...submit, auth: 1 }] }), '/routes/0/auth unknown_property'],
  [
    'the removed route renderer',
    withMeta({ routes: [{ ...submit, renderer: 'r' }] }),
    '/routes/0/renderer removed_name',
  ],
  [
    'two routes of one shape',
    withMeta({
      routes: [
        { ...query, path: '/a/:task_id' },
        { ...query, path: '/a/:id', taskIdParam: 'id' },
      ],
    }),
    '/routes/1/path route.unique',
  ],
  ['a usage field without form', withMeta({ usageSchema: { a: {} } }), '/usageSchema/a/type required'],
  ['a usage field as text', withMeta({ usageSchema: { a: 'number' } }), '/usageSchema/a usageField.type'],
  [
    'an enum with type',
    withMeta({ usageSchema: { a: { ...size, type: 'number' } } }),
    '/usageSchema/a/type usageField.type.forbidden',
  ],
  [
    'an enum with unit',
    withMeta({ usageSchema: { a: { ...size, unit: 'count' } } }),
    '/usageSchema/a/unit usageField.unit.forbidden',
  ],
  ['an empty enum', withMeta({ usageSchema: { a: { enum: [] } } }), '/usageSchema/a/enum usageField.enum.count'],
  [
    'an enum value twice',
    withMeta({ usageSchema: { a: { enum: ['x', 'x'] } } }),
    '/usageSchema/a/enum/1 usageField.enum.unique',
  ],
  [
    'a number in an enum',
    withMeta({ usageSchema: { a: { enum: [1] } } }),
    '/usageSchema/a/enum/0 usageField.enum.item.type',
  ],
  ['a number without unit', withMeta({ usageSchema: { a: { type: 'number' } } }), '/usageSchema/a/unit required'],
  [
    'an unknown unit',
    withMeta({ usageSchema: { a: { type: 'number', unit: 'usd' } } }),
    '/usageSchema/a/unit usageField.unit.value',
  ],
  [
    'an unknown type',
    withMeta({ usageSchema: { a: { type: 'string' } } }),
    '/usageSchema/a/type usageField.type.value',
  ],
  [
    'a boolean with unit',
    withMeta({ usageSchema: { a: { type: 'boolean', unit: 'count' } } }),
    '/usageSchema/a/unit usageField.unit.forbidden',
  ],
  [
    'labels on a boolean',
    withMeta({ usageSchema: { a: { type: 'boolean', enumLabels: {} } } }),
    '/usageSchema/a/enumLabels usageField.enumLabels.forbidden',
  ],
  [
    'labels on a number',
    withMeta({ usageSchema: { a: { ...seconds, enumLabels: {} } } }),
    '/usageSchema/a/enumLabels usageField.enumLabels.forbidden',
  ],
  [
    'a label of no value',
    withMeta({ usageSchema: { a: { ...size, enumLabels: { m: 'M' } } } }),
    '/usageSchema/a/enumLabels/m usageField.enumLabels.declared',
  ],
  [
    'a label of 257',
    withMeta({ usageSchema: { a: { ...size, enumLabels: { s: 'x'.repeat(257) } } } }),
    '/usageSchema/a/enumLabels/s text.length',
  ],
  [
    'a label without English',
    withMeta({ usageSchema: { a: { ...size, enumLabels: { s: { zh: 'x' } } } } }),
    '/usageSchema/a/enumLabels/s text.en.forbidden',
  ],
  [
    'a field description of 257',
    withMeta({ usageSchema: { a: { ...seconds, description: 'x'.repeat(257) } } }),
    '/usageSchema/a/description text.length',
  ],
  [
    'a field description without English',
    withMeta({ usageSchema: { a: { ...seconds, description: { zh: 'x' } } } }),
    '/usageSchema/a/description text.en.forbidden',
  ],
  [
    'an unknown usage property',
    withMeta({ usageSchema: { a: { ...seconds, price: 1 } } }),
    '/usageSchema/a/price unknown_property',
  ],
  [
    'tokens without example',
    withMeta({ usageSchema: { a: { type: 'number', unit: 'token' } } }),
    '/usageExamples required',
  ],
  [
    'tokens with no example',
    withMeta({ usageSchema: { a: { type: 'number', unit: 'token' } }, usageExamples: [] }),
    '/usageExamples usageExamples.token.count',
  ],
  [
    'an example without label',
    withMeta({ usageSchema: { a: seconds }, usageExamples: [{ facts: { a: 1 } }] }),
    '/usageExamples/0/label required',
  ],
  [
    'an example with a blank label',
    withMeta({ usageSchema: { a: seconds }, usageExamples: [{ label: '', facts: { a: 1 } }] }),
    '/usageExamples/0/label usageExample.label.format',
  ],
  [
    'an example without facts',
    withMeta({ usageSchema: { a: seconds }, usageExamples: [{ label: 'x' }] }),
    '/usageExamples/0/facts required',
  ],
  [
    'an incomplete example',
    withMeta({ usageSchema: { a: seconds, b: size }, usageExamples: [{ label: 'x', facts: { a: 1 } }] }),
    '/usageExamples/0/facts/b usageExample.facts.complete',
  ],
  [
    'an undeclared fact',
    withMeta({ usageSchema: { a: seconds }, usageExamples: [{ label: 'x', facts: { a: 1, c: 1 } }] }),
    '/usageExamples/0/facts/c usageExample.facts.undeclared',
  ],
  [
    'a fact outside its enum',
    withMeta({ usageSchema: { b: size }, usageExamples: [{ label: 'x', facts: { b: 'm' } }] }),
    '/usageExamples/0/facts/b usageExample.facts.value',
  ],
  [
    'a fact above an hour',
    withMeta({ usageSchema: { a: seconds }, usageExamples: [{ label: 'x', facts: { a: 3601 } }] }),
    '/usageExamples/0/facts/a usageExample.facts.value',
  ],
  [
    'a negative fact',
    withMeta({ usageSchema: { a: seconds }, usageExamples: [{ label: 'x', facts: { a: -1 } }] }),
    '/usageExamples/0/facts/a usageExample.facts.value',
  ],
  [
    'a count above 128',
    withMeta({
      usageSchema: { a: { type: 'number', unit: 'count' } },
      usageExamples: [{ label: 'x', facts: { a: 129 } }],
    }),
    '/usageExamples/0/facts/a usageExample.facts.value',
  ],
  ['an unknown property', withMeta({ colour: 'red' }), '/colour unknown_property'],
  ['a property with a slash', withMeta({ 'a/b': 1 }), '/a~1b unknown_property'],
  ['a property of a later contract', withMeta({ usageProfiles: [] }), '/usageProfiles unknown_property'],
  [
    'the property __proto__',
    JSON.parse(JSON.stringify(baseMeta).replace('{', '{"__proto__":{"x":1},')),
    '/__proto__ unknown_property',
  ],
  ['the removed channelType', withMeta({ channelType: 7 }), '/channelType removed_name'],
  [
    'the removed compatibleChannelTypes',
    withMeta({ compatibleChannelTypes: [7] }),
    '/compatibleChannelTypes removed_name',
  ],
  ['the removed endpoints', withMeta({ endpoints: [] }), '/endpoints removed_name'],
  ['the removed submitPaths', withMeta({ submitPaths: [] }), '/submitPaths removed_name'],
  ['the removed actions', withMeta({ actions: [] }), '/actions removed_name'],
];

const valid: [name: string, change: object][] = [
  ['nothing more than it must have', {}],
  ['a key of 30 characters', { key: '0'.padEnd(30, 'a_-') }],
  ['a pre-release version', { version: '1.2.3-beta.1+build.5' }],
  ['an author URL', { author: { name: 'A', url: 'HTTPS://example.com/me?a#b' } }],
  ['an icon name', { icon: 'Kling.Color' }],
  ['an icon text', { icon: 'text:AC' }],
  ['an empty icon', { icon: '' }],
  ['512 code points outside the BMP', { description: '😀'.repeat(512) }],
  ['English in capitals', { description: { EN: 'x', 'ZH-hant-tw': 'y' } }],
  [
    'sixteen locales',
    { description: Object.fromEntries(['en', ...'abcdefghijklmno'].map((c) => [c === 'en' ? c : `a${c}`, 'x'])) },
  ],
  ['the lowest priority', { sortPriority: -(2 ** 31) }],
  ['an empty website', { website: '' }],
  ['a website with path, query and fragment', { website: 'https://xn--bcher-kva.example:8443/a?b=c#d' }],
  ['a private base URL', { baseUrl: 'http://127.0.0.1:4010/' }],
  ['an IPv6 base URL', { baseUrl: 'http://[::1]:4010/base/' }],
  [
    'hosts with and without port',
    { allowedHosts: ['cdn.example', 'cdn.example:443', '[2001:DB8::1]:8443', '10.0.0.1'] },
  ],
  ['legacy channel types', { channelTypes: [1, 50] }],
  ['a bare protocol', { protocols: ['proto_video'] }],
  [
    'both protocols',
    {
      protocols: [
        { name: 'proto_video', models: ['acme-1'] },
        { name: 'proto_responses', supports: ['background', 'stream'] },
      ],
    },
  ],
  [
    'routes of every type',
    { routes: [submit, query, { ...submit, type: 'dynamic', path: '/acme/*rest', models: ['acme-2'], action: 'x' }] },
  ],
  [
    'a trailing slash',
    {
      routes: [
        { ...submit, path: '/acme/' },
        { ...submit, path: '/acme' },
      ],
    },
  ],
  ['one path, two methods', { routes: [submit, { ...submit, method: 'PUT' }] }],
  ['a path below a host protocol', { routes: [{ ...submit, path: '/v1/videos/:id/remix' }] }],
  ['a renamed task parameter', { routes: [{ ...query, path: '/acme/:id', taskIdParam: 'id' }] }],
  [
    'every usage form',
    {
      usageSchema: {
        a: seconds,
        b: { ...size, enumLabels: { s: 'Small' } },
        c: { type: 'boolean', description: 'With sound' },
      },
    },
  ],
  [
    'tokens with an example',
    { usageSchema: { t: { type: 'number', unit: 'token' } }, usageExamples: [{ label: 'x', facts: { t: 1e12 } }] },
  ],
  ['a usage field called __proto__', { usageSchema: JSON.parse('{"__proto__":{"type":"boolean"}}') }],
  ['auth of any kind', { auth: { type: 'oauth2_jwt', more: [1] } }],
];

describe('a manifest is refused for exactly the rule that it breaks', () => {
  test.each(invalid)('%s', (_name, meta, fault) => {
    expect(faultsOf(JSON.parse(JSON.stringify(meta ?? null)) ?? undefined)).toEqual([fault]);
  });
});

describe('a manifest is accepted, and accepted again in its published form', () => {
  test.each(valid)('%s', (_name, change) => {
    const first = check(withMeta(change));
    expect(first).toMatchObject({ ok: true });
    if (!first.ok) return;
    const published = publishMeta(first.value);
    expect(check(published)).toEqual(first);
  });
});

test('manifest bombs: long texts and endless lists are judged without delay', () => {
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
    const faults = faultsOf(withMeta(meta));
    expect(faults.length).toBeGreaterThan(1);
    expect(faults.length).toBeLessThanOrEqual(500);
  }
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(10_000);
}, 60_000);

test('every fault is reported at once, each with a message and some with a hint', () => {
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
  expect(faultsOf(meta).sort()).toEqual([
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
  for (const fault of result.ok ? [] : result.error) expect(fault.message).not.toBe('');
  expect(result.ok ? [] : result.error).toContainEqual({
    path: '/version',
    rule: 'version.format',
    message: 'must be a semantic version',
    hint: 'Three numbers such as "1.4.0", optionally with "-beta.1" or "+build".',
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

test("a bare alias of the reference's contract takes its modes from the exported hooks", () => {
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
