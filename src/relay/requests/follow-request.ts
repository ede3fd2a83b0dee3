import { deadlineSignal, RELAY_PREFIX } from '../../kernel/index.ts';
import type { RelayRecord } from '../../store/ports/index.ts';
import { type Caller, findOwnTask, type TaskDeps, type TaskEvent, taskErrors, taskObject } from '../../tasks/index.ts';
import { mayBeFollowed } from '../endpoints.ts';
import { relayErrors } from '../errors.ts';
import { relayTask } from '../objects/describe-relay.ts';
import type { Creation, RelayAnswer, RelayDeps, RelayedRequest } from '../types.ts';
import { RELAY_PLUGIN_KEY } from '../usage/reserve-and-bill.ts';
import { findMessage, openKeptAnswer, sendKeptAnswer } from './kept-answers.ts';
import { awaitRelayEnd, holdsKey } from './replay-answer.ts';

/** How long a gateway that stops waits for requests that are followed; then they are refunded. */
const STOP_MS = 10_000;
const UNKNOWN_END =
  'The gateway stopped before the vendor had answered, or could not keep the answer, and refunded it. The vendor may have made it.';

/** Whether answers can be kept, and every living node can read a request as a task. */
export const mayFollow = async ({ node, storage }: RelayDeps): Promise<boolean> =>
  node.features.has('relay_tasks@1') && (await storage.files.findFault()) === undefined;

/**
 * Begins a request whose client follows it as a task, and answers 202 as soon as its money is
 * reserved. `run` calls `onOpen` then, and goes on without the client.
 * @throws what `run` throws before
 */
export async function startFollowed(
  deps: RelayDeps,
  { request: { follow } }: Pick<Creation, 'request'>,
  run: (onOpen: (relay: RelayRecord) => void) => Promise<RelayAnswer>,
): Promise<RelayAnswer> {
  const opened = Promise.withResolvers<RelayRecord>();
  const ending = run(opened.resolve);
  const first = await Promise.race([opened.promise, ending]);
  if (!('relayId' in first)) return first;
  const work = ending.then(
    () => {},
    // It is in the ledger and in the task.
    () => {},
  );
  follow?.goesOn(work);
  deps.shared.settlements.track(Promise.race([work, waitForStop(deps, work)]));
  return acceptedAnswer(relayTask(first), { follow, replayed: false });
}

/** Settles when the gateway has waited long enough for the work after it began to stop. */
function waitForStop({ clock, shared: { stopping } }: RelayDeps, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => void clock.sleep(STOP_MS).then(resolve);
    stopping.addEventListener('abort', stop, { once: true });
    void work.then(() => stopping.removeEventListener('abort', stop));
  });
}

type Acceptance = Pick<RelayedRequest, 'follow'> & Pick<RelayAnswer, 'replayed'>;

const acceptedAnswer = (task: { id: string }, { follow, replayed }: Acceptance): RelayAnswer => ({
  ...jsonAnswer(202, task),
  headers: {
    'content-type': 'application/json',
    location: `/v1/tasks/${task.id}`,
    ...(follow?.isPreferred ? { 'preference-applied': 'respond-async' } : {}),
  },
  replayed,
});

/**
 * Answers a repeat with the task of the first request, which a plugin may have served. Undefined:
 * it failed and released its key.
 * @throws tasks.idempotency_not_replayable
 */
export async function repeatFollowed(
  deps: TaskDeps,
  { caller, request }: Pick<Creation, 'caller' | 'request'>,
  relayId: string,
): Promise<RelayAnswer | undefined> {
  const accept = (task: { id: string }) => acceptedAnswer(task, { ...request, replayed: true });
  const relay = await deps.store.relays.byRelayId(relayId);
  if (!relay) {
    const task = await findOwnTask(deps, caller.user.id, relayId);
    if (task) return accept(taskObject(task));
    throw taskErrors.idempotency_not_replayable({ shouldRetry: false });
  }
  const isFreed = relay.status === 'REFUNDED' && !(await holdsKey(deps, { caller, request, relayId }));
  if (!isFreed && relay.hiddenAt > 0) throw taskErrors.idempotency_not_replayable({ shouldRetry: false });
  return isFreed ? undefined : accept(relayTask(relay));
}

