import type { CapacityKey, DeclaredLimit, Repositories } from '../../store/ports/index.ts';
import { COUNTED_MS, nextStartMs } from './start-times.ts';
import type { Dispatch, Places, Scope, Start } from './types.ts';

/** A declared limit of a pool, or of one of its models. */
type Level = CapacityKey & { limit: DeclaredLimit; channelIds: readonly number[] };
/** A rest that is over, and whose trial may be claimed. */
export type DueTrial = CapacityKey & { generation: number };

/** What holds for starts in a scope. */
type Rules = {
  levels(scope: Scope): Level[];
  /** `undefined`: it rests, or its trial runs. */
  trials(scope: Scope): DueTrial[] | undefined;
};

type Notes = {
  begin(scope: Scope, task: Start): Dispatch;
  /** No start is possible there before so many milliseconds from now. */
  startsIn(key: CapacityKey, ms: number): void;
  /** Another task has the trial. */
  trialTaken(key: CapacityKey): void;
};

const keyText = ({ pool, model }: CapacityKey): string => JSON.stringify([pool, model]);

/**
 * Decides in a transaction who may start. The first statement locks the rows of what limits these
 * starts, the second counts: one statement would count as of before it waited for the lock. The
 * rows come before those of wallets, and in order, so that two transactions cannot block each other.
 */
export async function openPlaces(
  deps: { tx: Repositories; rules: Rules; notes: Notes },
  scopes: readonly Scope[],
): Promise<Places> {
  const { tx, rules, notes } = deps;
  const levels = new Map(scopes.flatMap(rules.levels).map((level) => [keyText(level), level]));
  const trials = new Map(scopes.flatMap((scope) => rules.trials(scope) ?? []).map((trial) => [keyText(trial), trial]));
  const locked = new Map<string, CapacityKey>([...levels, ...trials]);
  await tx.capacity.lock([...locked.values()].map(({ pool, model }) => ({ pool, model })));
  const asked = [...levels.values()];
  const counted = await tx.capacity.count(
    asked.map(({ channelIds, model, limit }) => ({ channelIds, model, starts: limit.maxPerMinute !== undefined })),
    COUNTED_MS,
  );
  const { nowMs } = counted;
  const taken = new Map(
    asked.map((level, index) => {
      const { running = 0, abandoned = 0, startsMs = [] } = counted.scopes[index] ?? {};
      return [keyText(level), { inUse: running + abandoned, startsMs: [...startsMs] }];
    }),
  );

  const hasPlace = (level: Level, slots: number): boolean => {
    const { inUse, startsMs } = taken.get(keyText(level)) ?? { inUse: 0, startsMs: [] };
    const { maxRunning = Number.POSITIVE_INFINITY } = level.limit;
    const startMs = nextStartMs(level.limit, startsMs);
    if (startMs > nowMs) notes.startsIn(level, startMs - nowMs);
    // A task that is larger than the limit runs alone.
    return startMs <= nowMs && (inUse + slots <= maxRunning || inUse === 0);
  };

  return {
    async take(scope, task) {
      const { taskId, slots } = task;
      const own = rules.levels(scope);
      const due = rules.trials(scope);
      // What became due or was declared a moment ago is not locked.
      if (!due || ![...own, ...due].every((one) => locked.has(keyText(one)))) return undefined;
      if (!own.every((level) => hasPlace(level, slots))) return undefined;
      for (const trial of due) {
        const { pool, model, generation } = trial;
        if (await tx.capacity.claimTrial({ pool, model }, { generation, taskId })) continue;
        notes.trialTaken(trial);
        return undefined;
      }
      for (const level of own) {
        const use = taken.get(keyText(level));
        use?.startsMs.push(nowMs);
        if (use) use.inUse += slots;
        const nextMs = nextStartMs(level.limit, use?.startsMs ?? []);
        if (nextMs > nowMs) notes.startsIn(level, nextMs - nowMs);
      }
      return { ...notes.begin(scope, task), dispatchedAtMs: nowMs };
    },
  };
}
