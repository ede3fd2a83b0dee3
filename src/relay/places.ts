import type { Capacity, Scope } from '../channels/index.ts';
import { type Clock, createFairQueue, type FairQueue } from '../kernel/index.ts';

/** A relayed request that asks for a place at a vendor's account. */
type Call = { owner: string; scope: Scope };
/** Gives a place back. It may be called more than once. */
type Leave = () => void;

/** The open requests of this node at the accounts of relay channels. */
export type RelayPlaces = {
  /**
   * Waits for a place, in which owners take turns. `undefined`: none became free within `waitMs`,
   * or the client left.
   */
  enter(call: Call, wait: { waitMs: number; signal: AbortSignal | undefined }): Promise<Leave | undefined>;
};

type Waiting = Call & { start: () => void };
type Pool = { held: Waiting[]; waiting: FairQueue<Waiting> };

/**
 * Keeps relayed requests within what is declared for a pool and its models. The limits are read at
 * each start, so that a change counts at once.
 */
export function createRelayPlaces(deps: {
  clock: Pick<Clock, 'sleep'>;
  capacity: Pick<Capacity, 'relayLimit'>;
}): RelayPlaces {
  const { clock, capacity } = deps;
  /** Those that somebody holds a place of. */
  const pools = new Map<string, Pool>();

  function openPool(): Pool {
    const held: Waiting[] = [];
    const waiting = createFairQueue<Waiting>({
      quantum: 1,
      estimateCost: () => 1,
      chooseQueue: ({ scope }) => scope.model,
      // An owner with half of all places lets the others go first.
      holdsShare(name) {
        const own = held.filter(({ owner }) => owner === name).length;
        return own > 0 && own >= Math.floor(held.length / 2);
      },
    });
    return { held, waiting };
  }

  function startNext({ held, waiting }: Pool): void {
    const hasRoom = ({ scope }: Waiting): true | undefined => {
      const running = held.filter(({ scope: { model } }) => model === scope.model).length;
      const isFree = held.length < capacity.relayLimit({ ...scope, model: '' }) && running < capacity.relayLimit(scope);
      return isFree || undefined;
    };
    for (let next = waiting.take(hasRoom); next; next = waiting.take(hasRoom)) {
      held.push(next.job);
      next.job.start();
    }
  }

  function leave(name: string, call: Waiting): void {
    const pool = pools.get(name);
    const at = pool?.held.indexOf(call) ?? -1;
    if (!pool || at < 0) return;
    pool.held.splice(at, 1);
    startNext(pool);
    if (pool.held.length === 0 && pool.waiting.size === 0) pools.delete(name);
  }

  return {
    enter({ owner, scope }, { waitMs, signal }) {
      const pool = pools.get(scope.pool) ?? openPool();
      pools.set(scope.pool, pool);
      const started = new AbortController();
      return new Promise((resolve) => {
        const call: Waiting = {
          owner,
          scope,
          start() {
            started.abort();
            resolve(() => leave(scope.pool, call));
          },
        };
        const giveUp = () => {
          if (pool.waiting.remove(call)) resolve(undefined);
        };
        pool.waiting.push(call);
        startNext(pool);
        if (started.signal.aborted) return;
        if (waitMs <= 0) return giveUp();
        const ends = signal ? AbortSignal.any([started.signal, signal]) : started.signal;
        void clock.sleep(waitMs, ends).then(giveUp);
      });
    },
  };
}
