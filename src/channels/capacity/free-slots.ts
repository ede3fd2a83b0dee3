import type { CapacityKey } from '../../store/ports/index.ts';
import { freeSlotsBelow, isGrowing, probeAtMs, recordInFlight } from './learned-ceiling.ts';
import type { DueTrial } from './lock-slots.ts';
import type { PoolState } from './pool-states.ts';
import { restPhase } from './rests.ts';
import type { NextStarts, RunningSlots } from './running-slots.ts';
import type { Level, Scope } from './types.ts';
import { findQueueRoom, MOST_QUEUED } from './vendor-queue.ts';

/** Nodes that may send to the same accounts, and the turn of this one when slots are divided. */
export type NodeShare = { count: number; turn: number };

type FreeSlotsDeps = {
  monotonicMs: () => number;
  slots: Pick<RunningSlots, 'find'>;
  levels(scope: Scope): readonly Level[];
  ofModel(scope: Scope): PoolState;
  /** The states that may rest: of the channel, its credential, and the model in its pool. */
  restable(scope: Scope): readonly PoolState[];
  nextStarts: Pick<NextStarts, 'isTooSoon'>;
  /** Whether the vendor of an account accepts more than it runs. */
  queues(credentialId: number): boolean;
  nodes(): NodeShare;
};

/** The slots that are free as far as this node knows; declared limits are decided in the store. */
export function createFreeSlots(deps: FreeSlotsDeps) {
  const { monotonicMs: mono, slots, levels, ofModel, restable, nextStarts, queues, nodes } = deps;

  const isDeclared = (scope: Scope): boolean => levels(scope).some(({ limit }) => limit.maxRunning !== undefined);

  /** How many more tasks a vendor gets that accepts all of them and queues by itself. */
  function findRoomAtVendor(scope: Scope): number {
    if (!queues(scope.credentialId)) return Number.POSITIVE_INFINITY;
    const counted = slots.find(scope.pool, scope.model);
    // Up to a declared limit, the vendor gets tasks until it queues.
    if (isDeclared(scope)) return counted.queued > MOST_QUEUED ? 0 : Number.POSITIVE_INFINITY;
    return findQueueRoom(ofModel(scope).vendorQueue, counted);
  }

  const phases = (scope: Scope) => {
    const nowMs = mono();
    return restable(scope).map((state) => ({ state, phase: restPhase(state.rest, nowMs) }));
  };
  /** The trials that a start would be; `undefined`: none may start. */
  function dueTrials(scope: Scope): DueTrial[] | undefined {
    const found = phases(scope);
    if (found.some(({ phase }) => phase === 'resting') || findRoomAtVendor(scope) === 0) return undefined;
    return found.flatMap(({ state: { pool, model, rest }, phase }) =>
      phase === 'trial' ? [{ pool, model, generation: rest.generation }] : [],
    );
  }

  const shareFor = (free: number): number => Math.floor((Math.max(0, free) + nodes().turn) / nodes().count);

  function learnedFreeSlots(scope: Scope): number {
    const { learned, suspectedFull: full, window: widest = Number.POSITIVE_INFINITY } = ofModel(scope);
    const { sending, counted, abandoned, ...found } = slots.find(scope.pool, scope.model);
    const most = full ? full.running + (full.heldUntilMs > mono() ? 0 : 1) : Number.POSITIVE_INFINITY;
    // A task whose vendor may or may not have a job says nothing of what the vendor runs.
    const beyond = most - found.accepted - sending;
    const window = Math.min(widest, sending + Math.max(0, beyond), sending + findRoomAtVendor(scope));
    if (isDeclared(scope)) return Math.max(0, window - sending);
    // Where no refusal has shown a limit, what a crash left behind holds nobody up.
    const inFlight = isGrowing(learned) ? found.inFlight - abandoned : found.inFlight;
    const free = Math.min(freeSlotsBelow(learned, inFlight, mono()), window - sending);
    if (nodes().count === 1 || inFlight >= learned.ceiling) return Math.max(0, free);
    // Another node may take what was free when it was counted: until the next count each has a
    // share.
    const share = Math.max(isGrowing(learned) ? 1 : 0, shareFor(learned.ceiling - counted)) + counted - inFlight;
    return Math.max(0, Math.min(free, share));
  }

  function freeSlots(scope: Scope): number {
    const due = dueTrials(scope);
    if (!due) return 0;
    let free = learnedFreeSlots(scope);
    for (const level of levels(scope)) {
      const { pool, model, limit } = level;
      if (nextStarts.isTooSoon(level)) return 0;
      if (limit.maxRunning !== undefined) free = Math.min(free, limit.maxRunning - slots.find(pool, model).inFlight);
    }
    return Math.max(0, due.length > 0 ? Math.min(free, 1) : free);
  }

  /**
   * A task that is larger than what is free waits, as it would beside a declared limit: unless
   * nothing else runs, nothing has shown a limit yet, or it probes whether the vendor runs more.
   */
  function lacking(scope: Scope, wanted: number, held = 0): CapacityKey | undefined {
    const { learned, pool, model } = ofModel(scope);
    if (wanted <= 1 || isDeclared(scope) || isGrowing(learned)) return undefined;
    const { inFlight } = slots.find(pool, model);
    if (inFlight <= held || inFlight + wanted - held <= learned.ceiling) return undefined;
    const nowMs = mono();
    const probeMs = probeAtMs(learned);
    if (held === 0 && probeMs !== undefined && probeMs <= nowMs) return undefined;
    // For it all slots are taken, however few are free.
    recordInFlight(learned, learned.ceiling, nowMs);
    return { pool, model };
  }

  return {
    isDeclared,
    dueTrials,
    wantsTrial: (scope: Scope): boolean => (dueTrials(scope)?.length ?? 0) > 0,
    learnedFreeSlots,
    freeSlots,
    lacking,
    isResting: (scope: Scope): boolean => phases(scope).some(({ phase }) => phase === 'resting'),
  };
}
