import type { Quote } from '../../billing/index.ts';
import { newRelayId } from '../../kernel/index.ts';
import type { ChannelRecord, RelayClaim, RelayRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { insertRecoveringCommit } from '../submission/insert-recovering-commit.ts';
import { SUBMIT_LEASE_MS } from '../submission/renew-lease.ts';
import { IDEMPOTENCY_SECONDS } from '../submission/submit-task.ts';
import type { Caller, Idempotency, TaskDeps } from '../types.ts';
import type { RelayIntent } from './read-relay-request.ts';

/** An accepted request whose bill cannot be stored is tried again for 22 s: most of its lease. */
const STORE_TRIES = 10;
const STORE_PAUSE_MS = 500;

type Opening = {
  caller: Caller;
  requestId: string;
  intent: RelayIntent;
  idempotency: Idempotency | undefined;
};

/** The price of relayed models stands under this plugin key. */
export const NO_PLUGIN = '*';

/** Row and reservation, together or not at all. @throws billing.*, tasks.idempotency_in_progress */
export function openRelay(
  deps: TaskDeps,
  { caller, requestId, intent, idempotency }: Opening,
  channel: ChannelRecord,
  { quota, snapshot }: Quote,
): Promise<RelayRecord> {
  const owner = { userId: caller.user.id, apiKeyId: caller.key?.id ?? null };
  const relayId = newRelayId();
  const open = () =>
    deps.store.transaction(async (tx) => {
      const at = deps.clock.unix();
      const { userId } = owner;
      const key = idempotency && { ...idempotency, userId, taskId: relayId, at, expiresAt: at + IDEMPOTENCY_SECONDS };
      if (key && !(await tx.idempotency.take(key))) {
        throw taskErrors.idempotency_in_progress({ retryAfterSeconds: 5 });
      }
      const relay = await tx.relays.open({
        ...owner,
        relayId,
        kind: intent.kind,
        group: caller.group,
        channelId: channel.id,
        model: intent.model,
        quota,
        billing: snapshot,
        requestId,
        createdAt: at,
        leaseOwner: deps.nodeId,
        leaseForMs: SUBMIT_LEASE_MS,
      });
      // Last: it locks the user's row.
      await deps.billing.reserve(tx, { ...owner, taskId: relayId, quota }, 1);
      return relay;
    });
  return insertRecoveringCommit(deps, relayId, open, async () => {
    const relay = await deps.store.relays.byRelayId(relayId);
    return relay?.status === 'OPEN' ? relay : undefined;
  });
}

/** Another channel, whose price may differ. @throws billing.*, tasks.submission_interrupted */
export async function moveRelay(
  deps: TaskDeps,
  relay: RelayRecord,
  channel: ChannelRecord,
  { quota, snapshot: billing }: Quote,
  attempt: number,
): Promise<RelayRecord> {
  const change = { channelId: channel.id, quota, billing };
  const held = await deps.store.transaction(async (tx) => {
    const { relayId, leaseOwner } = relay;
    if (!(await tx.relays.move(relayId, leaseOwner, { ...change, leaseForMs: SUBMIT_LEASE_MS }))) return false;
    await deps.billing.replaceReservation(tx, { ...asTask(relay), quota }, { reserved: relay.quota, attempt });
    return true;
  });
  if (!held) throw taskErrors.submission_interrupted({ doNotRetry: true });
  return { ...relay, ...change };
}

/**
 * Charges what was reserved, before anything of the answer reaches the client. @throws
 * tasks.submission_* when that cannot be done
 */
export async function billRelay(deps: TaskDeps, relay: RelayRecord, httpStatus: number): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (await writeBill(deps, relay, httpStatus)) return;
      // A commit whose answer was lost has happened all the same.
      if ((await deps.store.relays.byRelayId(relay.relayId))?.status === 'BILLED') return;
      break;
    } catch (error) {
      deps.logger.error(
        { err: error, relay_id: relay.relayId, attempt },
        'an answered request could not be billed yet',
      );
      if (attempt === STORE_TRIES) throw taskErrors.submission_unrecorded({ cause: error, doNotRetry: true });
      await deps.clock.sleep(STORE_PAUSE_MS * attempt);
    }
  }
  deps.logger.error({ relay_id: relay.relayId }, 'a vendor answered a request whose lease was lost; it is not billed');
  throw taskErrors.submission_interrupted({ doNotRetry: true });
}

