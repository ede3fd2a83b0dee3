import { isObject, type Json } from '../../kernel/index.ts';
import type { ExportShape } from '../../sandbox/index.ts';
import type { ProtocolName, ResponsesMode } from '../types.ts';

/**
 * All names of a protocol, in `meta.protocols` and as keys of the exported `protocols`: ours, and
 * that of new-api's contract, which published plugins use.
 */
export const PROTOCOL_SPELLINGS: Record<ProtocolName, readonly [own: string, alias: string]> = {
  proto_video: ['proto_video', 'openai_video'],
  proto_responses: ['proto_responses', 'openai_responses'],
  proto_image: ['proto_image', 'openai_image'],
};
const ALIASES: ReadonlyMap<string, ProtocolName> = new Map(
  Object.entries(PROTOCOL_SPELLINGS).map(([name, [, alias]]) => [alias, name as ProtocolName]),
);

export const canonicalProtocol = (name: string): string => ALIASES.get(name) ?? name;

/** The modes that the exported Responses hooks can render, for a bare alias without modes. */
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
 * Replaces aliases in `meta.protocols` with canonical entries, so that one schema covers both.
 * Positions stay the same.
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
