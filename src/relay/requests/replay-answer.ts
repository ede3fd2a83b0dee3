import { deadlineSignal } from '../../kernel/index.ts';
import type { RelayRecord } from '../../store/ports/index.ts';
import { stillInProgress, type TaskDeps, taskErrors } from '../../tasks/index.ts';
import { relayErrors } from '../errors.ts';
import { callVendorObject } from '../objects/call-stored-object.ts';
import type { Creation, RelayAnswer, RelayDeps } from '../types.ts';
import { openKeptAnswer, sendKeptAnswer } from './kept-answers.ts';

/** `relayId`: of the first request with the same Idempotency-Key. */
type Replay = Creation & { relayId: string };

/**
 * Answers a repeat with the object that the first request was billed for, as it is now, or with the
 * answer that is kept of it. Undefined: the first request failed and released its key.
 * @throws tasks.idempotency_in_progress, .idempotency_outcome_unknown, .idempotency_not_replayable,
 * .artifact_access_limited
 */
export async function replayAnswer(deps: RelayDeps, replay: Replay): Promise<RelayAnswer | undefined> {
  const {
    caller,
    request: { client, headers },
    intent: { stream },
    relayId,
  } = replay;
  const userId = caller.user.id;
  const wait = { relayId, waitMs: deps.limits.submitTimeoutMs, left: client.signal };
  const { relay, isOver } = await awaitRelayEnd(deps, { ...wait, release: deps.node.limiters.repeats.acquire(userId) });
  if (!isOver) throw stillInProgress();
  const object = stream ? undefined : await deps.store.relays.findObject(relayId);
  // With an object, its job was accepted and has failed since.
  if (relay?.status === 'REFUNDED' && !object) {
    if (!(await holdsKey(deps, replay))) return undefined;
    throw relayErrors.idempotency_outcome_unknown({ shouldRetry: false });
  }
  if (object) {
    const signal = client.signal ?? new AbortController().signal;
    return {
      ...(await callVendorObject(deps, object, { operation: 'retrieve', query: {}, headers, signal })),
      replayed: true,
    };
  }
  const kept = relay && (await openKeptAnswer(deps, relayId));
  if (!kept) throw taskErrors.idempotency_not_replayable({ shouldRetry: false });
  const body = sendKeptAnswer(deps, kept, { userId, left: client.signal });
  return { status: relay.httpStatus, headers: { 'content-type': 'application/json' }, body, replayed: true };
}

/** Whether the key of the repeat still stands for the first request, which was refunded. */
export async function holdsKey(
  { store, clock }: TaskDeps,
  { caller, request: { client }, relayId }: Pick<Replay, 'caller' | 'request' | 'relayId'>,
): Promise<boolean> {
  const held = await store.idempotency.find(caller.user.id, client.idempotencyKey ?? '', clock.unix());
  return held?.taskId === relayId;
}

/** `release`: gives back the slots of the wait. */
type Wait = { relayId: string; waitMs: number; left: AbortSignal | undefined; release: () => void };

/**
 * Waits until the request has ended and what is known of its answer is stored. `isOver`: it has, or
 * its row was deleted.
 */
export async function awaitRelayEnd(
  { store, clock, limits, node: { leases } }: TaskDeps,
  { relayId, waitMs, left, release }: Wait,
): Promise<{ relay: RelayRecord | undefined; isOver: boolean }> {
  const { relays } = store;
  const deadline = deadlineSignal(clock, waitMs, left);
  try {
    for (;;) {
      const relay = await relays.byRelayId(relayId);
      const isHeld = leases.held().includes(relayId);
      const isStored = relay?.status !== 'BILLED' || (!isHeld && (await relays.isDelivered(relayId)));
      const isOver = relay?.status !== 'OPEN' && isStored;
      if (isOver || deadline.signal.aborted) return { relay, isOver };
      await clock.sleep(limits.tickMs, deadline.signal);
    }
  } finally {
    deadline.end();
    release();
  }
}
