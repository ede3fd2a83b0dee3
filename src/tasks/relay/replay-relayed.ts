import type { RelayRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { stillInProgress } from '../idempotency/limit-repeats.ts';
import { deadlineSignal } from '../observation/deadline-signal.ts';
import type { Caller, TaskDeps } from '../types.ts';
import type { RelayedRequest } from './create-relayed.ts';
import { forwardTo } from './forward-call.ts';
import type { RelayIntent } from './read-relay-request.ts';
import type { RelayAnswer } from './relay-answers.ts';

/**
 * What a repeat gets: the object that the first request was billed for, as it is now. Undefined:
 * the first came to nothing, and the key is free.
 * @throws tasks.idempotency_in_progress, .idempotency_outcome_unknown, .idempotency_not_replayable
 */
export async function replayRelayed(
  deps: TaskDeps,
  caller: Caller,
  { client, headers }: RelayedRequest,
  { stream }: RelayIntent,
  relayId: string,
): Promise<RelayAnswer | undefined> {
  const relay = await waitForEnd(deps, caller, relayId, client.signal);
  if (relay?.status === 'REFUNDED') {
    const { idempotency } = deps.store;
    const held = await idempotency.find(caller.user.id, client.idempotencyKey ?? '', deps.clock.unix());
    if (held?.taskId !== relayId) return undefined;
    throw taskErrors.idempotency_outcome_unknown({ doNotRetry: true });
  }
  const object = stream ? undefined : await deps.store.relays.objectOf(relayId);
  if (!object) throw taskErrors.idempotency_not_replayable({ doNotRetry: true });
  const signal = client.signal ?? new AbortController().signal;
  return { ...(await forwardTo(deps, object, { operation: 'retrieve', query: {}, headers, signal })), replayed: true };
}

/**
 * Waits while the request is open, and until what its answer has made is stored, at most as long as
 * one may take. Undefined: there is no such request any more.
 */
async function waitForEnd(
  { store, clock, limits, repeats }: TaskDeps,
  { user }: Caller,
  relayId: string,
  left: AbortSignal | undefined,
): Promise<RelayRecord | undefined> {
  const { relays } = store;
  const leave = repeats.enter(user.id);
  const patience = deadlineSignal(clock, limits.submitTimeoutMs, left);
  try {
    for (;;) {
      const relay = await relays.byRelayId(relayId);
      const isThrough = relay?.status !== 'BILLED' || (await relays.isDelivered(relayId));
      if (relay?.status !== 'OPEN' && isThrough) return relay;
      if (patience.signal.aborted) throw stillInProgress();
      await clock.sleep(limits.tickMs, patience.signal);
    }
  } finally {
    patience.end();
    leave();
  }
}