const jsonAnswer = (status: number, value: object): RelayAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: new TextEncoder().encode(JSON.stringify(value)),
  replayed: false,
});

export const isRelayId = (id: string): boolean => id.startsWith(RELAY_PREFIX);

export type OwnRelayTask = { caller: Caller; id: string };
/** `waitMs`: how long the client waits for the end. */
export type RelayTaskRead = OwnRelayTask & { waitMs: number; left: AbortSignal };

/**
 * The request as the task that its client follows. Once it has succeeded, `result` is the answer
 * that waiting for it would have had, as long as that is kept and its place can be read.
 * @throws tasks.task_not_found, tasks.rate_limit_exceeded when too many wait already,
 * tasks.artifact_access_limited
 */
export async function readRelayTask(deps: TaskDeps, read: RelayTaskRead): Promise<RelayAnswer> {
  const relay = await awaitOwn(deps, read);
  if (relay.status !== 'BILLED') return jsonAnswer(200, await describeRelay(deps, relay));
  const { caller, id, left } = read;
  const kept = await openIfReadable(deps, id);
  const task = relayTask(relay);
  const answer = jsonAnswer(200, task);
  if (!kept) return answer;
  const before = `${JSON.stringify(task).slice(0, -1)},"result":`;
  return { ...answer, body: sendKeptAnswer(deps, kept, { userId: caller.user.id, left, before, after: '}' }) };
}

/** The user's own request, once it has ended or the wait for that is over. */
export async function awaitOwn(deps: TaskDeps, { waitMs, left, ...own }: RelayTaskRead): Promise<RelayRecord> {
  const found = await findOwn(deps, own);
  const { caller, id } = own;
  const wait = () => ({
    relayId: id,
    waitMs,
    left,
    release: deps.node.limiters.observations.acquire(toObserver(caller)),
  });
  const { relay = found } = found.status === 'OPEN' && waitMs > 0 ? await awaitRelayEnd(deps, wait()) : {};
  // Another request may have deleted it.
  if (relay.hiddenAt > 0) throw taskErrors.task_not_found();
  return relay;
}

const toObserver = ({ user, key }: Caller) => ({
  pluginKey: RELAY_PLUGIN_KEY,
  userId: user.id,
  keyId: key?.id ?? null,
});

/** The request as a task without `result`; a failed one says why. */
export async function describeRelay(deps: TaskDeps, relay: RelayRecord): Promise<ReturnType<typeof relayTask>> {
  if (relay.status !== 'REFUNDED') return relayTask(relay);
  const kept = await openIfReadable(deps, relay.relayId);
  const failure = kept && findMessage(await new Response(kept).bytes());
  return relayTask(relay, failure ?? UNKNOWN_END);
}

export const openIfReadable = (deps: TaskDeps, relayId: string) =>
  openKeptAnswer(deps, relayId).catch((error) => {
    deps.logger.warn({ err: error, relay_id: relayId }, 'a kept answer could not be read');
    return undefined;
  });

/**
 * Yields the request as a task: as it is now, and once it has ended. Its answer is not part of an
 * event, since it may be many megabytes. Ends early when the client has `left`, and at the protocol
 * timeout.
 * @throws tasks.task_not_found, tasks.rate_limit_exceeded
 */