function writeBill(deps: TaskDeps, relay: RelayRecord, httpStatus: number): Promise<boolean> {
  const { store, clock, billing, nodeId } = deps;
  const bill = billing.finalBill(asTask(relay));
  return store.transaction(async (tx) => {
    const ending = { ...bill, status: 'BILLED' as const, httpStatus, finishedAt: clock.unix() };
    if (!(await tx.relays.end({ relayId: relay.relayId, by: { owner: nodeId }, reserved: relay.quota }, ending)))
      return false;
    await billing.settle(tx, asTask(relay), bill);
    return true;
  });
}

/**
 * Tells repeats that what is known of a billed answer is stored; where the store fails, the lease
 * runs out.
 */
export const releaseRelay = ({ store, logger }: TaskDeps, { relayId, leaseOwner }: RelayRecord): Promise<void> =>
  store.relays
    .release(relayId, leaseOwner)
    .catch((error) =>
      logger.warn({ err: error, relay_id: relayId }, 'the lease of a relayed request could not be ended'),
    );

/** Why a request ends without a bill. `mayBeDone`: the vendor may have done what was asked for. */
type Refund = { reason: string; httpStatus: number; mayBeDone: boolean };

/**
 * Gives back all of it. Where the store fails, the lease runs out and `refundInterrupted` does it.
 */
export async function refundRelay(
  deps: TaskDeps,
  relay: RelayRecord,
  { reason, httpStatus, mayBeDone }: Refund,
  by: RelayClaim['by'] = { owner: deps.nodeId },
): Promise<boolean> {
  const { store, clock, billing, logger } = deps;
  try {
    return await store.transaction(async (tx) => {
      const stored = (await tx.relays.byRelayId(relay.relayId)) ?? relay;
      const bill = billing.noBill(asTask(stored));
      const ending = { ...bill, status: 'REFUNDED' as const, httpStatus, finishedAt: clock.unix() };
      if (!(await tx.relays.end({ relayId: relay.relayId, by, reserved: stored.quota }, ending))) return false;
      // What came to nothing may be asked for again. What nobody knows may not: the vendor would be
      // asked, and bill, twice.
      if (!mayBeDone) await tx.idempotency.free(stored.userId, stored.relayId);
      await billing.refund(tx, asTask(stored), { bill, reason });
      return true;
    });
  } catch (error) {
    logger.error({ err: error, relay_id: relay.relayId }, 'a relayed request could not be refunded yet');
    return false;
  }
}

const INTERRUPTED_BATCH = 100;

/** Refunds what died with its process: its answer reached nobody. */
export async function refundInterrupted(deps: TaskDeps): Promise<void> {
  for (const relay of await deps.store.relays.interrupted(INTERRUPTED_BATCH)) {
    const interrupted = { reason: 'submission interrupted', httpStatus: 0, mayBeDone: true };
    if (!(await refundRelay(deps, relay, interrupted, 'anyone_after_expiry'))) continue;
    const { relayId, channelId, requestId } = relay;
    deps.logger.warn(
      { relay_id: relayId, channel_id: channelId, request_id: requestId },
      'a relayed request was interrupted: it is refunded, but the vendor may have worked on it',
    );
  }
}

const asTask = (relay: RelayRecord) => ({
  ...relay,
  taskId: relay.relayId,
  platform: NO_PLUGIN,
  properties: { originModelName: relay.model },
});
