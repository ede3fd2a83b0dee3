import type { Clock, Logger } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { pluginErrors } from '../errors.ts';
import type { Registry } from '../registry/create-registry.ts';
import { loadPlugin } from '../registry/load-plugin.ts';
import { preflight } from '../registry/ownership-index.ts';
import type { Layer } from '../types.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';

export type ConflictContext = {
  sandbox: Sandbox;
  clock: Clock;
  logger: Logger;
  registry: Pick<Registry, 'current' | 'sharing'>;
};

/**
 * The keys that share their models, if this change is made. `shareModels`: what it says of its own
 * key; undefined: what is stored.
 */
export function sharingAfter(
  { registry }: Pick<ConflictContext, 'registry'>,
  key: string,
  shareModels: boolean | undefined,
): ReadonlySet<string> {
  if (shareModels === undefined) return registry.sharing();
  const others = [...registry.sharing()].filter((other) => other !== key);
  return new Set(shareModels ? [...others, key] : others);
}

type Served = {
  compiled: CompiledPlugin;
  layer: Layer;
  narrowedModels: string[] | null;
  shareModels?: boolean | undefined;
};

/**
 * Refuses a plugin that is in conflict with a plugin of the serving generation.
 *
 * @throws `plugins.conflict`
 */
export function refuseConflict(
  { sandbox, clock, logger, registry }: ConflictContext,
  { compiled, layer, narrowedModels, shareModels }: Served,
): void {
  const candidate = loadPlugin({ sandbox, clock, logger, compiled, layer, narrowedModels });
  const sharing = sharingAfter({ registry }, candidate.key, shareModels);
  const conflict = preflight(registry.current().plugins.values(), candidate, sharing);
  if (!conflict) return;
  const { message, reason, params, ...details } = conflict;
  throw pluginErrors.conflict({
    message: { message: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`, reason: `${reason}_refused`, params },
    details,
  });
}
