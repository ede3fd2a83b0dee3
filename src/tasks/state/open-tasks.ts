import type { Billing, MemoryHolds } from '../../billing/index.ts';
import type { Capacity, Dispatch } from '../../channels/index.ts';
import { type AppError, type Clock, err, ok, type Result, sentence } from '../../kernel/index.ts';
import type { NewWaiting, ParkedBy, Repositories, WaitingCount } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { Opening, WaitingRules } from '../task-node.ts';
import { countOwnerConcurrency, findEarlier, limitReached } from './owner-limits.ts';

/** How long an Idempotency-Key is kept for the request that took it. */
export const IDEMPOTENCY_SECONDS = 24 * 3600;
/** Retry-After for a client of a full queue, in seconds. */
const FULL_SECONDS = 30;

type OpenDeps = { clock: Clock; billing: Billing; capacity: Capacity; holds: MemoryHolds };

/** A task that the store let begin, and the account that sends it. */
export type Begun = Dispatch & { dispatchedAtMs: number };

/**
 * The verdict of what has to be asked again: of a repeat whose first request its group refused, it
 * becomes the first; and of a payer whose bills are being written, who may have more than it seems.
 */
export class AskAgain {
  constructor(
    /** What it waits for before. */
    readonly after?: Promise<unknown>,
    /** What holds if it cannot wait. */
    readonly refusal?: AppError,
  ) {}
}

/** True for a task or request whose rows were inserted. */
export const isOpen = (result: Result<unknown, unknown> | undefined): boolean =>
  result?.ok === true && !(result.value instanceof AskAgain);

/**
 * Decides which tasks and relayed requests of one moment begin, wait or are refused, and inserts
 * their rows. In this order: a slot at the account, the own limits of key, user and group, room in
 * the queue, the Idempotency-Key, the balance. `begun` receives the slots, for the caller to
 * release.
 *
 * Statements that are started together travel together on PostgreSQL. Rows of limits come first,
 * then keys, then balances, as in every transaction: a node that waits for a key of another one
 * holds no balance yet. The classes of what waits come last, for which all others wait.
 */
export async function openTasks(
  deps: OpenDeps,
  tx: Repositories,
  { openings, begun }: { openings: readonly Opening<unknown>[]; begun: Map<Opening<unknown>, Begun> },
): Promise<Map<Opening<unknown>, Result<unknown, unknown>>> {
  const { clock, billing, holds } = deps;
  const results = new Map<Opening<unknown>, Result<unknown, unknown>>();
  await takePlaces(deps, tx, { openings, begun });
  const full = openings.filter((opening) => opening.start && !begun.has(opening) && !opening.queue);
  for (const opening of full) results.set(opening, err(taskErrors.queue_full({ retryAfterSeconds: FULL_SECONDS })));
  const parked = await holdBack(
    tx,
    openings.filter((opening) => !results.has(opening)),
    begun,
  );
  for (const [opening, reached] of parked) {
    if (!opening.queue && opening.most) results.set(opening, err(limitReached(reached, opening.most)));
  }
  const waiting = openings.filter((opening) => opening.queue && !begun.has(opening));
  for (const [opening, error] of await refuseOverfullQueues(tx, waiting)) results.set(opening, err(error));
  const placed = openings.filter((opening) => !results.has(opening));
  const takes = await takeKeys(tx, placed, clock.unix());
  const unrepeated = placed.filter((opening) => takes.get(opening) !== false);
  const payers = new Map(unrepeated.map((opening) => [opening, { ...opening.payer, held: holds.read(opening.payer) }]));
  const refusals = await billing.reserveAll(tx, [...payers.values()]);
  const refused = new Map(unrepeated.map((opening, index) => [opening, refusals[index]]));
  const freed = new Set(unrepeated.filter((opening) => refused.get(opening)).map(nameKey));
  await Promise.all(
    placed.map(async (opening) => {
      const refusal = refused.get(opening);
      if (takes.get(opening) === false) {
        const error = taskErrors.idempotency_in_progress({ retryAfterSeconds: 5 });
        results.set(opening, freed.has(nameKey(opening)) ? ok(new AskAgain()) : err(error));
      } else if (!refusal) results.set(opening, ok(await opening.insert(tx, begun.get(opening), parked.has(opening))));
      else {
        if (opening.idempotency) await tx.idempotency.free(opening.payer.userId, opening.payer.taskId);
        const payer = payers.get(opening);
        const after = payer && holds.settling(payer);
        results.set(opening, after ? ok(new AskAgain(after, refusal)) : err(refusal));
      }
    }),
  );
  await tx.waiting.put(
    waiting.flatMap((opening) =>
      opening.queue && isOpen(results.get(opening))
        ? [{ ...opening.queue.entry, parked: parked.get(opening) ?? '' }]
        : [],
    ),
  );
  return results;
}

async function takePlaces(
  { capacity }: OpenDeps,
  tx: Repositories,
  { openings, begun }: { openings: readonly Opening<unknown>[]; begun: Map<Opening<unknown>, Begun> },
): Promise<void> {
  const scopes = openings.flatMap(({ start }) => (start ? [start.scope] : []));
  if (scopes.length === 0) return;
  const slots = await capacity.lockSlots(tx, scopes);
  for (const opening of openings) {
    const dispatch = opening.start && (await slots.take(opening.start.scope, opening.start.task));
    if (dispatch) begun.set(opening, dispatch);
  }
}

