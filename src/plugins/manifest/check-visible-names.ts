import { hasHiddenCharacters } from '../../kernel/index.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { makeFault, pointer } from './faults.ts';
import type { RuleId } from './rules.ts';

/**
 * Names by which a plugin could look like another one. No part of `checkManifest`: a plugin that
 * has been stored already still serves; only a new one is refused.
 */
export function checkVisibleNames({ name, author, models }: Manifest): PluginFault[] {
  const named: [path: string, rule: RuleId, name: string][] = [
    ['/name', 'name.characters', name],
    ['/author/name', 'author.name.characters', author.name],
    ...models.map((model, index): [string, RuleId, string] => [
      pointer('models', index),
      'models.item.characters',
      model,
    ]),
  ];
  const message = 'must have no control characters, no invisible ones, and none that change the direction of text';
  return named.flatMap(([path, rule, text]) => (hasHiddenCharacters(text) ? [makeFault(path, rule, message)] : []));
}
