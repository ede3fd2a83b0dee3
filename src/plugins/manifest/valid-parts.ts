import type { Meta } from '../../../contracts/v1.d.ts';
import { isObject, type Json } from '../../kernel/index.ts';
import type { ExportShape } from '../../sandbox/index.ts';
import type { Manifest, PluginFault, PluginRoute, ProtocolClaim } from '../types.ts';
import { FaultList, MAX_FAULTS } from './faults.ts';
import { translateProtocols } from './protocol-aliases.ts';

/**
 * What the exports are held against; a part that is left out is not judged. A whole manifest is one
 * of these.
 */
export type ExportDemands = Partial<Pick<Manifest, 'fetchMode'>> & {
  routes?: readonly Pick<PluginRoute, 'method' | 'path' | 'render' | 'decode'>[];
  protocols?: readonly Pick<ProtocolClaim, 'name' | 'supports'>[];
};

/**
 * The parts of a manifest with faults that none of the faults touches, so that one round names the
 * exports they lack as well.
 */
export function validParts(
  meta: Json | undefined,
  exports: Record<string, ExportShape>,
  faults: readonly PluginFault[],
): ExportDemands {
  // Of more faults than this only the first are known: nothing is sound for certain.
  if (!isObject(meta) || faults.length >= MAX_FAULTS) return {};
  const list = new FaultList();
  list.addAll(faults);
  // What the schema and the rules found nothing about has the shape that they ask for.
  const { fetchMode, routes, protocols } = translateProtocols(meta as Json, exports) as Meta & Json;
  return {
    ...(list.clean('/fetchMode') ? { fetchMode } : {}),
    ...(list.clean('/routes') ? { routes: routes ?? [] } : {}),
    ...(list.clean('/protocols') ? { protocols: (protocols ?? []).map(claimOf) } : {}),
  };
}

function claimOf(entry: NonNullable<Meta['protocols']>[number]): Pick<ProtocolClaim, 'name' | 'supports'> {
  if (typeof entry === 'string') return { name: entry, supports: [] };
  return { name: entry.name, supports: entry.name === 'proto_responses' ? entry.supports : [] };
}
