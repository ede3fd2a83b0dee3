import type { Account, Scope } from '../../channels/index.ts';
import type { Takeout, WaitingCount, WaitingRecord } from '../../store/ports/index.ts';
import type { UserShares } from './user-shares.ts';

/** So many tasks of a class at most could be sent by an account. */
export type Plan = { of: WaitingCount; account: Account; scope: Scope; limit: number };

type Head = Pick<WaitingRecord, 'taskId' | 'userId' | 'sinceMs'> & { slots: number };

type Steps = {
  /** How many tasks at most. */
  most: number;
  /** The first that wait of a class. */
  heads(of: WaitingCount, limit: number): Promise<readonly Head[]>;
  /** Takes slots for a task. False: there is no room for it. */
  start(plan: Plan, head: Head): Promise<boolean>;
};

/**
 * Gives free slots away: the highest priority first, and within it the heads of those lines that
 * may be sent by an account, by the shares of their users. Returns what is to be taken out of its
 * line.
 */
export async function giveSlots(
  { shares, plans }: { shares: UserShares; plans: readonly Plan[] },
  { most, heads, start }: Steps,
): Promise<Takeout[]> {
  const takeouts: Takeout[] = [];
  for (const rivals of Map.groupBy(plans, ({ of }) => of.priority).values()) {
    const lines = new Map<WaitingCount, Head[]>();
    for (const [of, own] of Map.groupBy(rivals, (one) => one.of))
      lines.set(of, [
        ...(await heads(
          of,
          own.reduce((sum, { limit }) => sum + limit, 0),
        )),
      ]);
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
        if (!(await start(plan, found))) {
          left.delete(plan);
          continue;
        }
        lines.get(plan.of)?.shift();
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
