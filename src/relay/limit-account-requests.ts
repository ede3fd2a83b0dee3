import type { Capacity, Scope } from '../channels/index.ts';
import { type Clock, createFairQueue, type FairQueue } from '../kernel/index.ts';

/** A relayed request that asks for a slot at a vendor's account. */
type Call = { owner: string; scope: Scope };
/** Releases a slot. It may be called more than once. */
type Leave = () => void;

/** The open requests of this node at the accounts of relay channels. */
export type AccountRequestLimits = {
  /**
   * Waits for a slot, for which owners take turns. `undefined`: none became free within `waitMs`,
   * or the client left.
   */
  enter(call: Call, wait: { waitMs: number; signal: AbortSignal | undefined }): Promise<Leave | undefined>;
};

type Waiting = Call & { start: () => void; end: () => void };
type Pool = { held: Waiting[]; waiting: FairQueue<Waiting> };

/**
 * Keeps relayed requests, together with tasks, within the declared limits of a pool and its models,
 * and holds them back while it rests. The limits are read at each start, so a change takes effect
 * at once.
 */
export function createAccountRequestLimits(deps: {
  clock: Pick<Clock, 'sleep'>;
  capacity: Pick<Capacity, 'freeRelaySlots' | 'beginRelay' | 'onSlotsFreed'>;
}): AccountRequestLimits {
  const { clock, capacity } = deps;
  /** The pools in which slots are held or waited for. */
  const pools = new Map<string, Pool>();

  function openPool(): Pool {
    const held: Waiting[] = [];
    const waiting = createFairQueue<Waiting>({
      quantum: 1,
      estimateCost: () => 1,
      chooseQueue: ({ scope }) => scope.model,
      // An owner with half of all slots lets the others go first.
      holdsShare(name) {
        const own = held.filter(({ owner }) => owner === name).length;
        return own > 0 && own >= Math.floor(held.length / 2);
      },
    });
    return { held, waiting };
  }

  function begin({ held }: Pool, call: Waiting): void {
    held.push(call);
    call.end = capacity.beginRelay(call.scope);
  }

  function startNext(pool: Pool): void {
    const { waiting } = pool;
    const hasFreeSlot = ({ scope }: Waiting): true | undefined => capacity.freeRelaySlots(scope) > 0 || undefined;
    for (let next = waiting.take(hasFreeSlot); next; next = waiting.take(hasFreeSlot)) {
      begin(pool, next.job);
      next.job.start();
    }
  }

  function leave(name: string, call: Waiting): void {
    const pool = pools.get(name);
    const at = pool?.held.indexOf(call) ?? -1;
    if (!pool || at < 0) return;
    pool.held.splice(at, 1);
    call.end();
    startNext(pool);
    if (pool.held.length === 0 && pool.waiting.size === 0) pools.delete(name);
  }

  capacity.onSlotsFreed(({ pool }) => {
    const waited = pools.get(pool);
    if (waited) startNext(waited);
  });

  return {
    enter({ owner, scope }, { waitMs, signal }) {
      const pool = pools.get(scope.pool) ?? openPool();
      pools.set(scope.pool, pool);
      const call: Waiting = { owner, scope, end() {}, start() {} };
      const give = () => () => leave(scope.pool, call);
      if (pool.waiting.size === 0 && capacity.freeRelaySlots(scope) > 0) {
        begin(pool, call);
        return Promise.resolve(give());
      }
      return new Promise((resolve) => {
        const waits = new AbortController();
        call.start = () => {
          waits.abort();
          resolve(give());
        };
        const giveUp = () => {
          if (pool.waiting.remove(call)) resolve(undefined);
        };
        pool.waiting.push(call);
        startNext(pool);
        if (waits.signal.aborted) return;
        if (waitMs <= 0) return giveUp();
        const ends = signal ? AbortSignal.any([waits.signal, signal]) : waits.signal;
        void clock.sleep(waitMs, ends).then(giveUp);
      });
    },
  };
}
