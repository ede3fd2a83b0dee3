import { type ListedTask, modelKey, type Store } from '../store/ports/index.ts';
import type { FigureReader, Figures } from './read-figures.ts';

/** The days whose models are looked for among older tasks. */
const FIGURE_DAYS = 30;

/** The latest success of each model, of one user or of all, the newest first. */
export type LatestResultReader = (filter: { userId?: number }) => Promise<ListedTask[]>;

/** Results are cached as long as the figures that say which models have any. */
export function createLatestResultReader(deps: { store: Store; figures: FigureReader }): LatestResultReader {
  const cached = new WeakMap<Figures, Promise<ListedTask[]>>();
  return async (filter) => {
    const figures = await deps.figures({ days: FIGURE_DAYS, ...filter });
    const known = cached.get(figures);
    if (known) return known;
    // A relayed request is no task.
    const used = figures.models.filter(({ pluginKey, succeeded }) => succeeded > 0 && pluginKey !== '*');
    const sought = new Set(used.map(({ pluginKey: platform, model }) => modelKey({ platform, model })));
    const read = deps.store.tasks.latestSuccesses(filter, sought);
    cached.set(figures, read);
    // A failure is not cached.
    read.catch(() => cached.delete(figures));
    return read;
  };
}
