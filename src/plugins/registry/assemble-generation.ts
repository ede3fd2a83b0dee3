import { err, ok, type Result } from '../../kernel/index.ts';
import type { Layer, LoadedPlugin } from '../types.ts';
import { createOwnershipIndex, type OwnershipIndex } from './build-index.ts';
import type { Candidate } from './choose-sources.ts';

/** A plugin with what it was made from, so that an unchanged one is recognised. */
export type Serving = { plugin: LoadedPlugin; identity: string };

export type Assembly = {
  serving: ReadonlyMap<string, Serving>;
  index: OwnershipIndex;
  /** By key: why the candidate that should serve does not. */
  errors: Record<string, string>;
};

/** Who may serve a key, in the order in which they are tried. */
type Contest = { key: string; incumbent: Serving | undefined; contenders: Serving[] };

const identityOf = ({ sourceHash, layer, narrowedModels }: Candidate): string =>
  JSON.stringify([sourceHash, layer, narrowedModels]);

/**
 * Decides who serves, of the candidates of each key and of those that serve already. A candidate
 * that does not load, or that claims what another plugin has, leaves an error; its key stays with
 * the plugin that serves it now, as long as that one's layer is still wanted, else it falls to the
 * next lower layer. What `load` says is wrong is a text for people.
 */
export async function assembleGeneration(
  candidates: readonly (readonly [key: string, candidates: readonly Candidate[]])[],
  current: ReadonlyMap<string, Serving>,
  load: (candidate: Candidate) => Promise<Result<LoadedPlugin, string>>,
): Promise<Assembly> {
  const errors: Record<string, string> = {};
  const enter = async (key: string, layers: readonly Candidate[]): Promise<Contest> => {
    const incumbent = current.get(key);
    const entries = await Promise.all(
      layers.map(async (candidate): Promise<Serving[]> => {
        const identity = identityOf(candidate);
        if (incumbent?.identity === identity) return [incumbent];
        const behind = incumbent?.plugin.layer === candidate.layer ? [incumbent] : [];
        const loaded = await load(candidate);
        if (loaded.ok) return [{ plugin: loaded.value, identity }, ...behind];
        errors[key] ??= loaded.error;
        return behind;
      }),
    );
    return { key, incumbent, contenders: entries.flat() };
  };
  const contests = await Promise.all(candidates.map(([key, layers]) => enter(key, layers)));
  // Whoever is refused leaves his place to the one behind him, and all begin anew: that one may
  // have been there before the others.
  for (;;) {
    const filled = fillIndex(contests);
    if (filled.ok) {
      for (const [key, { plugin }] of filled.value.serving) {
        if (errors[key] !== undefined) errors[key] += `; ${plugin.layer} version ${plugin.version} serves instead`;
      }
      return { ...filled.value, errors };
    }
    const { contest, message } = filled.error;
    errors[contest.key] ??= message;
    contest.contenders.shift();
  }
}

const LAYERS: readonly Layer[] = ['development', 'database', 'factory'];

/**
 * Admits the first contender of each key: who stays, then who changes, then who is new, so that
 * nobody loses a claim to a newcomer; among those the higher layer first, so that a plugin which an
 * upgrade of the gateway brings takes nothing from one that was installed.
 */
function fillIndex(
  contests: readonly Contest[],
): Result<Pick<Assembly, 'serving' | 'index'>, { contest: Contest; message: string }> {
  const index = createOwnershipIndex();
  const serving = new Map<string, Serving>();
  const rank = (incumbent: Serving | undefined, first: Serving): number =>
    (incumbent === undefined ? 20 : incumbent === first ? 0 : 10) + LAYERS.indexOf(first.plugin.layer);
  const entries = contests.flatMap((contest) => {
    const [first] = contest.contenders;
    return first ? [{ contest, first, rank: rank(contest.incumbent, first) }] : [];
  });
  for (const { contest, first } of entries.sort((a, b) => a.rank - b.rank)) {
    const conflict = index.admit(first.plugin);
    if (conflict) return err({ contest, message: conflict.message });
    serving.set(contest.key, first);
  }
  return ok({ serving, index });
}
