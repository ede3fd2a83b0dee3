import { type JsonObject, type Sentence, type StoredSentence, withoutMessage } from '../kernel/index.ts';
import {
  type BillingSnapshot,
  CORRECTION_SECONDS,
  type NewReservation,
  type Repositories,
  type TaskRecord,
} from '../store/ports/index.ts';
import { explainBill } from './explain-bill.ts';
import type { PriceBook } from './price-book.ts';

/*
 * The end of a bill: its reservation is settled by the final price, refunded, or corrected later.
 */

/** A task or a relayed request, for which money moves. */
export type BillableTask = Pick<
  TaskRecord,
  'taskId' | 'userId' | 'walletId' | 'apiKeyId' | 'group' | 'channelId' | 'platform' | 'quota' | 'billing'
> & {
  properties: Pick<TaskRecord['properties'], 'originModelName'>;
  credentialId?: number | null;
  /** When it was created; absent where that does not tell its duration. */
  createdAt?: number;
  /** When a task that waited was sent, by the store's clock; 0 or absent: when it was created. */
  dispatchedAtMs?: number;
};

/**
 * How a task has ended: `tasks/state/finish-task.ts` and `relay/usage/calculate-bill.ts` decide it,
 * and `final-bill.ts` what it costs. `refund`: it failed, and why.
 */
export type Ended = { task: BillableTask; bill: FinalBill; refund?: { reason: Sentence } | undefined };

/** The final cost of a task, and its snapshot with the outcome. */
export type FinalBill = { quota: number; billing: BillingSnapshot };

/** A task whose cost is reserved. `NewReservation` says what `held` and `isOwed` mean. */
export type ReservedTask = Pick<
  BillableTask,
  'taskId' | 'userId' | 'walletId' | 'apiKeyId' | 'group' | 'quota' | 'billing'
> &
  Pick<NewReservation, 'held' | 'isOwed'>;

/** `at`: the time of the lines. `parse` may keep the expressions that it has parsed. */
type Settlement = { at: number; parse: PriceBook['parse'] };

/**
 * Writes the final lines of ended tasks. `corrects`: they were charged already, and the charges are
 * taken from the used quotas and from the spend of the figures again.
 */
export async function settleAll(
  tx: Repositories,
  ended: readonly Ended[],
  { at, parse, corrects = false }: Settlement & { corrects?: boolean },
): Promise<void> {
  // Attempt 0 is the final line. Refunds of replaced reservations carry their attempt number.
  const lines = ended.flatMap(({ task, bill, refund }) => {
    const line = refund
      ? { kind: 'refund' as const, amount: task.quota, note: refund.reason }
      : { kind: 'settle' as const, amount: task.quota - bill.quota };
    return line.amount === 0 ? [] : [{ ...owner(task), ...line, attempt: 0, at }];
  });
  const usage = ended.flatMap(({ task, bill, refund }) => {
    const used = { ...owner(task), channelId: task.channelId, credentialId: task.credentialId ?? null };
    if (!refund) return [{ ...used, quota: bill.quota }];
    return corrects ? [{ ...used, quota: -task.quota, requests: 0 as const }] : [];
  });
  const rows = ended.flatMap(({ task, bill, refund }) => {
    const detail = explain({ ...task, status: refund ? 'FAILURE' : 'SUCCESS' }, bill, parse);
    if (!refund) return [usageRow(task, { kind: 'settle', quota: bill.quota, detail, createdAt: at })];
    const refunded = usageRow(task, {
      ...{ kind: 'refund', quota: task.quota, createdAt: at },
      detail: { ...detail, reason: refund.reason.message },
      reasonSentence: withoutMessage(refund.reason),
    });
    return corrects ? [takeBack(task, { at, parse }), refunded] : [refunded];
  });
  // Usage is written first: the other statements lock rows that all tasks of the wallets wait for.
  await tx.logs.addUsageRows(rows);
  if (lines.length + usage.length > 0) await tx.ledger.settleAll({ lines, usage });
}

/** The usage row that takes a charge out of the spend; `refunded` tells it to replays of bills. */
const takeBack = (task: BillableTask, { at, parse }: Settlement) => ({
  ...usageRow(task, {
    ...{ kind: 'settle', quota: 0 - task.quota, createdAt: at },
    detail: { ...explain({ ...task, status: 'SUCCESS' }, task, parse), refunded: true },
  }),
  seconds: CORRECTION_SECONDS,
});

/** Moves the difference between the bill and `task.quota`, which was charged as reserved. */
export async function settleLate(
  tx: Repositories,
  { task, bill }: Pick<Ended, 'task' | 'bill'>,
  { at, parse }: Settlement,
): Promise<void> {
  const change = bill.quota - task.quota;
  if (change === 0) return;
  const detail = explain({ ...task, status: 'SUCCESS' }, bill, parse);
  await tx.logs.addUsage({
    ...usageRow(task, { kind: 'settle', quota: change, detail, createdAt: at }),
    seconds: CORRECTION_SECONDS,
  });
  const used = { ...owner(task), channelId: task.channelId, credentialId: task.credentialId ?? null };
  await tx.ledger.settleAll({
    lines: [{ ...owner(task), kind: 'settle', amount: -change, attempt: 0, at }],
    usage: [{ ...used, quota: change, requests: 0 }],
  });
}

/** The bill as the usage row stores it: explained to its owner, and which price applied to what. */
const explain = (
  task: BillableTask & { status: 'SUCCESS' | 'FAILURE' },
  { billing }: FinalBill,
  parse: PriceBook['parse'],
): JsonObject => ({
  ...explainBill({ ...task, billing }, parse),
  price: billing.priceKey,
  action: billing.action,
});

export const owner = (task: Omit<ReservedTask, 'quota' | 'group' | 'billing'>) => ({
  taskId: task.taskId,
  userId: task.userId,
  // A task from before wallets existed: the first wallets got the ids of their users.
  walletId: task.walletId ?? task.userId,
  apiKeyId: task.apiKeyId,
});

/** Unix seconds. A waiting task is not at its vendor, so its duration begins when it is sent. */
const sentAt = (createdAt: number, { dispatchedAtMs = 0 }: BillableTask): number =>
  Math.max(createdAt, Math.floor(dispatchedAtMs / 1000));

type UsageEntry = {
  kind: 'settle' | 'refund';
  quota: number;
  detail: JsonObject;
  reasonSentence?: StoredSentence;
  createdAt: number;
};

const usageRow = (task: BillableTask, entry: UsageEntry) => ({
  ...owner(task),
  ...entry,
  channelId: task.channelId,
  pluginKey: task.platform,
  model: task.properties.originModelName,
  seconds: task.createdAt === undefined ? -1 : Math.max(0, entry.createdAt - sentAt(task.createdAt, task)),
});
