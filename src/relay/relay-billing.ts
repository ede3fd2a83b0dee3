import type { Quote } from '../billing/index.ts';
import type { Account } from '../channels/index.ts';
import { type JsonObject, newRelayId, type Sentence, sentence } from '../kernel/index.ts';
import type { RelayClaim, RelayRecord, Repositories } from '../store/ports/index.ts';
import {
  type Caller,
  type Idempotency,
  insertRecoveringCommit,
  SUBMIT_LEASE_MS,
  type TaskDeps,
  taskErrors,
} from '../tasks/index.ts';
import type { RelayIntent } from './types.ts';

/** Attempts to store the bill of an answered request: 22 s in all, most of its lease. */
const STORE_ATTEMPTS = 10;
const STORE_PAUSE_MS = 500;

type NewRelay = {
  caller: Caller;
  requestId: string;
  intent: RelayIntent;
  idempotency: Idempotency | undefined;
  account: Account;
  quote: Quote;
};

/** The plugin key of relayed models' prices. No plugin can have it. */
export const RELAY_PLUGIN_KEY = '*';

/**
 * Writes the row and its reservation in one transaction.
 * @throws billing.*, tasks.idempotency_in_progress
 */
export function openRelay(
  deps: TaskDeps,
  { caller, requestId, intent, idempotency, account, quote: { quota, snapshot } }: NewRelay,
): Promise<RelayRecord> {
  const owner = { userId: caller.user.id, walletId: caller.walletId, apiKeyId: caller.key?.id ?? null };
  const relayId = newRelayId(deps.clock.nowMs(), deps.node.random);
  const insert = (tx: Repositories): Promise<RelayRecord> =>
    tx.relays.open({
      ...owner,
      relayId,
      kind: intent.kind,
      group: caller.group,
      channelId: account.channel.id,
      credentialId: account.credential.id,
      model: intent.model,
      quota,
      billing: snapshot,
      requestId,
      createdAt: deps.clock.unix(),
      leaseOwner: deps.node.id,
      leaseForMs: SUBMIT_LEASE_MS,
    });
  return insertRecoveringCommit(deps, {
    id: relayId,
    insert: () =>
      deps.node.money.open({
        payer: { ...owner, group: caller.group, taskId: relayId, quota, billing: snapshot },
        idempotency,
        insert,
      }),
    async find() {
      const relay = await deps.store.relays.byRelayId(relayId);
      return relay?.status === 'OPEN' ? relay : undefined;
    },
  });
}

type Move = { account: Account; quote: Quote; attempt: number };

/**
 * Moves the request to another account and replaces its reservation, as the price may differ.
 * @throws billing.*, tasks.submission_interrupted
 */
export async function moveRelay(
  deps: TaskDeps,
  relay: RelayRecord,
  { account, quote: { quota, snapshot: billing }, attempt }: Move,
): Promise<RelayRecord> {
  const change = { channelId: account.channel.id, credentialId: account.credential.id, quota, billing };
  const held = await deps.store.transaction(async (tx) => {
    const { relayId, leaseOwner } = relay;
    if (!(await tx.relays.move(relayId, leaseOwner, { ...change, leaseForMs: SUBMIT_LEASE_MS }))) return false;
    await deps.billing.replaceReservation(tx, { ...asTask(relay), ...change }, { reserved: relay.quota, attempt });
    return true;
  });
  if (!held) throw taskErrors.submission_interrupted({ shouldRetry: false });
  return { ...relay, ...change };
}

/**
 * How an answered request is charged. `usage`: facts of the answer, which override those of the
 * reservation. `trouble`: why there are none, so that the reservation stands.
 */
type Answered = { httpStatus: number; usage?: JsonObject; trouble?: Sentence };

/**
 * Charges an answered request: before any part of the answer reaches the client or, where its price
 * reads the vendor's usage, at the end of the answer.
 * @throws tasks.submission_interrupted, tasks.submission_unrecorded when it cannot be charged
 */
