import { hasHiddenCharacters, sentence } from '../../kernel/index.ts';
import { makeFault, pointer } from '../manifest/faults.ts';
import type { RuleId } from '../manifest/rules.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { checkSource } from './check-source.ts';
import { createLocator } from './locate-fault.ts';

/**
 * Names with hidden characters, with their positions in the source. A new plugin is refused for
 * them although it compiles.
 */
export function findHiddenNames({ manifest, source }: { manifest: Manifest; source: string }): PluginFault[] {
  const faults = checkVisibleNames(manifest);
  if (faults.length === 0) return faults;
  const { program } = checkSource(source);
  return program ? faults.map(createLocator(program)) : faults;
}

/**
 * Finds names with hidden characters, by which a plugin could look like another one. This is not
 * part of `checkManifest`, because it only refuses new plugins: stored ones still serve.
 */
export function checkVisibleNames({ name, author, models }: Manifest): PluginFault[] {
  const names: [path: string, rule: RuleId, name: string][] = [
    ['/name', 'name.characters', name],
    ['/author/name', 'author.name.characters', author.name],
    ...models.map((model, index): [string, RuleId, string] => [
      pointer('models', index),
      'models.item.characters',
      model,
    ]),
  ];
  const message = sentence('fault.hidden_characters');
  return names.flatMap(([path, rule, text]) => (hasHiddenCharacters(text) ? [makeFault(path, rule, message)] : []));
}
