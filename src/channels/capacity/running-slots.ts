import type { Clock } from '../../kernel/index.ts';
import type { DeclaredLimit, RunningCount } from '../../store/ports/index.ts';
import { keyText } from './pools.ts';
import type { HeldSlots, LimitedKey } from './types.ts';

/**
 * A task that was sent or ended a moment ago is counted here and not in the database, where the row
 * may not say so yet.
 */
const OWN_MS = 3000;
/** One that was sent this long ago is counted in the database, whatever became of its sender. */
const SENDING_MS = 60_000;

export type SlotCount = {
  /** Being sent, accepted or abandoned. */
  inFlight: number;
  accepted: number;
  /** Requests that this node relays. */
  relayed: number;
  abandoned: number;
  /** Tasks, not slots, that this node is sending. */
  sending: number;
  /** Accepted tasks that their vendor had not begun when the database was counted last. */
  queued: number;
  /** Tasks, sent or being sent, of which no poll had told by then. */
  unpolled: number;
  /** The slots in flight when the database was counted last. */
  counted: number;
};

type Entry = HeldSlots & { state: 'sending' | 'accepted' | 'relayed' | 'ended'; atMs: number; count: SlotCount };

type Place = Pick<RunningCount, 'channelId' | 'credentialId' | 'model'>;
const toPlace = ({ channelId, credentialId, upstreamModel }: HeldSlots): Place => ({
  channelId,
  credentialId,
  model: upstreamModel,
});

const none = (): SlotCount => ({
  ...{ inFlight: 0, accepted: 0, relayed: 0, queued: 0, unpolled: 0, abandoned: 0, sending: 0, counted: 0 },
});

/**
 * The slots in use, as this node knows them: what the database counted last, and the tasks that it
 * began or ended since. A count leaves those out by their ids, so that no task counts twice or is
 * missed, and whatever another node ends is found by the next count.
 */
export function createRunningSlots(deps: {
  clock: Pick<Clock, 'monotonicMs' | 'unix'>;
  findPool: (place: Pick<HeldSlots, 'channelId' | 'credentialId'>) => string;
}) {
  const { clock, findPool } = deps;
  const entries = new Map<string, Entry>();
  let counted: readonly RunningCount[] = [];
  /** When that was, in Unix seconds. */
  let countedAt = 0;
  /** Counts by pool, then by model; an empty model stands for all of them. */
  let totals = new Map<string, Map<string, SlotCount>>();
  let byChannel = new Map<number, SlotCount>();
  let byCredential = new Map<number, SlotCount>();

  function add(place: Place, count: SlotCount, sign: 1 | -1): void {
    const { channelId, model } = place;
    const credentialId = place.credentialId ?? 0;
    const pool = findPool(place);
    const models = totals.get(pool) ?? new Map<string, SlotCount>();
    totals.set(pool, models);
    const whole = models.get('') ?? none();
    const one = model === '' ? none() : (models.get(model) ?? none());
    const channel = byChannel.get(channelId) ?? none();
    const credential = byCredential.get(credentialId) ?? none();
    models.set('', whole);
    if (model !== '') models.set(model, one);
    byChannel.set(channelId, channel);
    byCredential.set(credentialId, credential);
    for (const sum of [whole, one, channel, credential]) {
      sum.inFlight += sign * count.inFlight;
      sum.accepted += sign * count.accepted;
      sum.relayed += sign * count.relayed;
      sum.queued += sign * count.queued;
      sum.unpolled += sign * count.unpolled;
      sum.abandoned += sign * count.abandoned;
      sum.sending += sign * count.sending;
    }
  }

  function put(task: HeldSlots, state: Entry['state'], count: SlotCount): void {
    const before = entries.get(task.taskId);
    if (before) add(toPlace(before), before.count, -1);
    entries.set(task.taskId, { ...task, state, atMs: clock.monotonicMs(), count });
    add(toPlace(task), count, 1);
  }

  function rebuild(): void {
    totals = new Map();
    byChannel = new Map();
    byCredential = new Map();
    for (const { accepted, queued, unpolled, sending, abandoned, ...place } of counted)
      add(place, { ...none(), inFlight: accepted + sending + abandoned, accepted, queued, unpolled, abandoned }, 1);
    for (const entry of entries.values()) add(toPlace(entry), entry.count, 1);
    for (const models of totals.values()) for (const sum of models.values()) sum.counted = sum.inFlight;
  }

  return {
    begin(task: HeldSlots): void {
      put(task, 'sending', { ...none(), inFlight: task.slots, unpolled: 1, sending: 1 });
    },

    /** An open request, which no row of a task counts. */
    beginRelay(task: HeldSlots): void {
      put(task, 'relayed', { ...none(), inFlight: task.slots, accepted: task.slots, relayed: task.slots });
    },

    accept(taskId: string): void {
      const entry = entries.get(taskId);
      if (entry?.state === 'sending')
        put(entry, 'accepted', { ...none(), inFlight: entry.slots, accepted: entry.slots, unpolled: 1 });
    },

    /** The vendor may have a job: the task is counted until the database says how it ended. */
    markInDoubt(taskId: string): void {
      const entry = entries.get(taskId);
      if (entry?.state === 'sending') put(entry, 'accepted', { ...entry.count, sending: 0 });
    },

    /** Returns the slot that this freed, as it was taken. */
    end(task: HeldSlots): HeldSlots | undefined {
      const entry = entries.get(task.taskId);
      if (entry?.state === 'ended') return undefined;
      // The last count knew a task of another node only if it was accepted before.
      const wasCounted = !entry && (task.submitTime ?? 0) < countedAt;
      put(task, 'ended', wasCounted ? { ...none(), inFlight: -task.slots, accepted: -task.slots } : none());
      return entry ?? task;
    },

    find: (pool: string, model: string): Readonly<SlotCount> => totals.get(pool)?.get(model) ?? none(),
    ofChannel: (channelId: number): Readonly<SlotCount> => byChannel.get(channelId) ?? none(),
    ofCredential: (id: number): Readonly<SlotCount> => byCredential.get(id) ?? none(),
    listModels: (pool: string): string[] => [...(totals.get(pool)?.keys() ?? [])].filter((model) => model !== ''),
    isIdle: (): boolean => entries.size === 0 && counted.length === 0,
    findPool,
    rebuild,

    /** Counts by `read`, which leaves out the tasks that are counted here. */
    async recount(read: (except: readonly string[]) => Promise<readonly RunningCount[]>): Promise<void> {
      const nowMs = clock.monotonicMs();
      const own = [...entries.values()].filter(
        ({ state, atMs }) => state === 'relayed' || atMs > nowMs - (state === 'sending' ? SENDING_MS : OWN_MS),
      );
      const isOwn = new Set(own.map(({ taskId }) => taskId));
      const before = [...entries.values()];
      const at = clock.unix();
      counted = await read([...isOwn]);
      countedAt = at;
      for (const entry of before) {
        // Tasks that came since stay; ends that the last count did not know are known now.
        if (entries.get(entry.taskId) !== entry) continue;
        if (!isOwn.has(entry.taskId)) entries.delete(entry.taskId);
        else if (entry.state === 'ended') entry.count = none();
      }
      rebuild();
    },
  };
}

