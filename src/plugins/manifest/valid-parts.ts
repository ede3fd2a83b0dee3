import type { Meta } from '../../../contracts/v1.d.ts';
import { isObject, type Json } from '../../kernel/index.ts';
import type { ExportShape } from '../../sandbox/index.ts';
import type { Manifest, PluginFault, PluginRoute, ProtocolClaim } from '../types.ts';
import { FaultList, MAX_FAULTS } from './faults.ts';
import { translateProtocols } from './protocol-aliases.ts';

/**
 * The parts of a manifest that exports are checked against. A part that is absent is not checked. A
 * whole manifest is one of these.
 */
export type ExportDemands = Partial<Pick<Manifest, 'fetchMode'>> & {
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
