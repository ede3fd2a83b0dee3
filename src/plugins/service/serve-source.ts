import type { Repositories } from '../../store/ports/index.ts';
import type { CompiledPlugin } from '../source/compile-plugin.ts';
import type { ServiceContext } from './context.ts';

/**
 * What belongs to the transaction that makes a source serve: it is kept for the tasks that it will
 * begin. With `adopt`, all tasks of the key that exist now are polled and read by it as well,
 * instead of the versions that began them. Returns the number of unfinished ones among these.
 */
export async function serveSource(
  { clock }: Pick<ServiceContext, 'clock'>,
  tx: Repositories,
  { compiled, adopt = false }: { compiled: CompiledPlugin; adopt?: boolean },
): Promise<number> {
  const { sourceHash, source, manifest } = compiled;
  const { key, version } = manifest;
  const at = clock.unix();
  await tx.pluginSources.keep({ sourceHash, source, key, version, at });
  if (!adopt) return 0;
  await tx.pluginSources.adopt({ key, by: sourceHash, at });
  return tx.tasks.countUnfinished({ platform: key });
}
