import type { Clock, Logger, Random } from '../../kernel/index.ts';
import type { CapacityKey, CapacityRecord, RestEvent, Store } from '../../store/ports/index.ts';
import { credentialPool } from './declared-limits.ts';
import {
  afterAcceptance,
  afterConfirmedFull,
  afterFailedProbe,
  isGrowing,
  type LearnedCeiling,
  probeAtMs,
  recordInFlight,
  setCeiling,
  startCeiling,
} from './learned-ceiling.ts';
import { keyText } from './pools.ts';
import { NO_REST, nextRest, type Rest, restReason } from './rests.ts';
import type { CeilingReason, Dispatch, RestReason } from './types.ts';
import { noUnanswered, type UnansweredTasks } from './unanswered-tasks.ts';
import { newVendorQueue, type VendorQueue } from './vendor-queue.ts';
import { NO_REFUSALS, type Refusals, weighAcceptance, weighRefusal } from './weigh-refusals.ts';

/** Ends and trials come later by a random tenth at most, so that nodes do not coincide. */
const SPREAD = 0.1;
/** This many tasks may be sent at once after a rest; each acceptance doubles the number. */
const FIRST_WINDOW = 2;
const LAST_WINDOW = 64;
/** How soon a rest that could not be stored is stored again. */
const STORE_AGAIN_MS = 1000;

export type PoolState = CapacityKey &
  Refusals & {
    key: string;
    rest: Rest;
    learned: LearnedCeiling;
    /** The ceiling as stored; 0: none. */
    stored: number;
    /** How many may be sent at once after a rest; `undefined`: as many as there are free slots. */
    window: number | undefined;
    /** Tasks that were begun there on this node. */
    starts: number;
    unanswered: UnansweredTasks;
    /** What a vendor gets that queues by itself. */
    vendorQueue: VendorQueue;
    /** A refusal of this start, or of an earlier one, teaches nothing more. */
    learnedUpTo: number;
    /** Writes on their way: what the database says is older than this. */
    writes: number;
  };

type BegunRest = { generation: number; reason: string; step: number; untilMs: number; event: RestEvent | null };

/** What people read of a rest; null: a full account is not an event. */
function toEvent(
  { pool, model }: CapacityKey,
  { scope }: Dispatch,
  { reason, what }: Pick<RestEvent, 'reason' | 'what'>,
): RestEvent | null {
  if (reason === 'capacity') return null;
  const { channelId } = scope;
  const credentialId = pool === credentialPool(scope) ? scope.credentialId : 0;
  return { channelId, credentialId, model, reason, what };
}

type Full = {
  retryAfterMs?: number;
  learns: boolean;
  /** Accepted tasks of the model. */
  running: () => number;
  /** Accepted tasks of all models of the account. */
  runningInPool: number;
  recount: () => Promise<void>;
};

