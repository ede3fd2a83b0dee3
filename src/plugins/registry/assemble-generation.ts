import { err, ok, type Result, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import type { Layer, LoadedPlugin } from '../types.ts';
import type { Candidate } from './active-versions.ts';
import { type Conflict, createOwnershipIndex, type OwnershipIndex } from './ownership-index.ts';

/** A plugin and the identity of its candidate, to recognise an unchanged one. */
export type Serving = { plugin: LoadedPlugin; identity: string };

export type Assembly = {
  serving: ReadonlyMap<string, Serving>;
  index: OwnershipIndex;
  /** By key: why the candidate that should serve does not. */
  errors: Record<string, Sentence>;
};

/** The plugins that may serve a key, in the order in which they are tried. */
type KeyCandidates = { key: string; incumbent: Serving | undefined; remaining: Serving[] };

const identify = ({ sourceHash, layer, narrowedModels }: Candidate): string =>
  JSON.stringify([sourceHash, layer, narrowedModels]);

/**
 * Decides which plugin serves each key: one of its candidates, or the one that serves it now. A
 * candidate that does not load, or that claims what another plugin has, leaves an error. Its key
 * stays with the plugin that serves it now, as long as that layer has a candidate, and otherwise
 * goes to the next lower layer.
 */
export async function assembleGeneration(
  candidates: readonly (readonly [key: string, candidates: readonly Candidate[]])[],
  current: ReadonlyMap<string, Serving>,
  {
    load,
    sharing,
  }: { load: (candidate: Candidate) => Promise<Result<LoadedPlugin, Sentence>>; sharing: ReadonlySet<string> },
): Promise<Assembly> {
  const errors: Record<string, Sentence> = {};
  const loadCandidates = async (key: string, layers: readonly Candidate[]): Promise<KeyCandidates> => {
    const incumbent = current.get(key);
    const entries = await Promise.all(
      layers.map(async (candidate): Promise<Serving[]> => {
        const identity = identify(candidate);
        if (incumbent?.identity === identity) return [incumbent];
        const fallback = incumbent?.plugin.layer === candidate.layer ? [incumbent] : [];
        const loaded = await load(candidate);
        if (loaded.ok) return [{ plugin: loaded.value, identity }, ...fallback];
        errors[key] ??= loaded.error;
        return fallback;
      }),
    );
    return { key, incumbent, remaining: entries.flat() };
  };
  const keys = await Promise.all(candidates.map(([key, layers]) => loadCandidates(key, layers)));
  // A refused plugin is replaced by the next one of its key, and all are admitted again: the next
  // one may have served before the others.
  for (;;) {
    const filled = fillIndex(keys, sharing);
    if (filled.ok) {
      for (const [key, { plugin }] of filled.value.serving) {
        const fault = errors[key];
        const { layer, version } = plugin;
        if (fault !== undefined) errors[key] = sentence('plugins.other_serves', { fault, layer, version });
      }
      return { ...filled.value, errors };
    }
    const { refused, conflict } = filled.error;
    errors[refused.key] ??= toSentence(conflict);
    refused.remaining.shift();
  }
}

const LAYERS: readonly Layer[] = ['development', 'database', 'factory'];

/**
 * Admits the first remaining plugin of each key. Unchanged plugins come first, then changed ones,
 * then new ones, so that no plugin loses a claim to a new one. Among these the higher layer comes
 * first, so that a plugin of a gateway upgrade takes nothing from an installed one.
 */
function fillIndex(
  keys: readonly KeyCandidates[],
  sharing: ReadonlySet<string>,
): Result<Pick<Assembly, 'serving' | 'index'>, { refused: KeyCandidates; conflict: Conflict }> {
  const index = createOwnershipIndex(sharing);
  const serving = new Map<string, Serving>();
  const rank = (incumbent: Serving | undefined, first: Serving): number =>
    (incumbent === undefined ? 20 : incumbent === first ? 0 : 10) + LAYERS.indexOf(first.plugin.layer);
  const entries = keys.flatMap((candidates) => {
    const [first] = candidates.remaining;
    return first ? [{ candidates, first, rank: rank(candidates.incumbent, first) }] : [];
  });
  for (const { candidates, first } of entries.sort((a, b) => a.rank - b.rank)) {
    const conflict = index.admit(first.plugin);
    if (conflict) return err({ refused: candidates, conflict });
    serving.set(candidates.key, first);
  }
  return ok({ serving, index });
}
