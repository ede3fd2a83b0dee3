/**
 * Which functions a plugin must export: those of every plugin, and those that its manifest's modes,
 * routes and protocols need.
 */
import type { Meta } from '../../../contracts/v1.d.ts';
import { isObject, type Json, type Sentence, sentence } from '../../kernel/index.ts';
import type { ExportShape } from '../../sandbox/index.ts';
import type { Manifest, PluginFault, PluginRoute, ProtocolClaim, ProtocolName } from '../types.ts';
import { FaultList, MAX_FAULTS, makeFault, toHint } from './faults.ts';
import { PROTOCOL_SPELLINGS, translateProtocols } from './protocol-aliases.ts';
import { REMOVED_EXPORTS } from './rules.ts';

type Shapes = Record<string, ExportShape>;

const REQUIRED = ['buildSubmitRequest', 'parseSubmitResponse', 'parseTaskResult'] as const;
const BY_FETCH_MODE = {
  per_task: ['buildQueryRequest'],
  batch: ['buildBatchQueryRequest', 'parseBatchResult'],
} as const;
const OPTIONAL = [
  'extractUsage',
  'extractUsageOnSubmit',
  'extractUsageOnComplete',
  'parseSubmitError',
  'resolveArtifact',
  'parseSubmitEvent',
  'parseSubmitEventDelta',
  'buildBalanceRequest',
  'parseBalanceResponse',
  'queryCapacity',
] as const;
const DELTA = 'submit-sse-delta@1';
/** All hooks of protocols that this contract has. */
const PROTOCOL_HOOKS: ReadonlySet<string> = new Set(['decodeRequest', 'render', 'renderEvents', 'renderFinal']);
const ARTIFACTS = ['listArtifacts', 'buildContentRequest'] as const;

const own = (shapes: Shapes | undefined, name: string): ExportShape | undefined =>
  shapes && Object.hasOwn(shapes, name) ? shapes[name] : undefined;

/** Checks that an export is a plain function. */
function checkFunction(shape: ExportShape, path: string): PluginFault[] {
  if (shape.type === 'function') return [];
  const kinds: Partial<Record<ExportShape['type'], Sentence>> = {
    async_function: sentence('fault.async_function'),
    generator: sentence('fault.generator'),
    class: sentence('fault.class'),
  };
  return [makeFault(path, 'export.function', kinds[shape.type] ?? sentence('fault.no_function'))];
}

/** Checks that there is a plain function called `name`. `why`: what needs it. */
function requireFunction(
  shapes: Shapes | undefined,
  name: string,
  { path, why }: { path: string; why: Sentence },
): PluginFault[] {
  const shape = own(shapes, name);
  return shape
    ? checkFunction(shape, path)
    : [makeFault(path, 'export.required', sentence('fault.export_missing', { why }))];
}

/** Checks that need no manifest: names of earlier contracts, and hooks that every plugin has. */
export function checkBaseExports(exports: Shapes): PluginFault[] {
  const faults: PluginFault[] = [];
  for (const name of Object.keys(exports)) {
    const hint = REMOVED_EXPORTS[name];
    if (hint) {
      faults.push({
        ...makeFault(`exports/${name}`, 'removed_name', sentence('fault.removed', { name })),
        ...toHint(sentence(hint)),
      });
    }
  }
  for (const name of REQUIRED)
    faults.push(...requireFunction(exports, name, { path: `exports/${name}`, why: sentence('fault.why_every') }));
  for (const name of OPTIONAL) {
    const shape = own(exports, name);
    if (shape) faults.push(...checkFunction(shape, `exports/${name}`));
  }
  if (ARTIFACTS.some((name) => own(exports, name))) {
    for (const name of ARTIFACTS) {
      faults.push(
        ...requireFunction(exports, name, {
          path: `exports/${name}`,
          why: sentence('fault.why_artifacts'),
        }),
      );
    }
  }
  return faults;
}

