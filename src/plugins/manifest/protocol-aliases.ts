import { isObject, type Json } from '../../kernel/index.ts';
import type { ExportShape } from '../../sandbox/index.ts';
import type { ProtocolName, ResponsesMode } from '../types.ts';

/** Names under which published plugins of new-api's contract claim our protocols. */
const ALIASES: ReadonlyMap<string, ProtocolName> = new Map([
  ['openai_video', 'proto_video'],
  ['openai_responses', 'proto_responses'],
]);

/**
 * Every name of a protocol: as a claim in `meta.protocols` and as a key of the exported
 * `protocols`.
 */
export const PROTOCOL_SPELLINGS: Record<ProtocolName, readonly string[]> = {
  proto_video: ['proto_video', 'openai_video'],
  proto_responses: ['proto_responses', 'openai_responses'],
};

export const canonicalProtocol = (name: string): string => ALIASES.get(name) ?? name;

/**
 * The modes that the exported Responses hooks can render; a bare alias says nothing else about
 * them.
 */
function exportedModes(exports: Record<string, ExportShape>): ResponsesMode[] {
  const modes: ResponsesMode[] = [];
  for (const spelling of PROTOCOL_SPELLINGS.proto_responses) {
    const hooks = exports.protocols?.members?.[spelling]?.members ?? {};
    if (Object.hasOwn(hooks, 'renderEvents')) modes.push('stream');
    if (Object.hasOwn(hooks, 'renderFinal')) modes.push('sync', 'background');
  }
  return modes;
}

/**
 * `meta.protocols` with aliases replaced by canonical entries, so that one schema judges both;
 * positions stay.
 */
export function translateProtocols(meta: Json, exports: Record<string, ExportShape>): Json {
  if (!isObject(meta) || !Array.isArray(meta.protocols)) return meta;
  const protocols = meta.protocols.map((entry: Json): Json => {
    if (typeof entry === 'string') {
      const canonical = ALIASES.get(entry);
      if (canonical === 'proto_responses') return { name: canonical, supports: exportedModes(exports) };
      return canonical ?? entry;
    }
    if (!isObject(entry) || typeof entry.name !== 'string') return entry;
    return { ...entry, name: canonicalProtocol(entry.name) };
  });
  return { ...(meta as { [key: string]: Json }), protocols };
}
