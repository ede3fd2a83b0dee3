/**
 * Decides how many tasks accounts run at once and in a minute, by declared limits or learned ones,
 * and when they rest. Declared limits are counted in the database, learned ones in this node's
 * memory.
 */
import { type Clock, createReplica, type Logger, type Random, sleepInStep } from '../../kernel/index.ts';
import {
  type CapacityKey,
  type ChannelRecord,
  type DeclaredLimit,
  NODE_ALIVE_SECONDS,
  STATUS,
  type Store,
} from '../../store/ports/index.ts';
import type { VendorAccount } from '../pick-account.ts';
import { createAccountWatches } from './account-watches.ts';
import { credentialPool, mergeLimits, ownPool } from './declared-limits.ts';
import { describeCapacity } from './describe-capacity.ts';
import { createFreeSlots, type NodeShare } from './free-slots.ts';
import { forgetProbe, probeAtMs, recordInFlight, recordStart } from './learned-ceiling.ts';
import { lockSlots } from './lock-slots.ts';
import { createPoolStates, createSlotNotices, type PoolState } from './pool-states.ts';
import { createPoolIndex, findChannelPool, findPool, heldSlots, keyText, listPools } from './pools.ts';
import { createRelaySlots } from './relay-slots.ts';
import { createNextStarts, createRefusedStarts, createRunningSlots } from './running-slots.ts';
import type {
  CapacityService,
  Dispatch,
  HeldSlots,
  Level,
  LimitedKey,
  Refusal,
  RestEvent,
  Scope,
  Start,
} from './types.ts';
import { countRunning } from './unanswered-tasks.ts';
import { followQueue } from './vendor-queue.ts';

/** How often running tasks are counted again while some run. */
const RECOUNT_MS = 5000;
/** The interval of the only node while nothing runs, which is also that of its other loops. */
const IDLE_RECOUNT_MS = 15_000;
/** The interval where other nodes send to the same accounts. */
const SHARED_RECOUNT_MS = 1000;
/** How long a node keeps the remainder when free slots are divided among nodes. */
const SHARE_SECONDS = 3;
/** Another node has the trial: look again after this. */
const TRIAL_AGAIN_MS = 2000;