/**
 * Checks the exports that the manifest's modes, routes and protocols need, and that there are no
 * protocol hooks that nothing needs.
 */
export function checkModeExports(
  { fetchMode, routes, protocols, submitResponseTypes, requiredCapabilities }: ExportDemands,
  exports: Shapes,
): PluginFault[] {
  const faults: PluginFault[] = [];
  if (submitResponseTypes?.includes('sse')) {
    const name = requiredCapabilities?.includes(DELTA) ? 'parseSubmitEventDelta' : 'parseSubmitEvent';
    const why = sentence('fault.why_needs', { what: 'submitResponseTypes "sse"' });
    faults.push(...requireFunction(exports, name, { path: `exports/${name}`, why }));
  }
  for (const name of fetchMode ? BY_FETCH_MODE[fetchMode] : []) {
    faults.push(
      ...requireFunction(exports, name, {
        path: `exports/${name}`,
        why: sentence('fault.why_needs', { what: `fetchMode "${fetchMode}"` }),
      }),
    );
  }
  if (routes) faults.push(...checkNative(routes, own(exports, 'native')));
  if (protocols) faults.push(...checkProtocolHooks(protocols, own(exports, 'protocols')));
  return faults;
}

type Routes = NonNullable<ExportDemands['routes']>;
type Claims = NonNullable<ExportDemands['protocols']>;

function checkNative(routes: Routes, native: ExportShape | undefined): PluginFault[] {
  if (native && native.type !== 'object') {
    return [makeFault('exports/native', 'export.object', sentence('fault.object_of_functions'))];
  }
  const faults: PluginFault[] = [];
  const errorHook = own(native?.members, 'error');
  if (errorHook) faults.push(...checkFunction(errorHook, 'exports/native/error'));
  const names = new Map<string, Sentence>();
  for (const route of routes) {
    const label = `${route.method} ${route.path}`;
    if (!names.has(route.render)) names.set(route.render, sentence('fault.why_renders', { route: label }));
    if (route.decode !== undefined && !names.has(route.decode))
      names.set(route.decode, sentence('fault.why_decodes', { route: label }));
  }
  for (const [name, why] of names)
    faults.push(...requireFunction(native?.members, name, { path: `exports/native/${name}`, why }));
  return faults;
}

/** The hooks that the claims of each protocol need, with the reason. Other members are unused. */
function neededHooks(claims: Claims): Record<ProtocolName, Map<string, Sentence> | undefined> {
  const needed = (protocol: ProtocolName, ...hooks: string[]) =>
    claims.some(({ name }) => name === protocol)
      ? new Map(hooks.map((hook): [string, Sentence] => [hook, sentence('fault.why_needs', { what: protocol })]))
      : undefined;
  const responses = needed('proto_responses', 'decodeRequest');
  const supports = claims.find(({ name }) => name === 'proto_responses')?.supports ?? [];
  if (supports.includes('stream')) responses?.set('renderEvents', sentence('fault.why_stream'));
  if (supports.some((mode) => mode !== 'stream')) responses?.set('renderFinal', sentence('fault.why_sync'));
  return {
    proto_responses: responses,
    proto_video: needed('proto_video', 'decodeRequest', 'render'),
    proto_image: needed('proto_image', 'decodeRequest', 'render'),
  };
}

