import type { Account, Scope } from '../../channels/index.ts';
import type { Takeout, WaitingCount, WaitingRecord } from '../../store/ports/index.ts';
import type { UserShares } from './user-shares.ts';

/** So many tasks of a class at most could be sent by an account. */
export type Plan = { of: WaitingCount; account: Account; scope: Scope; limit: number };

type Head = Pick<WaitingRecord, 'taskId' | 'userId' | 'sinceMs'> & { slots: number };

type Steps<H extends Head> = {
  /** How many tasks at most. */
  most: number;
  /** The first that wait of a class. */
  heads(of: WaitingCount): readonly H[];
  /** Takes slots for a task. `full`: there is no room; `held`: it leaves its line without. */
  start(plan: Plan, head: H): Promise<'begun' | 'full' | 'held'>;
};

/**
 * Gives free slots away: the highest priority first, and within it the heads of those lines that
 * may be sent by an account, by the shares of their users. Returns what is to be taken out of its
 * line.
 */
export async function giveSlots<H extends Head>(
  { shares, plans }: { shares: UserShares; plans: readonly Plan[] },
  { most, heads, start }: Steps<H>,
): Promise<Takeout[]> {
  const takeouts: Takeout[] = [];
  for (const rivals of Map.groupBy(plans, ({ of }) => of.priority).values()) {
    const lines = new Map<WaitingCount, H[]>();
    for (const { of } of rivals) lines.set(of, [...heads(of)]);
    for (const ofAccount of Map.groupBy(rivals, ({ account }) => account.credential.id).values()) {
      const left = new Map(ofAccount.map((plan) => [plan, plan.limit]));
      for (;;) {
        const next = [...left].flatMap(([plan, limit]) => {
          const head = limit > 0 ? lines.get(plan.of)?.[0] : undefined;
          return head ? [{ ...head, plan }] : [];
        });
        const found = shares.next(ofAccount[0]?.scope.pool ?? '', next);
        if (!found || takeouts.length >= most) break;
        const { plan, taskId, userId, slots } = found;
        const outcome = await start(plan, found);
        if (outcome === 'full') {
          left.delete(plan);
          continue;
        }
        lines.get(plan.of)?.shift();
        if (outcome === 'held') continue;
        left.set(plan, (left.get(plan) ?? 0) - 1);
        shares.got(plan.scope.pool, userId, slots);
        takeouts.push({
          taskId,
          sending: {
            channelId: plan.scope.channelId,
            credentialId: plan.scope.credentialId,
            upstreamModel: plan.scope.model,
            slots,
          },
        });
      }
    }
  }
  return takeouts;
}
