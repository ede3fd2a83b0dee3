/**
 * Refunds relayed requests, whole and once: where nothing was done, where the vendor failed the job
 * later, or where the process died.
 */
import { type Sentence, sentence } from '../../kernel/index.ts';
import type { RelayClaim } from '../../store/ports/index.ts';
import type { TaskDeps } from '../../tasks/index.ts';
import type { OpenRelay } from '../types.ts';
import { endRelay, type Kept, toReservedTask } from './reserve-and-bill.ts';

/**
 * Why a request ends without a bill. `mayBeDone`: the vendor may have done the work. `by`: whose
 * lease it must be; this node's unless given.
 */
type Refund = { reason: Sentence; httpStatus: number; mayBeDone: boolean; by?: RelayClaim['by'] } & Kept;

/**
 * Refunds the whole reservation. False: the row had already ended, or the store failed; then the
 * lease expires and `refundInterrupted` refunds it.
 */
export async function refundRelay(
  deps: TaskDeps,
  relay: OpenRelay,
  { reason, httpStatus, mayBeDone, kept, by = { owner: deps.node.id } }: Refund,
): Promise<boolean> {
  const { store, clock, billing, logger, node } = deps;
  const { relayId, channelId, requestId } = relay;
  const logFields = {
    relay_id: relayId,
    channel_id: channelId,
    request_id: requestId,
    status: httpStatus,
    reason: reason.message,
  };
  try {
    const stored: OpenRelay = relay.hold ? relay : ((await store.relays.byRelayId(relayId)) ?? relay);
    const bill = billing.noBill(toReservedTask(stored));
    stored.hold?.bill(bill.quota);
    const ending = { ...bill, status: 'REFUNDED' as const, httpStatus, finishedAt: clock.unix() };
    const isRefunded = await node.writes.money.close({
      async move(tx) {
        if (!(await endRelay(tx, stored, { claim: { relayId, by, reserved: stored.quota }, ending }))) return false;
        // The key is released only when nothing was done. With an unknown outcome a repeat could
        // make the vendor work, and bill, twice.
        if (!mayBeDone) await tx.idempotency.free(stored.userId, relayId);
        if (kept) await tx.results.keepFiles(kept);
        return true;
      },
      ended: { task: toReservedTask(stored), bill, refund: { reason } },
      owes: stored.hold && toReservedTask(stored),
    });
    const hasSucceeded = httpStatus >= 200 && httpStatus < 300;
    if (isRefunded && (hasSucceeded || by === 'anyone_after_expiry')) {
      logger.warn(logFields, 'relayed request refunded; the vendor may have done the work and bill it');
    }
    return isRefunded;
  } catch (error) {
    logger.error({ err: error, relay_id: relayId }, 'relayed request not refunded yet: the store failed');
    return false;
  } finally {
    relay.hold?.end();
  }
}

/**
 * Refunds a request whose job the vendor has failed after it took it. Several readers of its object
 * may call it at once: one of them refunds. After a failure of the store the next reader does.
 */
export async function refundFailedJob(deps: TaskDeps, relayId: string): Promise<void> {
  const { store, clock, billing, logger } = deps;
  try {
    const relay = await store.relays.byRelayId(relayId);
    if (relay?.status !== 'BILLED') return;
    const isRefunded = await store.transaction(async (tx) => {
      const bill = billing.noBill(toReservedTask(relay));
      const ending = { billing: bill.billing, finishedAt: clock.unix() };
      if (!(await tx.relays.refundBilled(relayId, relay.quota, ending))) return false;
      await billing.refundSettled(tx, toReservedTask(relay), { bill, reason: sentence('relay.job_failed') });
      return true;
    });
    if (isRefunded) logger.info({ relay_id: relayId, channel_id: relay.channelId }, 'failed relayed job refunded');
  } catch (error) {
    logger.error({ err: error, relay_id: relayId }, 'failed relayed job not refunded yet: the store failed');
  }
}

const INTERRUPTED_BATCH = 100;

/** Refunds requests whose process died before their answer reached the client. */
export async function refundInterrupted(deps: TaskDeps): Promise<void> {
  for (const relay of await deps.store.relays.interrupted(INTERRUPTED_BATCH, deps.node.leases.held())) {
    const refund = { reason: sentence('tasks.interrupted'), httpStatus: 0, mayBeDone: true };
    await refundRelay(deps, relay, { ...refund, by: 'anyone_after_expiry' });
  }
}