export function createCapacity(deps: {
  store: Store;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** This node's row among `nodes`. */
  nodeId: string;
  /** All accounts in this node's replica; a new list after each change. */
  accounts: () => readonly VendorAccount[];
  /** Whether the vendor of a channel accepts more than it runs. Default: none does. */
  queues?: (channel: ChannelRecord) => boolean;
  syncFrequencyMs: number;
}): CapacityService {
  const { store, clock, random, logger } = deps;
  const mono = () => clock.monotonicMs();
  const stopping = new AbortController();
  const listeners = new Set<(freed: CapacityKey) => void>();
  const watches = createAccountWatches(mono);
  const nextStarts = createNextStarts(mono);
  const refusedStarts = createRefusedStarts(clock);
  let isTouched = false;
  let nodes: NodeShare = { count: 1, turn: 0 };

  const pools = createPoolIndex(deps.accounts, () => slots.rebuild());
  const slots = createRunningSlots({ clock, findPool: pools.findLast });

  /** Notifies listeners of free slots. A rest of an account concerns the pool that it shares. */
  function emit({ pool, model }: CapacityKey): void {
    const [channelId, credentialId] = pool.startsWith('#') ? pool.slice(1).split('/').map(Number) : [];
    const shared = channelId === undefined ? pool : pools.findLast({ channelId, credentialId: credentialId ?? null });
    for (const listener of listeners) listener({ pool: shared, model });
  }
  const emitIn = createSlotNotices(clock, { stopped: stopping.signal, tell: emit });

  const states = createPoolStates({
    ...{ store, clock, random, logger, emit, emitIn, stopped: stopping.signal },
    inFlight: ({ pool, model }) => slots.find(pool, model).inFlight,
  });
  const { find } = states;
  const replica = createReplica({
    topic: 'capacity',
    read: () => store.capacity.all(),
    apply: states.apply,
    subscribe: store.subscribe,
    intervalMs: deps.syncFrequencyMs,
    logger,
  });
  states.onLost(() => void replica.reload());

  const channelState = ({ channelId }: Scope): PoolState => find({ pool: ownPool(channelId), model: '' });
  const credentialState = (scope: Scope): PoolState => find({ pool: credentialPool(scope), model: '' });
  const ofModel = ({ pool, model }: Scope): PoolState => find({ pool, model });
  /** The states that may rest: of the channel, its credential, and the model in its pool. */
  const restable = (scope: Scope): PoolState[] => [
    ...new Set([channelState(scope), credentialState(scope), ofModel(scope)]),
  ];

  const levels = ({ pool, model }: Scope): Level[] => {
    const members = pools.find(pool);
    const [whole, own] = [members.levels.get(''), model === '' ? undefined : members.levels.get(model)];
    return [...(whole ? [whole] : []), ...(own ? [own] : [])];
  };
  const nodeShare = (most: number): number => Math.max(1, Math.floor(most / nodes.count));

  const free = createFreeSlots({
    ...{ monotonicMs: mono, slots, levels, ofModel, restable, nextStarts, nodes: () => nodes },
    queues(credentialId) {
      const channel = deps.queues && pools.findAccount(credentialId)?.channel;
      return channel !== undefined && deps.queues?.(channel) === true;
    },
  });
  const { isDeclared, wantsTrial } = free;

  function begin(scope: Scope, task: Start): Dispatch {
    isTouched = true;
    pools.refresh();
    const nowMs = mono();
    const resting = restable(scope);
    for (const { rest } of resting) if (rest.reason !== '') rest.trialTaskId ??= task.taskId;
    const isTrial = resting.some(({ rest }) => rest.trialTaskId === task.taskId);
    slots.begin(heldSlots({ ...task, scope }));
    const state = ofModel(scope);
    const { inFlight } = slots.find(scope.pool, scope.model);
    const isLearned = !isDeclared(scope);
    const isProbe = isLearned && recordStart(state.learned, { taskId: task.taskId, inFlight }, nowMs);
    state.starts += 1;
    state.unanswered.tasks.set(task.taskId, { start: state.starts, slots: task.slots });
    const probeMs = isLearned ? probeAtMs(state.learned) : undefined;
    if (probeMs !== undefined) emitIn(scope, probeMs - nowMs);
    const generations = new Map(resting.map(({ key, rest }) => [key, rest.generation]));
    return { ...task, scope, generations, isProbe, isTrial, start: state.starts };
  }

  function resize(dispatch: Dispatch, count: number): Dispatch {
    if (dispatch.slots === count) return dispatch;
    slots.begin(heldSlots({ ...dispatch, slots: count }));
    const { taskId, start } = dispatch;
    ofModel(dispatch.scope).unanswered.tasks.set(taskId, { start, slots: count });
    return { ...dispatch, slots: count };
  }

  /** Gives back what a task has of trials; they are another's then. */
  function leaveTrials({ scope, taskId }: Pick<Dispatch, 'scope' | 'taskId'>): void {
    for (const { rest } of restable(scope)) if (rest.trialTaskId === taskId) rest.trialTaskId = undefined;
    forgetProbe(ofModel(scope).learned, taskId);
    ofModel(scope).unanswered.tasks.delete(taskId);
  }

  function end(task: HeldSlots): void {
    // Its row may name another account: that of its slot is where it was sent last.
    const freed = slots.end(task);
    if (!freed) return;
    const pool = slots.findPool(freed);
    const { channelId, upstreamModel: model } = freed;
    const scope = { channelId, credentialId: freed.credentialId ?? 0, pool, model };
    leaveTrials({ scope, taskId: task.taskId });
    recordInFlight(ofModel(scope).learned, slots.find(pool, scope.model).inFlight, mono());
    emit({ pool, model: '' });
  }

  /** How many slots the vendor ran when it answered. */
  const countRunningAt = (dispatch: Dispatch): number => {
    const { pool, model } = dispatch.scope;
    return countRunning(ofModel(dispatch.scope).unanswered, dispatch, slots.find(pool, model));
  };

  function accepted(dispatch: Dispatch, { isDone = false } = {}): void {
    const { scope } = dispatch;
    const state = ofModel(scope);
    slots.accept(dispatch.taskId);
    state.unanswered.tasks.delete(dispatch.taskId);
    state.unanswered.bringsResults = isDone;
    watches.outage(scope.channelId).note({ failed: false, userId: dispatch.userId });
    watches.accepted(dispatch);
    const running = countRunningAt(dispatch);
    states.accept(state, dispatch, { running, learns: !isDeclared(scope) });
    states.widen(state);
    for (const one of restable(scope)) states.endRest(one, dispatch);
    leaveTrials(dispatch);
  }

  function refused(dispatch: Dispatch, refusal: Refusal): Refusal {
    const { scope } = dispatch;
    const isResting = credentialState(scope).rest.reason === 'credential';
    const kind = watches.classify(refusal.kind, dispatch, isResting);
    const state = ofModel(scope);
    const failed = kind === 'in_doubt' || kind === 'vendor_busy';
    const isOut = watches.outage(scope.channelId).note({ failed, userId: dispatch.userId });
    // Only the trial of an outage renews it.
    const isStillOut = failed && channelState(scope).rest.reason === 'outage';
    if (isOut || isStillOut) states.beginRest(channelState(scope), dispatch, { kind: 'outage' });
    const rest = refusal.retryAfterMs === undefined ? {} : { retryAfterMs: refusal.retryAfterMs };
    if (kind === 'balance' || kind === 'credential')
      states.beginRest(credentialState(scope), dispatch, { kind, ...rest });
    else if (kind === 'rate' || kind === 'vendor_busy') states.beginRest(state, dispatch, { kind, ...rest });
    if (kind === 'in_doubt') slots.markInDoubt(dispatch.taskId);
    else slots.end(heldSlots(dispatch));
    state.unanswered.tasks.delete(dispatch.taskId);
    // The row of a task that ends keeps its start.
    if (kind !== 'in_doubt' && kind !== 'content' && kind !== 'request')
      for (const level of levels(scope)) if (level.limit.maxPerMinute !== undefined) refusedStarts.note(keyText(level));
    if (kind === 'capacity') {
      const running = () => countRunningAt(dispatch);
      const runningInPool = Math.max(slots.find(scope.pool, '').accepted, running());
      const learns = !isDeclared(scope);
      states.refuseFull(state, dispatch, { running, runningInPool, recount, learns, ...rest });
    }
    leaveTrials(dispatch);
    recordInFlight(state.learned, slots.find(scope.pool, scope.model).inFlight, mono());
    emit({ pool: scope.pool, model: '' });
    return { ...refusal, kind };
  }

  async function recount(): Promise<void> {
    isTouched = false;
    pools.refresh();
    await slots.recount((except) => store.capacity.running(except, deps.nodeId));
    if (deps.queues)
      for (const { pool, model, vendorQueue } of states.all()) followQueue(vendorQueue, slots.find(pool, model));
    if (store.dialect === 'sqlite') return;
    // A node that was killed has no share, which would stay free.
    const alive = (await store.nodes.alive(NODE_ALIVE_SECONDS)).map(({ id }) => id);
    const index = Math.max(0, alive.indexOf(deps.nodeId));
    const count = Math.max(1, alive.length);
    // The remainder of a division goes to each node in turn.
    nodes = { count, turn: (index + Math.floor(clock.unix() / SHARE_SECONDS)) % count };
  }

  async function keepCounting(): Promise<void> {
    while (!stopping.signal.aborted) {
      const isIdle = !isTouched && slots.isIdle() && store.dialect === 'sqlite';
      const everyMs = isIdle ? IDLE_RECOUNT_MS : RECOUNT_MS;
      await sleepInStep(clock, nodes.count > 1 ? SHARED_RECOUNT_MS : everyMs, stopping.signal);
      if (stopping.signal.aborted || (!isTouched && slots.isIdle())) continue;
      await recount().catch((error: unknown) => logger.warn({ err: error }, 'running tasks could not be counted'));
    }
  }

  const notes = {
    begin,
    startsIn(level: LimitedKey, ms: number): void {
      nextStarts.note(level, ms);
      emitIn({ pool: level.pool, model: level.model }, ms);
    },
    trialTaken(key: CapacityKey): void {
      find(key).rest.nextTrialMs = mono() + TRIAL_AGAIN_MS;
      emitIn(key, TRIAL_AGAIN_MS);
    },
  };

  const relaySlots = createRelaySlots({
    ...{ clock, slots, levels, nodeShare, end, startsIn: notes.startsIn },
    isHeld(scope) {
      isTouched = true;
      return levels(scope).some(nextStarts.isTooSoon) || free.isResting(scope);
    },
  });

  async function byHand(work: Promise<number>): Promise<number> {
    const changed = await work;
    await store.publish('capacity');
    await Promise.all([replica.load(), recount()]);
    return changed;
  }

  /** Enabled ones. */
  const listAccounts = ({ id }: Pick<ChannelRecord, 'id'>): VendorAccount[] =>
    deps.accounts().filter(({ channel, credential }) => channel.id === id && credential.status === STATUS.enabled);

  return {
    scope: (account, model) => ({
      ...{ channelId: account.channel.id, credentialId: account.credential.id },
      ...{ pool: findPool(account), model },
    }),
    running: ({ credential }) => slots.ofCredential(credential.id).inFlight,
    declared: (scope): DeclaredLimit | undefined => mergeLimits(levels(scope).map(({ limit }) => limit)),
    ...relaySlots,
    nodeShare,
    freeSlots(scope) {
      isTouched = true;
      return free.freeSlots(scope);
    },
    lacking: free.lacking,
    needsLock: (scope) => levels(scope).length > 0 || wantsTrial(scope),
    wantsTrial,
    lockSlots: (tx, scopes) =>
      lockSlots(
        {
          tx,
          rules: {
            ...{ levels, trials: free.dueTrials, learnedFreeSlots: free.learnedFreeSlots, nodeId: deps.nodeId },
            refusedAgesMs: (key) => refusedStarts.listAgesMs(keyText(key)),
          },
          notes,
          relayed: ({ pool, model }) => slots.find(pool, model).relayed,
        },
        scopes,
      ),
    begin,
    resize,
    accepted,
    refused,
    end,
    recount,
    onSlotsFreed(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async start() {
      await replica.start();
      pools.addDeleted(await store.credentials.all());
      await recount();
      void keepCounting();
    },
    stop() {
      stopping.abort();
      replica.stop();
    },
    describe(channel) {
      const pool = findChannelPool(channel);
      pools.refresh();
      const credentialIds = listAccounts(channel).map(({ credential }) => credential.id);
      const members = pools.find(pool);
      return describeCapacity({
        channel,
        credentialIds,
        pool,
        slots,
        states,
        levels,
        reported: members.reported,
        clock,
      });
    },
    rests(channel, model) {
      pools.refresh();
      const scopes = listAccounts(channel).map((one) => ({
        ...{ channelId: channel.id, credentialId: one.credential.id, pool: findPool(one), model },
      }));
      return (
        scopes.length > 0 &&
        scopes.every((scope) => restable(scope).some(({ rest }) => rest.reason !== '' && rest.reason !== 'capacity'))
      );
    },
    begunRests: states.begunRests,
    restEvents: async ({ id }, limit) => (await store.capacity.restEvents(id, limit)) as RestEvent[],
    wake(channel, of = 'pool') {
      const accounts = listAccounts(channel);
      const own = accounts.map(({ credential: { id } }) => credentialPool({ channelId: channel.id, credentialId: id }));
      const shared = of === 'account' ? [] : [findChannelPool(channel), ...accounts.map(findPool)];
      return byHand(store.capacity.wake([...new Set([ownPool(channel.id), ...own, ...shared])], channel.id));
    },
    clearCeilings(channel) {
      const pools = listPools(channel, deps.accounts());
      for (const pool of pools) states.forgetRefusals(pool);
      return byHand(store.capacity.clearCeilings(pools));
    },
    clearAbandoned(channel) {
      pools.refresh();
      const counted = listPools(channel, deps.accounts()).flatMap((pool) => pools.find(pool).accounts);
      return byHand(store.capacity.clearAbandoned(counted));
    },
  };
}