function checkProtocolHooks(claims: Claims, protocols: ExportShape | undefined): PluginFault[] {
  if (protocols && protocols.type !== 'object') {
    return [makeFault('exports/protocols', 'export.object', sentence('fault.object_by_protocol'))];
  }
  const faults: PluginFault[] = [];
  const members = protocols?.members ?? {};
  const known = new Set<string>();
  for (const [name, hooks] of Object.entries(neededHooks(claims)) as [
    ProtocolName,
    Map<string, Sentence> | undefined,
  ][]) {
    const spellings = PROTOCOL_SPELLINGS[name].filter((spelling) => own(members, spelling));
    for (const spelling of spellings) known.add(spelling);
    const written = exportedSpelling(name, protocols) ?? name;
    const at = `exports/protocols/${written}`;
    if (spellings.length > 1) {
      faults.push(
        makeFault(
          at,
          'export.ambiguous',
          sentence('fault.two_names', { first: spellings[0] ?? '', second: spellings[1] ?? '' }),
        ),
      );
    } else if (!hooks) {
      if (spellings.length > 0) {
        faults.push(makeFault(at, 'export.unused', sentence('fault.unclaimed')));
      }
    } else {
      faults.push(...checkHooks(hooks, own(members, written), at));
    }
  }
  for (const name of Object.keys(members)) {
    if (!known.has(name)) {
      const fault = makeFault(`exports/protocols/${name}`, 'export.unused', sentence('fault.no_protocol'));
      faults.push({ ...fault, needs: { code: 'protocol', name } });
    }
  }
  return faults;
}

function checkHooks(hooks: Map<string, Sentence>, shape: ExportShape | undefined, at: string): PluginFault[] {
  if (shape && shape.type !== 'object') {
    return [makeFault(at, 'export.object', sentence('fault.object_of_functions'))];
  }
  const faults: PluginFault[] = [];
  for (const [name, why] of hooks)
    faults.push(...requireFunction(shape?.members, name, { path: `${at}/${name}`, why }));
  for (const name of Object.keys(shape?.members ?? {})) {
    if (!hooks.has(name)) {
      const fault = makeFault(`${at}/${name}`, 'export.unused', sentence('fault.unused_hook'));
      faults.push(PROTOCOL_HOOKS.has(name) ? fault : { ...fault, needs: { code: 'hook', name } });
    }
  }
  return faults;
}

/** The key of a protocol's hooks in the exported `protocols`. */
export const exportedSpelling = (name: ProtocolName, protocols: ExportShape | undefined): string | undefined =>
  PROTOCOL_SPELLINGS[name]?.find((spelling) => own(protocols?.members, spelling));

/**
 * The parts of a manifest that exports are checked against. A part that is absent is not checked. A
 * whole manifest is one of these.
 */
export type ExportDemands = Partial<Pick<Manifest, 'fetchMode' | 'submitResponseTypes' | 'requiredCapabilities'>> & {
  routes?: readonly Pick<PluginRoute, 'method' | 'path' | 'render' | 'decode'>[];
  protocols?: readonly Pick<ProtocolClaim, 'name' | 'supports'>[];
};

/**
 * The parts of a faulty manifest that have no faults themselves, so that missing exports are
 * reported in the same round.
 */
export function validParts(
  meta: Json | undefined,
  exports: Record<string, ExportShape>,
  faults: readonly PluginFault[],
): ExportDemands {
  // Only the first faults are known, so any part may have further ones.
  if (!isObject(meta) || faults.length >= MAX_FAULTS) return {};
  const list = new FaultList();
  list.addAll(faults);
  // A part without faults has the type that the schema requires.
  const { fetchMode, routes, protocols, submitResponseTypes, requiredCapabilities } = translateProtocols(
    meta as Json,
    exports,
  ) as Meta & Json;
  return {
    ...(list.clean('/fetchMode') ? { fetchMode } : {}),
    ...(list.clean('/submitResponseTypes') && list.clean('/requiredCapabilities')
      ? { submitResponseTypes: submitResponseTypes ?? [], requiredCapabilities: requiredCapabilities ?? [] }
      : {}),
    ...(list.clean('/routes') ? { routes: routes ?? [] } : {}),
    ...(list.clean('/protocols') ? { protocols: (protocols ?? []).map(toClaim) } : {}),
  };
}

function toClaim(entry: NonNullable<Meta['protocols']>[number]): Pick<ProtocolClaim, 'name' | 'supports'> {
  if (typeof entry === 'string') return { name: entry, supports: [] };
  return { name: entry.name, supports: entry.name === 'proto_responses' ? entry.supports : [] };
}