/**
 * Finds the tasks that exceed a limit of their own key, user or group, or would overtake tasks that
 * such a limit holds back. Their users stay locked, so that nobody else begins a task of theirs.
 */
async function holdBack(
  tx: Repositories,
  openings: readonly Opening<unknown>[],
  begun: ReadonlyMap<Opening<unknown>, Begun>,
): Promise<Map<Opening<unknown>, Exclude<ParkedBy, ''>>> {
  const held = new Map<Opening<unknown>, Exclude<ParkedBy, ''>>();
  const limited = openings.filter(({ most }) => most);
  if (limited.length === 0) return held;
  const userIds = [...new Set(limited.map(({ payer }) => payer.userId))];
  const own = countOwnerConcurrency(await tx.waiting.running(userIds, { locks: true }));
  const parked = await tx.waiting.parked(userIds);
  for (const opening of limited) {
    const { payer, most } = opening;
    if (!most) continue;
    const reached = own.findReached(payer, most) || findEarlier(payer, parked);
    if (reached) held.set(opening, reached);
    else if (!opening.queue || begun.has(opening)) own.add(payer);
  }
  return held;
}

type Queued = {
  queue?:
    | { entry: Pick<NewWaiting, 'userId' | 'bytes'> & { class: { group: string } }; rules: WaitingRules }
    | undefined;
};

/** Whether the queue has room for one more, as far as is known now. */
export const hasRoom = async (store: Pick<Repositories, 'waiting'>, queue: Queued['queue']): Promise<boolean> =>
  (await refuseOverfullQueues(store, [{ queue }])).size === 0;

/** Finds the tasks beyond the bounds of their group. Each one within them counts for the next. */
async function refuseOverfullQueues<Each extends Queued>(
  tx: Pick<Repositories, 'waiting'>,
  openings: readonly Each[],
): Promise<Map<Each, AppError>> {
  const refused = new Map<Each, AppError>();
  if (openings.length === 0) return refused;
  const userIds = openings.flatMap(({ queue }) => queue?.entry.userId ?? []);
  const [classes, byUser] = await Promise.all([tx.waiting.classes(), tx.waiting.countByUser([...new Set(userIds)])]);
  const sums = new Map<string | undefined, Waiting>();
  const sumFor = (group: string | undefined): Waiting => {
    const sum = sums.get(group) ?? sumUp(classes.filter((each) => group === undefined || each.group === group));
    sums.set(group, sum);
    return sum;
  };
  for (const opening of openings) {
    if (!opening.queue) continue;
    const { entry, rules } = opening.queue;
    const own = byUser.get(entry.userId) ?? 0;
    const [all, ofGroup] = [sumFor(undefined), sumFor(entry.class.group)];
    const { tasks } = rules.own?.maxWaiting ? ofGroup : all;
    const { bytes } = rules.own?.maxWaitingBytes ? ofGroup : all;
    const reason =
      own >= rules.maxWaitingPerUser
        ? sentence('tasks.queue_full_user', { most: rules.maxWaitingPerUser })
        : tasks >= rules.maxWaiting || bytes + entry.bytes > rules.maxWaitingBytes
          ? sentence('tasks.queue_full')
          : undefined;
    if (reason) {
      refused.set(opening, taskErrors.queue_full({ message: reason, retryAfterSeconds: FULL_SECONDS }));
      continue;
    }
    byUser.set(entry.userId, own + 1);
    for (const sum of [all, ofGroup]) {
      sum.tasks += 1;
      sum.bytes += entry.bytes;
    }
  }
  return refused;
}

type Waiting = { tasks: number; bytes: number };

const sumUp = (classes: readonly WaitingCount[]): Waiting => ({
  tasks: classes.reduce((sum, { waiting }) => sum + waiting, 0),
  bytes: classes.reduce((sum, { bytes }) => sum + bytes, 0),
});

const nameKey = ({ payer, idempotency }: Opening<unknown>): string => `${payer.userId} ${idempotency?.key}`;

/** In one order everywhere, so that two groups never wait for each other's keys. */
async function takeKeys(
  tx: Repositories,
  openings: readonly Opening<unknown>[],
  at: number,
): Promise<Map<Opening<unknown>, boolean>> {
  const keys = openings.flatMap((opening) => {
    const { idempotency, payer } = opening;
    if (!idempotency) return [];
    const { key, requestHash } = idempotency;
    const { userId, taskId } = payer;
    return [{ opening, record: { key, requestHash, userId, taskId, at, expiresAt: at + IDEMPOTENCY_SECONDS } }];
  });
  keys.sort((a, b) => (nameKey(a.opening) < nameKey(b.opening) ? -1 : 1));
  const taken = await Promise.all(keys.map(({ record }) => tx.idempotency.take(record)));
  return new Map(keys.map(({ opening }, index) => [opening, taken[index] === true]));
}
