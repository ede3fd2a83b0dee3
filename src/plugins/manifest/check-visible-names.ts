import { hasHiddenCharacters } from '../../kernel/index.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { makeFault, pointer } from './faults.ts';
import type { RuleId } from './rules.ts';

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
  const message = 'must have no control characters, no invisible ones, and none that change the direction of text';
  return names.flatMap(([path, rule, text]) => (hasHiddenCharacters(text) ? [makeFault(path, rule, message)] : []));
}
