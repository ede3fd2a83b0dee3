import type { Billing } from '../../billing/index.ts';
import { type Dispatch, heldSlots, type LockedSlots } from '../../channels/index.ts';
import type { AcceptedPrice, Repositories, TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { toLease } from '../state/finish-task.ts';
import type { TaskDeps } from '../types.ts';
import type { PreparedSubmission } from './prepare-submission.ts';
import { SUBMIT_LEASE_MS } from './renew-lease.ts';
import { reservationNumber, type TakenEntry } from './return-to-queue.ts';
import type { Choice } from './take-account.ts';

type Move = { task: TaskRecord; choice: Choice; attempt: number; taken: TakenEntry | undefined };

/**
 * Moves the task to the account that it is sent by now. A task that waited keeps the price that was
 * accepted for its model at the vendor; for another model it costs what that costs now, and never
 * more than was accepted. A word says why this account cannot take it: its `price`, no slot that is
 * left (`full`), or `slots`: it takes more than are left.
 * @throws tasks.submission_interrupted if the lease was lost
 */
export async function moveTask(
  deps: TaskDeps,
  { channel, plugin, generation, action, upstreamModel, quote, slots }: PreparedSubmission,
  { task, choice, attempt, taken }: Move,
): Promise<{ task: TaskRecord; dispatch: Dispatch } | 'price' | 'full' | 'slots'> {
  const accepted = taken?.task;
  const isAccepted = accepted?.properties.upstreamModelName === upstreamModel;
  // The price of another model at the vendor, or of another one than was asked for, is bound by the
  // accepted one (`billing/final-bill.ts`).
  const bound = accepted && (isAccepted ? accepted.billing.accepted : readAccepted(accepted));
  if (accepted && bound && !isAccepted) {
    // Another plugin may not report the facts that the accepted price reads: it would be free.
    const isUnknown = plugin.key !== accepted.platform && bound.quota === 0 && deps.billing.readsFacts(bound);
    if (isUnknown || quote.quota > bound.quota) return 'price';
  }
  const { credentialId } = choice.scope;
  const isInPlace = task === accepted && task.credentialId === credentialId && choice.kind === 'begun';
  if (isAccepted && isInPlace && task.action === action && task.slots === slots)
    return { task, dispatch: choice.dispatch };
  const { quota, snapshot } = accepted && isAccepted ? { quota: accepted.quota, snapshot: accepted.billing } : quote;
  const isOther = plugin.key !== task.platform;
  const { key: pluginKey, version: pluginVersion, sourceHash } = plugin;
  const change = {
    ...(isOther
      ? { platform: pluginKey, sourceHash, execution: { ...task.execution, pluginKey, pluginVersion, generation } }
      : {}),
    ...{
      channelId: channel.id,
      credentialId,
      action,
      quota,
      billing: bound ? { ...snapshot, accepted: bound } : snapshot,
      upstreamModel: choice.scope.model,
      slots,
    },
    properties: { ...task.properties, upstreamModelName: upstreamModel },
  };
  const { capacity, writes } = deps.node;
  const isTooLarge = choice.kind === 'begun' && capacity.lacking(choice.scope, slots, choice.dispatch.slots);
  if (taken && isTooLarge) return 'slots';
  const resized = choice.kind === 'begun' ? capacity.resize(choice.dispatch, slots) : undefined;
  let locked: Awaited<ReturnType<LockedSlots['take']>>;
  /** Gives back the slot of a transaction that was undone: it may be run again. */
  const release = (): void => {
    if (locked) capacity.end(heldSlots(locked));
    locked = undefined;
  };
  async function move(tx: Repositories, replace: Billing['replaceReservation']): Promise<'moved' | 'full' | 'lost'> {
    release();
    if (choice.kind === 'asks') {
      const free = await capacity.lockSlots(tx, [choice.scope]);
      locked = await free.take(choice.scope, { ...choice.start, slots });
      if (!locked) return 'full';
    }
    if (isOther) await deps.node.writes.sources.keep(tx, plugin, deps.clock.unix());
    const started = locked === undefined ? {} : { dispatchedAtMs: locked.dispatchedAtMs };
    if (!(await tx.tasks.amend(toLease(task), { ...change, ...started }))) return 'lost';
    // Preparing this channel's request took time, in which nothing renewed the lease.
    await tx.tasks.renew(toLease(task), SUBMIT_LEASE_MS);
    const number = reservationNumber(task, attempt);
    await replace(tx, { ...task, ...change }, { reserved: task.quota, attempt: number });
    return 'moved';
  }
  const moved = await writes.money.replacing(move).catch((error: unknown) => {
    release();
    throw error;
  });
  if (moved === 'full') return moved;
  const dispatch = resized ?? locked;
  if (moved === 'moved' && dispatch) return { task: { ...task, ...change }, dispatch };
  release();
  throw taskErrors.submission_interrupted({ shouldRetry: false });
}

/** The price of the model that was asked for, also where the task moves once more. */
export function readAccepted({ billing, quota }: Pick<TaskRecord, 'billing' | 'quota'>): AcceptedPrice {
  const { expression, facts, groupRatio, model, action } = billing;
  return billing.accepted ?? { expression, facts, groupRatio, model, action, quota };
}
