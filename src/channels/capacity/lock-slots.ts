import type { CapacityKey, Repositories } from '../../store/ports/index.ts';
import { keyText } from './pools.ts';
import { COUNTED_MS, nextStartMs } from './running-slots.ts';
import type { Dispatch, Level, LockedSlots, Scope, Start } from './types.ts';

/** A rest that is over, and whose trial may be claimed. */
export type DueTrial = CapacityKey & { generation: number };

/** The limits of starts in a scope. */
type Rules = {
  levels(scope: Scope): Level[];
  /** The trials that may be claimed; `undefined`: the scope rests, or its trial runs. */
  trials(scope: Scope): DueTrial[] | undefined;
  /** Free slots by learned ceilings and after a rest; declared limits are counted here. */
  learnedFreeSlots(scope: Scope): number;
  /** How long ago this node's starts were that their vendor refused, the oldest first. */
  refusedAgesMs(key: CapacityKey): number[];
  nodeId: string;
};

type Notes = {
  begin(scope: Scope, task: Start): Dispatch;
  /** Milliseconds from now until a start is possible there. */
  startsIn(level: Level, ms: number): void;
  /** Another task has the trial. */
  trialTaken(key: CapacityKey): void;
};

/**
 * Locks the slots of `scopes` for a transaction, and takes those of the tasks that it starts: a
 * declared limit or a trial is never taken twice. The first statement locks the rows of what limits
 * these starts, the second counts: one statement would count what was there before it waited for
 * the lock. The rows come before those of wallets, and in order, so that transactions cannot block
 * each other.
 */
export async function lockSlots(
  deps: { tx: Repositories; rules: Rules; notes: Notes; relayed: (key: CapacityKey) => number },
  scopes: readonly Scope[],
): Promise<LockedSlots> {
  const { tx, rules, notes, relayed } = deps;
  const levels = new Map(scopes.flatMap(rules.levels).map((level) => [keyText(level), level]));
  const trials = new Map(scopes.flatMap((scope) => rules.trials(scope) ?? []).map((trial) => [keyText(trial), trial]));
  const locked = new Map<string, CapacityKey>([...levels, ...trials]);
  await tx.capacity.lock([...locked.values()].map(({ pool, model }) => ({ pool, model })));
  const asked = [...levels.values()];
  const counted = await tx.capacity.count(
    asked.map(({ accounts, model, limit, relays }) => ({
      ...{ accounts, model, starts: limit.maxPerMinute !== undefined },
      // Relayed requests of this node may have no row yet.
      relaysExcept: relays && model === '' ? rules.nodeId : undefined,
    })),
    COUNTED_MS,
  );
  const { nowMs } = counted;
  const taken = new Map(
    asked.map((level, index) => {
      const { running = 0, abandoned = 0, startsMs = [] } = counted.scopes[index] ?? {};
      const refusedMs = rules.refusedAgesMs(level).map((ageMs) => nowMs - ageMs);
      const all = [...startsMs, ...refusedMs].sort((a, b) => a - b);
      return [keyText(level), { inUse: running + abandoned, startsMs: all }];
    }),
  );

  const readUse = (level: Level) => taken.get(keyText(level)) ?? { inUse: 0, startsMs: [] };
  /** Slots that are free at a level; 0 until its rate allows the next start. */
  function freeSlots(level: Level): number {
    const { inUse: tasks, startsMs } = readUse(level);
    const inUse = tasks + relayed(level);
    const startMs = nextStartMs(level.limit, startsMs);
    if (startMs > nowMs) {
      notes.startsIn(level, startMs - nowMs);
      return 0;
    }
    return Math.max(0, (level.limit.maxRunning ?? Number.POSITIVE_INFINITY) - inUse);
  }
  /** A task that is larger than the limit runs alone. */
  const fits = (level: Level, slots: number): boolean => {
    const free = freeSlots(level);
    return free >= slots || (free > 0 && readUse(level).inUse + relayed(level) === 0);
  };
  /** Rests that end with this task; `undefined`: it rests, or something is not locked. */
  function findTrials(scope: Scope): DueTrial[] | undefined {
    const due = rules.trials(scope);
    return due && [...rules.levels(scope), ...due].every((one) => locked.has(keyText(one))) ? due : undefined;
  }

  return {
    left(scope) {
      const due = findTrials(scope);
      if (!due) return 0;
      const own = rules.levels(scope);
      // Whether a second one may start at once is known when the first has.
      const most =
        due.length > 0 || own.some(({ limit }) => limit.maxPerMinute !== undefined) ? 1 : rules.learnedFreeSlots(scope);
      return Math.min(most, ...own.map(freeSlots));
    },

    lacking(scope, slots) {
      // That of the model first: other models need not wait for it.
      const level = rules.levels(scope).findLast((each) => freeSlots(each) > 0 && !fits(each, slots));
      return level && { pool: level.pool, model: level.model };
    },

    async take(scope, task) {
      const { taskId, slots } = task;
      const own = rules.levels(scope);
      const due = findTrials(scope);
      if (!due || !own.every((level) => fits(level, slots))) return undefined;
      for (const trial of due) {
        const { pool, model, generation } = trial;
        if (await tx.capacity.claimTrial({ pool, model }, { generation, taskId })) continue;
        notes.trialTaken(trial);
        return undefined;
      }
      for (const level of own) {
        const use = readUse(level);
        use.startsMs.push(nowMs);
        use.inUse += slots;
        const nextMs = nextStartMs(level.limit, use.startsMs);
        if (nextMs > nowMs) notes.startsIn(level, nextMs - nowMs);
      }
      return { ...notes.begin(scope, task), dispatchedAtMs: nowMs };
    },
  };
}
