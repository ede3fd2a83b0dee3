import { baseMeta } from './base.ts';

/**
 * A plugin's text with all hooks that every plugin has, and this as its `meta`; without any where
 * that is undefined.
 */
export const pluginWith = (
  meta: unknown,
): string => `${meta === undefined ? '' : `export const meta = ${JSON.stringify(meta)};`}
export function buildSubmitRequest(ctx) { return { url: ctx.baseUrl + '/jobs', body: ctx.requestBody }; }
export function parseSubmitResponse(ctx, response) { return { taskId: response.body.id }; }
export function buildQueryRequest(ctx) { return { url: ctx.baseUrl + '/jobs/' + ctx.taskId }; }
export function parseTaskResult(ctx, body) { return { status: body.status }; }
`;

/** A sound plugin with `meta` changed, `more` behind it, and `without` one of its exports. */
const plugin = (change: object = {}, more = '', without = ''): string =>
  (pluginWith({ ...baseMeta, ...change }) + more).replace(`export function ${without}(`, 'function unused(');

const HOOKS = '{ decodeRequest() {}, render() {} }';

/**
 * Sources that break one rule of exports or syntax each: what lint says of them, as `path rule` and
 * line.
 */
export const brokenSources: readonly [name: string, source: string, fault: string, line?: number][] = [
  ['no buildSubmitRequest', plugin({}, '', 'buildSubmitRequest'), 'exports/buildSubmitRequest export.required'],
  ['no buildQueryRequest', plugin({}, '', 'buildQueryRequest'), 'exports/buildQueryRequest export.required'],
  ['a hook that is a value', plugin({}, 'export const extractUsage = 1;'), 'exports/extractUsage export.function', 6],
  ['a hook that is a class', plugin({}, 'export class extractUsage {}'), 'exports/extractUsage export.function', 6],
  ['native as a list', plugin({}, 'export const native = [];'), 'exports/native export.object', 6],
  [
    'hooks that nothing claims',
    plugin({}, `export const protocols = { proto_video: ${HOOKS} };`),
    'exports/protocols/proto_video export.unused',
    6,
  ],
  [
    'hooks under two names',
    plugin(
      { protocols: ['proto_video'] },
      `const h = ${HOOKS};\nexport const protocols = { proto_video: h, openai_video: h };`,
    ),
    'exports/protocols/proto_video export.ambiguous',
    7,
  ],
  ['an export of an earlier contract', plugin({}, 'export const renderers = {};'), 'exports/renderers removed_name', 6],
  ['a source above 1 MiB', `//${'x'.repeat(1_048_575)}`, 'source source.size'],
  ['a syntax error', plugin({}, 'const a = ;'), 'source source.syntax', 6],
  ['an async function', plugin({}, '\nconst f = async () => 1;'), 'source source.async', 7],
  ['await', plugin({}, 'const a = await 1;'), 'source source.await', 6],
  ['an import', `import 'x';\n${plugin()}`, 'source source.import', 1],
  ['a dynamic import', plugin({}, "const f = () => import('x');"), 'source source.dynamic_import', 6],
  ['import.meta', plugin({}, 'const u = import.meta.url;'), 'source source.import_meta', 6],
  ['a re-export', plugin({}, "export * from 'x';"), 'source source.reexport', 6],
  ['require', plugin({}, "const fs = require('fs');"), 'source source.require', 6],
  ['a top level that throws', plugin({}, "throw new Error('no');"), 'source source.compile', 6],
  ['an export that is a promise', plugin({}, 'export const p = Promise.resolve();'), 'source source.async'],
  [
    'a manifest without end',
    plugin({}, 'let o = {}; for (let i = 0; i < 300; i++) o = { o }; meta.auth = o;'),
    'source source.codec',
  ],
  ['a top level that recurses without end', plugin({}, '(function f() { f(); })();'), 'source source.stack'],
  [
    'a top level that fills the memory',
    plugin({}, 'const a = []; for (;;) a.push(new Uint8Array(16e6));'),
    'source source.memory',
  ],
  ['a top level without end', plugin({}, 'for (;;);'), 'source source.timeout'],
  ['a top level that cannot be interrupted', plugin({}, "new Array(1e9) + '';"), 'source source.killed'],
];
