import type { LoadedPlugin } from '../../plugins/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { SourceKeeper } from '../task-node.ts';

/** How often the use of a source is noted again, in seconds. */
const NOTE_EVERY = 3600;
/**
 * A source is kept for this long after the last task that it began, in seconds: results are rarely
 * read later. Unfinished tasks keep it for longer.
 */
const KEEP_SECONDS = 365 * 86_400;

export function createSourceKeeper(): SourceKeeper {
  /** When the use of a source was noted last, by its hash; there are as many as served here. */
  const notedAt = new Map<string, number>();
  const isNoted = ({ sourceHash }: LoadedPlugin, at: number): boolean => {
    const noted = notedAt.get(sourceHash);
    return noted !== undefined && at - noted < NOTE_EVERY && at >= noted;
  };
  return {
    async keep(tx, plugin, at) {
      if (isNoted(plugin, at)) return;
      const { sourceHash, key, version, source } = plugin;
      await tx.pluginSources.keep({ sourceHash, key, version, source, at });
    },
    committed(plugin, at) {
      if (!isNoted(plugin, at)) notedAt.set(plugin.sourceHash, at);
    },
  };
}

/** Deletes sources whose tasks ended long ago. The serving version reads these from then on. */
export const deleteUnusedSources = (
  { store, clock }: { store: Pick<Store, 'pluginSources'>; clock: { unix(): number } },
  limit: number,
): Promise<number> => store.pluginSources.deleteUnused(clock.unix() - KEEP_SECONDS, limit);