export type RunningSlots = ReturnType<typeof createRunningSlots>;

const MINUTE_MS = 60_000;
/** Starts are counted over a minute and what a request may be on its way. */
export const COUNTED_MS = MINUTE_MS + 2000;

/**
 * The earliest moment of the next start under a declared rate. Starts are spaced evenly unless a
 * burst is declared: many vendors enforce a rate by the second. `startsMs` are those of
 * `COUNTED_MS`, the oldest first.
 */
export function nextStartMs({ maxPerMinute, burst = 1 }: DeclaredLimit, startsMs: readonly number[]): number {
  if (maxPerMinute === undefined || startsMs.length === 0) return 0;
  const gapMs = MINUTE_MS / maxPerMinute;
  const freeAt = startsMs.reduce((at, startMs) => Math.max(at, startMs) + gapMs, 0);
  const oldest = startsMs[startsMs.length - maxPerMinute];
  return Math.ceil(Math.max(freeAt - (burst - 1) * gapMs, oldest === undefined ? 0 : oldest + COUNTED_MS));
}

/** When declared rates allow the next start, as far as this node knows. */
export function createNextStarts(monotonicMs: Clock['monotonicMs']) {
  const starts = new Map<string, { limit: DeclaredLimit; atMs: number }>();
  return {
    note: (level: LimitedKey, inMs: number): void =>
      void starts.set(keyText(level), { limit: level.limit, atMs: monotonicMs() + inMs }),
    /** What was noted by another rate does not hold: the store decides again. */
    isTooSoon(level: LimitedKey): boolean {
      const found = starts.get(keyText(level));
      const { maxPerMinute, burst } = level.limit;
      return (
        found !== undefined &&
        found.limit.maxPerMinute === maxPerMinute &&
        found.limit.burst === burst &&
        found.atMs > monotonicMs()
      );
    },
  };
}

export type NextStarts = ReturnType<typeof createNextStarts>;

/**
 * The starts that vendors refused, by the key of their limit. They count for a declared rate on
 * this node, although the row of a task that waits again or moves on forgets them.
 */
export function createRefusedStarts({ monotonicMs }: Pick<Clock, 'monotonicMs'>) {
  const starts = new Map<string, number[]>();
  const list = (key: string): number[] => (starts.get(key) ?? []).filter((at) => at > monotonicMs() - COUNTED_MS);
  return {
    note: (key: string): void => void starts.set(key, [...list(key), monotonicMs()]),
    /** How long ago each was, the oldest first. */
    listAgesMs: (key: string): number[] => list(key).map((at) => monotonicMs() - at),
  };
}
