import type { Repositories } from '../../store/ports/index.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';
import type { ServiceContext } from './context.ts';

/**
 * What belongs to the transaction that makes a source serve. It is kept for the tasks that it will
 * begin. The activation is noted, since its failures are compared with those of the version before,
 * unless it is a roll-back itself. With `adopt`, all tasks of the key that exist now are polled and
 * read by it as well, instead of the versions that began them. Returns the number of unfinished
 * ones among these.
 */
export async function serveSource(
  { clock, registry }: Pick<ServiceContext, 'clock' | 'registry'>,
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
