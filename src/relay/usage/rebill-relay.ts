import type { RelayRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../../tasks/index.ts';
import { NO_USAGE, refuseImplausibleReport } from './calculate-bill.ts';
import { PLAUSIBLE_MAXIMA } from './estimate-reservation.ts';
import type { UsageFacts } from './read-usage.ts';
import { toReservedTask } from './reserve-and-bill.ts';

/** Whether a request is charged as reserved because its answer told no usage. */
export const awaitsUsage = ({ status, billing }: Pick<RelayRecord, 'status' | 'billing'>): boolean =>
  status === 'BILLED' && billing.outcome?.keptSentence?.reason === NO_USAGE.reason;

/**
 * Charges a request that was charged as reserved, such as a response in the background, by the
 * usage that its object tells later, up or down. Several readers of the object may call it at once:
 * one of them does. After a failure of the store the next reader does.
 */
export async function rebillByReportedUsage(deps: TaskDeps, relayId: string, facts: UsageFacts): Promise<void> {
  const { store, billing, logger, telemetry } = deps;
  try {
    const relay = await store.relays.byRelayId(relayId);
    if (!relay || !awaitsUsage(relay)) return;
    const used = { ...relay, billing: { ...relay.billing, completionFacts: { ...facts } } };
    const bill = billing.finalBill(
      toReservedTask(used),
      refuseImplausibleReport(deps, relay, { facts, most: PLAUSIBLE_MAXIMA }),
    );
    const isSettled = await store.transaction(async (tx) => {
      if (!(await tx.relays.rebill(relayId, relay.quota, bill))) return false;
      await billing.settleLate(tx, toReservedTask(relay), bill);
      return true;
    });
    if (isSettled) telemetry.meter?.spent(relay.channelId, bill.quota - relay.quota);
  } catch (error) {
    logger.error(
      { err: error, relay_id: relayId },
      'later usage of a relayed request not charged yet: the store failed',
    );
  }
}
