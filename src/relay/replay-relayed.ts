import { deadlineSignal } from '../kernel/index.ts';
import type { RelayRecord } from '../store/ports/index.ts';
import { type Caller, stillInProgress, type TaskDeps } from '../tasks/index.ts';
import { relayErrors } from './errors.ts';
import { forwardTo } from './forward-call.ts';
import type { RelayAnswer, RelayedRequest, RelayIntent } from './types.ts';

/** `relayId`: of the first request with the same Idempotency-Key. */
type Replay = { caller: Caller; request: RelayedRequest; intent: RelayIntent; relayId: string };

/**
 * Answers a repeat with the object that the first request was billed for, as it is now. Undefined:
 * the first request came to nothing and released its key.
 * @throws tasks.idempotency_in_progress, .idempotency_outcome_unknown, .idempotency_not_replayable
 */
export async function replayRelayed(
  deps: TaskDeps,
  { caller, request: { client, headers }, intent: { stream }, relayId }: Replay,
): Promise<RelayAnswer | undefined> {
  const relay = await waitForEnd(deps, { caller, relayId, left: client.signal });
  const object = stream ? undefined : await deps.store.relays.findObject(relayId);
  // With an object, its job was accepted and has failed since.
  if (relay?.status === 'REFUNDED' && !object) {
    const { idempotency } = deps.store;
    const held = await idempotency.find(caller.user.id, client.idempotencyKey ?? '', deps.clock.unix());
    if (held?.taskId !== relayId) return undefined;
    throw relayErrors.idempotency_outcome_unknown({ shouldRetry: false });
  }
  if (!object) throw relayErrors.idempotency_not_replayable({ shouldRetry: false });
  const signal = client.signal ?? new AbortController().signal;
  return { ...(await forwardTo(deps, object, { operation: 'retrieve', query: {}, headers, signal })), replayed: true };
}

/**
 * Waits until the first request has ended and its object is stored, at most as long as a request
 * may take. Undefined: its row was deleted.
 * @throws tasks.idempotency_in_progress
 */
async function waitForEnd(
  { store, clock, limits, node: { repeats, leases } }: TaskDeps,
  { caller, relayId, left }: { caller: Caller; relayId: string; left: AbortSignal | undefined },
): Promise<RelayRecord | undefined> {
  const { relays } = store;
  const release = repeats.acquire(caller.user.id);
  const deadline = deadlineSignal(clock, limits.submitTimeoutMs, left);
  try {
    for (;;) {
      const relay = await relays.byRelayId(relayId);
      const isHeld = leases.held().includes(relayId);
      const isStored = relay?.status !== 'BILLED' || (!isHeld && (await relays.isDelivered(relayId)));
      if (relay?.status !== 'OPEN' && isStored) return relay;
      if (deadline.signal.aborted) throw stillInProgress();
      await clock.sleep(limits.tickMs, deadline.signal);
    }
  } finally {
    deadline.end();
    release();
  }
}
