import type { Clock } from '../../kernel/index.ts';
import { heldSlots, keyText } from './pools.ts';
import { COUNTED_MS, nextStartMs, type RunningSlots } from './running-slots.ts';
import type { Capacity, HeldSlots, LimitedKey, Scope } from './types.ts';

/**
 * Slots of relayed requests at accounts, beside those of tasks. Counts the open requests of this
 * node, which has a share of the declared limits, as each live node has.
 */
export function createRelaySlots(deps: {
  clock: Pick<Clock, 'monotonicMs'>;
  slots: RunningSlots;
  levels(scope: Scope): readonly LimitedKey[];
  /** Whether the scope rests, or a declared rate allows no start yet. */
  isHeld(scope: Scope): boolean;
  nodeShare(most: number): number;
  startsIn(level: LimitedKey, ms: number): void;
  end(held: HeldSlots): void;
}): Pick<Capacity, 'freeRelaySlots' | 'beginRelay'> {
  const { clock, slots, levels, isHeld, nodeShare, startsIn, end } = deps;
  /** The starts under a declared rate, by pool and model. */
  const starts = new Map<string, number[]>();
  let begun = 0;

  function noteStart({ pool, model, limit }: LimitedKey): void {
    const { maxPerMinute, burst } = limit;
    if (maxPerMinute === undefined) return;
    const nowMs = clock.monotonicMs();
    const key = keyText({ pool, model });
    const own = [...(starts.get(key) ?? []).filter((at) => at > nowMs - COUNTED_MS), nowMs];
    starts.set(key, own);
    const rate = { maxPerMinute: nodeShare(maxPerMinute), ...(burst === undefined ? {} : { burst }) };
    const inMs = nextStartMs(rate, own) - nowMs;
    if (inMs > 0) startsIn({ pool, model, limit }, inMs);
  }

  return {
    freeRelaySlots(scope) {
      if (isHeld(scope)) return 0;
      const free = levels(scope).map(({ pool, model, limit: { maxRunning = Number.POSITIVE_INFINITY } }) => {
        const { inFlight, relayed } = slots.find(pool, model);
        return Math.min(maxRunning - inFlight, nodeShare(maxRunning) - relayed);
      });
      return Math.max(0, Math.min(Number.POSITIVE_INFINITY, ...free));
    },

    beginRelay(scope) {
      begun += 1;
      const held = heldSlots({ scope, taskId: `relay ${begun}`, slots: 1, userId: 0 });
      slots.beginRelay(held);
      for (const level of levels(scope)) noteStart(level);
      return () => end(held);
    },
  };
}
