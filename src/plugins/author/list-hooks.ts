import type { ExportShape } from '../../sandbox/index.ts';
import { canonicalProtocol } from '../manifest/protocol-aliases.ts';
import type { Manifest } from '../types.ts';

/** Exported functions that the gateway calls, in the order of a task's life. */
const TOP_LEVEL = [
  'buildSubmitRequest',
  'extractUsage',
  'parseSubmitResponse',
  'parseSubmitError',
  'extractUsageOnSubmit',
  'buildQueryRequest',
  'parseTaskResult',
  'buildBatchQueryRequest',
  'parseBatchResult',
  'extractUsageOnComplete',
  'listArtifacts',
  'resolveArtifact',
  'buildContentRequest',
] as const;

type OpenPlugin = { manifest: Manifest; exports: Record<string, ExportShape> };

/** The canonical name of a hook: aliases of protocols are replaced. */
const nameOf = ([first = '', second, ...rest]: readonly string[]): string =>
  [first, ...(second === undefined ? [] : [first === 'protocols' ? canonicalProtocol(second) : second]), ...rest].join(
    '.',
  );

/**
 * Names of all hooks: `buildSubmitRequest`, `protocols.proto_video.render`, `native.presentTask`.
 */
export function listHooks({ manifest, exports }: OpenPlugin): string[] {
  const hooks = new Set<string>();
  for (const [protocol, { members = {} }] of Object.entries(exports.protocols?.members ?? {})) {
    for (const member of Object.keys(members)) hooks.add(nameOf(['protocols', protocol, member]));
  }
  for (const { decode } of manifest.routes) if (decode !== undefined) hooks.add(`native.${decode}`);
  for (const name of TOP_LEVEL) if (Object.hasOwn(exports, name)) hooks.add(name);
  for (const { render } of manifest.routes) hooks.add(`native.${render}`);
  if (exports.native?.members && Object.hasOwn(exports.native.members, 'error')) hooks.add('native.error');
  return [...hooks];
}

/** The hooks that none of the paths leads to. */
export function uncoveredHooks(plugin: OpenPlugin, paths: readonly (readonly string[])[]): string[] {
  const covered = new Set(paths.map(nameOf));
  return listHooks(plugin).filter((hook) => !covered.has(hook));
}