export async function followRelayTask(
  deps: TaskDeps,
  { left, ...own }: OwnRelayTask & { left: AbortSignal },
): Promise<AsyncIterableIterator<TaskEvent, undefined>> {
  const found = await findOwn(deps, own);
  const release = deps.node.limiters.observations.acquire(toObserver(own.caller));
  const deadline = deadlineSignal(deps.clock, deps.limits.submitTimeoutMs, left);
  if (deadline.signal.aborted) release();
  else deadline.signal.addEventListener('abort', release, { once: true });
  let shown: RelayRecord | undefined;

  async function findNext(): Promise<RelayRecord | undefined> {
    if (!shown) return found;
    if (shown.status !== 'OPEN') return undefined;
    const wait = { relayId: own.id, waitMs: deps.limits.submitTimeoutMs, left: deadline.signal };
    const { relay, isOver } = await awaitRelayEnd(deps, { ...wait, release: () => {} });
    return isOver && relay?.hiddenAt === 0 ? relay : undefined;
  }
  // Not a generator: one that never began would not give back its slots.
  const events: AsyncIterableIterator<TaskEvent, undefined> = {
    async next() {
      const next = await findNext().catch((error: unknown) => {
        deadline.end();
        throw error;
      });
      if (!next || deadline.signal.aborted) {
        deadline.end();
        return { done: true, value: undefined };
      }
      shown = next;
      const data = await describeRelay(deps, next);
      const event = next.status === 'OPEN' ? 'task.updated' : 'task.finished';
      return { done: false, value: { id: `0-${data.status}`, event, data } };
    },
    async return() {
      deadline.end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => events,
  };
  return events;
}

export type RelayTaskPage = { tasks: ReturnType<typeof relayTask>[]; hasMore: boolean };

/**
 * A page of the user's requests as tasks, by creation. The reason of a failure is only told with a
 * single request.
 * @throws tasks.page_not_found when `after` is not one of them
 */
export async function pageRelayTasks(
  { store }: TaskDeps,
  userId: number,
  page: Parameters<TaskDeps['store']['relays']['pageByUser']>[1],
): Promise<RelayTaskPage> {
  // One more tells whether there is another page.
  const found = await store.relays.pageByUser(userId, { ...page, limit: page.limit + 1 });
  if (!found) throw taskErrors.page_not_found({ param: 'after' });
  const tasks = found.slice(0, page.limit).map((relay) => relayTask(relay));
  return { tasks, hasMore: found.length > page.limit };
}

/** @throws tasks.task_not_found */
async function findOwn({ store }: TaskDeps, { caller, id }: OwnRelayTask): Promise<RelayRecord> {
  const found = await store.relays.byRelayId(id);
  const isShown = found?.userId === caller.user.id && found.hiddenAt === 0;
  if (!isShown || !mayBeFollowed(found.kind)) throw taskErrors.task_not_found();
  return found;
}

/** The vendor has it from its first moment, and would bill what is cancelled here alone. */
const VENDOR_HAS_IT =
  'The vendor has the request, and its API cannot cancel it there. It ends automatically, and a failure costs nothing.';

/**
 * Refuses to cancel the user's own request: it would refund what the vendor bills.
 * @throws tasks.task_not_found, tasks.task_finished, tasks.cancel_unsupported
 */
export async function cancelRelayTask(deps: TaskDeps, own: OwnRelayTask): Promise<never> {
  const { status } = await findOwn(deps, own);
  throw status === 'OPEN' ? taskErrors.cancel_unsupported({ message: VENDOR_HAS_IT }) : taskErrors.task_finished();
}

/**
 * Deletes the user's own request for them: as a task it is gone, and so is its answer. Its row,
 * bill and usage stay.
 * @throws tasks.task_not_found, tasks.cancel_unsupported while the vendor works
 */
export async function deleteRelayTask(deps: TaskDeps, own: OwnRelayTask): Promise<void> {
  const { status, relayId } = await findOwn(deps, own);
  if (status === 'OPEN') throw taskErrors.cancel_unsupported({ message: VENDOR_HAS_IT });
  const isHidden = await deps.store.transaction(async (tx) => {
    if (!(await tx.relays.hide(relayId, deps.clock.unix()))) return false;
    await tx.results.forget(relayId);
    return true;
  });
  // Another request has deleted it first.
  if (!isHidden) throw taskErrors.task_not_found();
}

/** @throws tasks.task_not_found, tasks.artifacts_unsupported */
export async function refuseRelayArtifacts(deps: TaskDeps, own: OwnRelayTask): Promise<never> {
  await findOwn(deps, own);
  throw relayErrors.artifacts_unsupported();
}
