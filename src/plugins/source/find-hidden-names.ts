import { checkVisibleNames } from '../manifest/check-visible-names.ts';
import type { PluginFault } from '../types.ts';
import { checkSource } from './check-source.ts';
import type { CompiledPlugin } from './compile-plugin.ts';
import { createLocator } from './locate-fault.ts';

/**
 * Names with hidden characters, with their positions in the source. A new plugin is refused for
 * them although it compiles.
 */
export function findHiddenNames({ manifest, source }: Pick<CompiledPlugin, 'manifest' | 'source'>): PluginFault[] {
  const faults = checkVisibleNames(manifest);
  if (faults.length === 0) return faults;
  const { program } = checkSource(source);
  return program ? faults.map(createLocator(program)) : faults;
}