/** Rests and learned ceilings: decided in memory at once, then stored for the other nodes. */
export function createPoolStates(deps: {
  store: Store;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** The slots in use there. */
  inFlight: (key: CapacityKey) => number;
  emit: (freed: CapacityKey) => void;
  emitIn: (freed: CapacityKey, ms: number) => void;
  stopped: AbortSignal;
}) {
  const { store, clock, random, logger, inFlight, emit, emitIn, stopped } = deps;
  const states = new Map<string, PoolState>();
  const begun = new Map<RestReason, number>();
  let lost = () => {};
  const share = () => random.below(1000 * SPREAD) / 1000;

  function find({ pool, model }: CapacityKey): PoolState {
    const key = keyText({ pool, model });
    const found = states.get(key);
    if (found) return found;
    const state: PoolState = {
      ...{ pool, model, key, rest: { ...NO_REST }, learned: startCeiling(share()), stored: 0 },
      ...{ window: undefined, starts: 0, learnedUpTo: 0, ...NO_REFUSALS, writes: 0 },
      ...{ unanswered: noUnanswered(), vendorQueue: newVendorQueue() },
    };
    states.set(key, state);
    return state;
  }

  /** Stores a change. One that another node has overtaken is read again. */
  async function write(state: PoolState, change: () => Promise<boolean>): Promise<void> {
    state.writes += 1;
    let isStored = false;
    try {
      isStored = await change();
      if (isStored) await store.publish('capacity');
    } catch (error) {
      logger.warn({ err: error, pool: state.pool, model: state.model }, 'the state of a pool could not be stored');
    } finally {
      state.writes -= 1;
    }
    if (!isStored) lost();
  }

  /**
   * Stores a rest for as long as the database does not answer: a rest that is in memory alone would
   * never end, since the database gives its trial away. False: another node has overtaken it, or it
   * was stored before and the answer was lost.
   */
  async function storeRest({ pool, model }: PoolState, { untilMs, event, ...rest }: BegunRest): Promise<boolean> {
    for (;;) {
      try {
        const forMs = Math.max(0, untilMs - clock.monotonicMs());
        return await store.capacity.beginRest({ pool, model }, { ...rest, forMs }, event);
      } catch (error) {
        if (stopped.aborted) throw error;
        logger.warn({ err: error, pool, model }, 'a rest could not be stored; retrying');
        await clock.sleep(STORE_AGAIN_MS, stopped);
      }
    }
  }

  /** The slots of the new ceiling may be taken already, and then a probe is due later. */
  function setLearned(state: PoolState, learned: LearnedCeiling): void {
    const nowMs = clock.monotonicMs();
    state.learned = learned;
    recordInFlight(learned, inFlight(state), nowMs);
    const probeMs = probeAtMs(learned);
    if (probeMs !== undefined) emitIn(state, probeMs - nowMs);
  }

  function learn(state: PoolState, learned: LearnedCeiling | undefined): void {
    if (!learned) return;
    const { stored: before } = state;
    const { ceiling: after, reason } = learned;
    setLearned(state, learned);
    state.stored = after;
    const { pool, model } = state;
    logger.info({ pool, model, ceiling: after, reason }, 'learned how many tasks an account runs at once');
    void write(state, () => store.capacity.putCeiling({ pool, model }, { before, after, reason }));
    emit({ pool, model });
  }

  /** Begins a rest; false: the answer belongs to a request from before the latest one. */
  function beginRest(
    state: PoolState,
    dispatch: Dispatch,
    { kind, retryAfterMs }: { kind: RestReason; retryAfterMs?: number },
  ): boolean {
    const { pool, model, rest: before } = state;
    if (dispatch.generations.get(state.key) !== before.generation) return false;
    const { forMs, ...next } = nextRest(before, {
      ...{ reason: kind, share: share() },
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
    const since = before.reason === kind ? before.since : clock.unix();
    const untilMs = clock.monotonicMs() + forMs;
    state.rest = { ...NO_REST, ...next, since, untilMs };
    begun.set(kind, (begun.get(kind) ?? 0) + 1);
    state.window = undefined;
    const line = { pool, model, reason: kind, seconds: Math.ceil(forMs / 1000), in_a_row: next.step };
    logger[kind === 'capacity' ? 'info' : 'warn'](line, 'nothing is sent to an account for a while');
    const { reason, step } = next;
    const event = toEvent(state, dispatch, { reason, what: step === 1 ? 'rested' : 'tried' });
    void write(state, () => storeRest(state, { generation: before.generation, reason, step, untilMs, event }));
    emitIn({ pool, model }, forMs);
    return true;
  }

  return {
    find,
    begunRests: (): ReadonlyMap<RestReason, number> => begun,
    /** Forgets the refusals that have not made it certain that a pool is full. */
    forgetRefusals(pool: string): void {
      for (const state of states.values()) {
        if (state.pool !== pool) continue;
        Object.assign(state, NO_REFUSALS);
      }
    },
    all: () => states.values(),
    list: (pool: string): PoolState[] => [...states.values()].filter((state) => state.pool === pool),
    /** `listener`: what is stored is newer than this node's memory. */
    onLost(listener: () => void): void {
      lost = listener;
    },
    beginRest,

    /** Ends the rest whose trial was accepted. */
    endRest(state: PoolState, dispatch: Dispatch): void {
      const { pool, model, rest } = state;
      const isTrial = rest.reason !== '' && rest.trialTaskId === dispatch.taskId;
      if (!isTrial || dispatch.generations.get(state.key) !== rest.generation) return;
      state.rest = { ...NO_REST, generation: rest.generation };
      state.window = FIRST_WINDOW;
      logger.info({ pool, model, reason: rest.reason }, 'tasks are sent to an account again');
      const event = toEvent(state, dispatch, { reason: rest.reason, what: 'back' });
      void write(state, () => store.capacity.endRest({ pool, model }, rest.generation, event));
      emit({ pool, model });
    },

    widen(state: PoolState): void {
      if (state.window === undefined) return;
      state.window = state.window >= LAST_WINDOW ? undefined : state.window * 2;
      emit({ pool: state.pool, model: state.model });
    },

    /** `running`: accepted tasks on all nodes, this one included. */
    accept(state: PoolState, dispatch: Dispatch, { running, learns }: { running: number; learns: boolean }): void {
      const { learned, suspectedFull } = state;
      weighAcceptance(state, running);
      if (suspectedFull && isGrowing(learned)) return;
      const { isProbe } = dispatch;
      if (learns) learn(state, afterAcceptance(learned, { isProbe, running, nowMs: clock.monotonicMs() }));
    },

    /** The vendor refused a task because it already runs as many as it may. */
    refuseFull(state: PoolState, dispatch: Dispatch, full: Full): void {
      const { retryAfterMs, learns, running, runningInPool, recount } = full;
      const { rest, suspectedFull: before } = state;
      const { isProbe } = dispatch;
      const others = running();
      const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
      if (learns && (isProbe || (state.learned.reason === 'raised' && runningInPool > 0))) {
        learn(state, afterFailedProbe(state.learned, { isProbe }));
        beginRest(state, dispatch, { kind: 'capacity', ...wait });
        return;
      }
      if (dispatch.start <= state.learnedUpTo) return;
      const nowMs = clock.monotonicMs();
      const { suspected, isCertain } = weighRefusal(state, {
        running: others,
        heldUntilMs: nowMs + (retryAfterMs ?? 0),
      });
      if (suspected.heldUntilMs > nowMs) emitIn(state, suspected.heldUntilMs - nowMs);
      if (isCertain) state.learnedUpTo = state.starts;
      const isTrial = rest.reason !== '';
      // A trial that is refused before it is certain says "full", and not "too fast".
      const kind =
        isTrial && before && suspected.running > 0
          ? 'capacity'
          : restReason('capacity', { rest, runningOthers: runningInPool });
      const rests = isCertain || isTrial || runningInPool < 1;
      if (rests && kind) beginRest(state, dispatch, { kind, ...wait });
      // Other nodes have tasks there too.
      void recount()
        .catch((error: unknown) => logger.warn({ err: error }, 'running tasks could not be counted'))
        .then(() => {
          if (state.suspectedFull !== suspected) return;
          const most = Math.max(others, running());
          suspected.running = Math.max(suspected.running, most);
          if (!isCertain) return;
          state.suspectedFull = undefined;
          if (learns) learn(state, afterConfirmedFull(state.learned, { running: most, nowMs: clock.monotonicMs() }));
        });
    },

    /** Takes over what other nodes stored. */
    apply(rows: readonly CapacityRecord[]): void {
      for (const row of rows) {
        const { pool, model } = row;
        const state = find(row);
        if (state.writes > 0 || row.restGeneration < state.rest.generation) continue;
        if (row.ceiling !== state.stored) {
          state.stored = row.ceiling;
          const reason = row.ceilingReason as CeilingReason;
          const { ceiling } = row;
          state.suspectedFull = undefined;
          setLearned(state, ceiling === 0 ? startCeiling(share()) : setCeiling(state.learned, { ceiling, reason }));
        }
        const isKnown = row.restGeneration === state.rest.generation && row.restReason === state.rest.reason;
        if (!isKnown) {
          const untilMs = clock.monotonicMs() + row.restingForMs;
          const reason = row.restReason as Rest['reason'];
          const since = state.rest.reason === reason ? state.rest.since : row.changedAt;
          state.rest = { ...NO_REST, reason, untilMs, since, step: row.restStep, generation: row.restGeneration };
          if (reason === '') state.window = FIRST_WINDOW;
          emitIn({ pool, model }, row.restingForMs);
        }
      }
    },
  };
}

export type PoolStates = ReturnType<typeof createPoolStates>;

/**
 * Reports free slots after this many milliseconds, unless it has reported them earlier. It stays
 * silent once `stopped` is aborted.
 */
export function createSlotNotices(
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  { stopped, tell }: { stopped: AbortSignal; tell: (freed: CapacityKey) => void },
) {
  const dueTimes = new Map<string, number>();
  return (freed: CapacityKey, ms: number): void => {
    const key = keyText(freed);
    const at = clock.monotonicMs() + ms;
    if ((dueTimes.get(key) ?? Number.POSITIVE_INFINITY) <= at) return;
    dueTimes.set(key, at);
    void clock.sleep(Math.max(1, ms), stopped).then(() => {
      if (dueTimes.get(key) === at) dueTimes.delete(key);
      if (!stopped.aborted) tell(freed);
    });
  };
}
