import type { Clock } from '../../kernel/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import type { Registry } from '../registry/create-registry.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';

/**
 * Belongs to the transaction that makes a version serve. Its source is kept for the tasks that it
 * will begin. The activation is noted, since its failures are compared with those of the version
 * before, unless it is a roll-back itself. With `adopt`, all tasks of the key that exist now are
 * polled and read by it as well, instead of the versions that began them. Returns the number of
 * unfinished ones among these.
 */
export async function recordActivation(
  { clock, registry }: { clock: Clock; registry: Pick<Registry, 'current'> },
  tx: Repositories,
  { compiled, adopt = false, isRollback = false }: { compiled: CompiledPlugin; adopt?: boolean; isRollback?: boolean },
): Promise<number> {
  const { sourceHash, source, manifest } = compiled;
  const { key, version } = manifest;
  const at = clock.unix();
  await tx.pluginSources.keep({ sourceHash, source, key, version, at });
  const former = registry.current().plugins.get(key);
  if (former && former.layer !== 'development' && former.sourceHash !== sourceHash && !isRollback) {
    await tx.pluginOutcomes.addActivation({
      ...{ key, sourceHash, version, activatedAt: at },
      ...{ formerHash: former.sourceHash, formerVersion: former.version, formerLayer: former.layer },
    });
  }
  if (!adopt) return 0;
  await tx.pluginSources.adopt({ key, by: sourceHash, at });
  return tx.tasks.countUnfinished({ platform: key });
}
