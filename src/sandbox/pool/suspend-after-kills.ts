import { type Clock, SYSTEM_OWNER } from '../../kernel/index.ts';
import type { KillCount, SandboxLimits } from '../types.ts';

/**
 * A plugin is suspended for everybody only after kills of this many owners, which one caller cannot
 * cause alone.
 */
const OWNERS_TO_SUSPEND = 3;
/** Most plugins and owners to remember; the longest unchanged are forgotten first. */
const MAX_REMEMBERED = 30_000;
/** Plugins that are counted by name; further ones are counted together as `other`. */
const MAX_COUNTED = 1_000;
const OTHERS = 'other';

/**
 * The consequence of a kill: none yet, or the plugin is refused for a while to this owner, or to
 * everybody.
 */
export type KillVerdict = 'none' | 'owner_refused' | 'plugin_suspended';

/**
 * Counts kills by plugin and owner, in the memory of this process. A kill is a call that had to be
 * stopped: at its deadline, at its memory limit, or with its process. After `killsToSuspend` kills
 * of one owner within `killWindowMs`, the plugin is refused to that owner. It is suspended for
 * everybody when as many kills come from three owners or more, or from `system` alone.
 */
export interface KillCounter {
  record(plugin: string, owner: string): KillVerdict;
  /** Milliseconds until the suspension ends; 0 when there is none. */
  suspendedMs(plugin: string): number;
  /**
   * Milliseconds until this owner may use the plugin again; 0 when they may. Ignores a suspension.
   */
  refusedMs(plugin: string, owner: string): number;
  /** Whether a call of this owner had to be killed within the window. */
  hasKilled(plugin: string, owner: string): boolean;
  suspended(): string[];
  /** Kills since the start. */
  counts(): KillCount[];
  /** Entries in memory, of all kinds together. */
  size(): number;
}

/**
 * `all`: times of the kills within the window; `sinceRefusal`: how many kills followed after the
 * plugin was last refused to the owner.
 */
type OwnerKills = { all: number[]; sinceRefusal: number };
type Limits = Pick<SandboxLimits, 'killsToSuspend' | 'killWindowMs' | 'suspendMs'>;

export function createKillCounter(limits: Limits, clock: Clock): KillCounter {
  /** By plugin, then by owner. A plugin has at most `killsToSuspend` owners here, or two. */
  const kills = new Map<string, Map<string, OwnerKills>>();
  const refusedUntil = new Map<string, number>();
  const suspendedUntil = new Map<string, number>();
  const counts = new Map<string, KillCount>();

  const toPairKey = (plugin: string, owner: string): string => `${plugin}\n${owner}`;

  function leftMs(until: Map<string, number>, key: string): number {
    const end = until.get(key);
    if (end === undefined) return 0;
    const left = end - clock.monotonicMs();
    if (left <= 0) until.delete(key);
    return Math.max(0, left);
  }

  function recentKills(plugin: string, now: number): Map<string, OwnerKills> {
    const recent = new Map<string, OwnerKills>();
    for (const [owner, own] of kills.get(plugin) ?? []) {
      const all = own.all.filter((at) => now - at < limits.killWindowMs);
      if (all.length > 0) recent.set(owner, { ...own, all });
    }
    return recent;
  }

  function count(plugin: string, owner: string): void {
    const kind = owner === SYSTEM_OWNER ? 'system' : 'user';
    const name = counts.size < MAX_COUNTED || counts.has(toPairKey(plugin, kind)) ? plugin : OTHERS;
    const key = toPairKey(name, kind);
    counts.set(key, { plugin: name, owner: kind, kills: (counts.get(key)?.kills ?? 0) + 1 });
  }

  return {
    record(plugin, owner) {
      count(plugin, owner);
      const now = clock.monotonicMs();
      const byOwner = recentKills(plugin, now);
      const own = byOwner.get(owner) ?? { all: [], sinceRefusal: 0 };
      own.all.push(now);
      own.sinceRefusal++;
      byOwner.set(owner, own);
      const total = [...byOwner.values()].reduce((sum, { all }) => sum + all.length, 0);
      const isWidespread = byOwner.size >= OWNERS_TO_SUSPEND && total >= limits.killsToSuspend;
      const isTooMany = Math.min(own.sinceRefusal, own.all.length) >= limits.killsToSuspend;
      if (isWidespread || (isTooMany && owner === SYSTEM_OWNER)) {
        kills.delete(plugin);
        remember(suspendedUntil, plugin, now + limits.suspendMs);
        return 'plugin_suspended';
      }
      remember(kills, plugin, byOwner);
      if (!isTooMany) return 'none';
      own.sinceRefusal = 0;
      remember(refusedUntil, toPairKey(plugin, owner), now + limits.suspendMs);
      return 'owner_refused';
    },
    suspendedMs: (plugin) => leftMs(suspendedUntil, plugin),
    refusedMs: (plugin, owner) => leftMs(refusedUntil, toPairKey(plugin, owner)),
    hasKilled(plugin, owner) {
      const last = kills.get(plugin)?.get(owner)?.all.at(-1);
      return last !== undefined && clock.monotonicMs() - last < limits.killWindowMs;
    },
    suspended: () => [...suspendedUntil.keys()].filter((plugin) => leftMs(suspendedUntil, plugin) > 0),
    counts: () => [...counts.values()],
    size: () => kills.size + refusedUntil.size + suspendedUntil.size + counts.size,
  };
}

/** Sets a value as the newest entry, and deletes the oldest beyond the limit. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  const [earliest] = map.keys();
  if (earliest !== undefined) map.delete(earliest);
}