export async function billRelay(deps: TaskDeps, relay: RelayRecord, answered: Answered): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (await writeBill(deps, relay, answered)) return;
      // An earlier attempt may have been committed although its acknowledgement was lost.
      if ((await deps.store.relays.byRelayId(relay.relayId))?.status === 'BILLED') return;
      break;
    } catch (error) {
      deps.logger.error(
        { err: error, relay_id: relay.relayId, attempt },
        'answered relayed request could not be billed; retrying',
      );
      if (attempt === STORE_ATTEMPTS) throw taskErrors.submission_unrecorded({ cause: error, shouldRetry: false });
      await deps.clock.sleep(STORE_PAUSE_MS * attempt);
    }
  }
  deps.logger.error({ relay_id: relay.relayId }, 'relayed request not billed: its lease was lost before the answer');
  throw taskErrors.submission_interrupted({ shouldRetry: false });
}

async function writeBill(
  deps: TaskDeps,
  relay: RelayRecord,
  { httpStatus, usage, trouble }: Answered,
): Promise<boolean> {
  const { clock, billing, node } = deps;
  const used = usage ? { ...relay, billing: { ...relay.billing, completionFacts: usage } } : relay;
  const bill = billing.finalBill(asTask(used), trouble);
  const ending = { ...bill, status: 'BILLED' as const, httpStatus, finishedAt: clock.unix() };
  const claim = { relayId: relay.relayId, by: { owner: node.id }, reserved: relay.quota };
  const written = await node.money.close({
    move: (tx) => tx.relays.end(claim, ending),
    ended: { task: asTask(relay), bill },
  });
  if (written) deps.telemetry.meter?.spent(relay.channelId, bill.quota);
  return written;
}

/**
 * Releases the lease: from now on repeats may read what was stored of a billed answer. If the store
 * fails, the lease expires.
 */
export const releaseRelay = ({ store, logger }: TaskDeps, { relayId, leaseOwner }: RelayRecord): Promise<void> =>
  store.relays
    .release(relayId, leaseOwner)
    .catch((error) =>
      logger.warn({ err: error, relay_id: relayId }, 'lease of a relayed request could not be released'),
    );

/**
 * Why a request ends without a bill. `mayBeDone`: the vendor may have done the work. `by`: whose
 * lease it must be; this node's unless given.
 */
type Refund = { reason: Sentence; httpStatus: number; mayBeDone: boolean; by?: RelayClaim['by'] };

/**
 * Refunds the whole reservation. False: the row had already ended, or the store failed; then the
 * lease expires and `refundInterrupted` refunds it.
 */
export async function refundRelay(
  deps: TaskDeps,
  relay: RelayRecord,
  { reason, httpStatus, mayBeDone, by = { owner: deps.node.id } }: Refund,
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
    const stored = (await store.relays.byRelayId(relayId)) ?? relay;
    const bill = billing.noBill(asTask(stored));
    const ending = { ...bill, status: 'REFUNDED' as const, httpStatus, finishedAt: clock.unix() };
    const isRefunded = await node.money.close({
      async move(tx) {
        if (!(await tx.relays.end({ relayId, by, reserved: stored.quota }, ending))) return false;
        // The key is released only when nothing was done. With an unknown outcome a repeat could
        // make the vendor work, and bill, twice.
        if (!mayBeDone) await tx.idempotency.free(stored.userId, relayId);
        return true;
      },
      ended: { task: asTask(stored), bill, refund: { reason } },
    });
    const hasSucceeded = httpStatus >= 200 && httpStatus < 300;
    if (isRefunded && (hasSucceeded || by === 'anyone_after_expiry')) {
      logger.warn(logFields, 'relayed request refunded; the vendor may have done the work and bill it');
    }
    return isRefunded;
  } catch (error) {
    logger.error({ err: error, relay_id: relayId }, 'relayed request not refunded yet: the store failed');
    return false;
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
      const bill = billing.noBill(asTask(relay));
      const ending = { billing: bill.billing, finishedAt: clock.unix() };
      if (!(await tx.relays.refundBilled(relayId, relay.quota, ending))) return false;
      await billing.refundSettled(tx, asTask(relay), { bill, reason: sentence('relay.job_failed') });
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

const asTask = (relay: RelayRecord) => ({
  ...relay,
  taskId: relay.relayId,
  platform: RELAY_PLUGIN_KEY,
  properties: { originModelName: relay.model },
});
