import type { Billing } from '../../billing/index.ts';
import { batchCalls, type Clock, err, nextTurn, ok, type Result } from '../../kernel/index.ts';
import { isStoreLocked, isStoreUnavailable, type Repositories, type Store } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { Closing, MoneyGroups, Opening } from '../task-node.ts';

/** How long an Idempotency-Key is kept for the request that took it. */
const IDEMPOTENCY_SECONDS = 24 * 3600;
const MAX_GROUP = 64;
/** Groups at once: one writes while another waits for the disk or for another node's rows. */
const MAX_RUNNING = 2;

type Deps = { store: Store; clock: Clock; billing: Billing };

export function createMoneyGroups(deps: Deps): MoneyGroups {
  const shared = {
    maxSize: MAX_GROUP,
    maxRunning: MAX_RUNNING,
    gather: nextTurn,
    // What one member breaks must not harm the others. A database that is away would be asked in
    // vain for each, and a row that somebody holds by each who wants it.
    divide: (error: unknown) =>
      isStoreLocked(error) ? ('by_owner' as const) : isStoreUnavailable(error) ? undefined : ('by_call' as const),
  };
  const open = batchCalls<Opening<unknown>, unknown>({
    ...shared,
    run: (openings) => openAll(deps, openings),
    ownerOf: ({ payer }) => payer.walletId,
  });
  const close = batchCalls<Closing, boolean>({
    ...shared,
    run: (closings) => closeAll(deps, closings),
    ownerOf: ({ ended }) => ended.task.walletId,
  });
  return {
    async open<T>(opening: Opening<T>) {
      for (;;) {
        const opened = await open(opening);
        if (opened !== FREED) return opened as T;
      }
    },
    close,
  };
}

/** The verdict of a repeat whose first request was refused in the same group: it becomes the first. */
const FREED = Symbol('freed');

/**
 * Statements that are started together travel together on PostgreSQL. Keys come before balances, as
 * in every transaction: who waits for a key of another node holds no balance yet.
 */
const openAll = (
  { store, clock, billing }: Deps,
  openings: readonly Opening<unknown>[],
): Promise<Result<unknown, unknown>[]> =>
  store.transaction(async (tx) => {
    const takes = await takeKeys(tx, openings, clock.unix());
    const unrepeated = openings.filter((opening) => takes.get(opening) !== false);
    const refusals = await billing.reserveAll(
      tx,
      unrepeated.map(({ payer }) => payer),
    );
    const refused = new Map(unrepeated.map((opening, index) => [opening, refusals[index]]));
    const freed = new Set(unrepeated.filter((opening) => refused.get(opening)).map(nameKey));
    return Promise.all(
      openings.map(async (opening) => {
        if (takes.get(opening) === false) {
          if (freed.has(nameKey(opening))) return ok(FREED);
          return err(taskErrors.idempotency_in_progress({ retryAfterSeconds: 5 }));
        }
        const refusal = refused.get(opening);
        if (!refusal) return ok(await opening.insert(tx));
        if (opening.idempotency) await tx.idempotency.free(opening.payer.userId, opening.payer.taskId);
        return err(refusal);
      }),
    );
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

const closeAll = ({ store, billing }: Deps, closings: readonly Closing[]): Promise<Result<boolean, unknown>[]> =>
  store.transaction(async (tx) => {
    const moved = await Promise.all(closings.map(({ move }) => move(tx)));
    // Last: it locks the rows of keys, wallets and channels, for which all other tasks wait.
    await billing.settleAll(
      tx,
      closings.filter((_, index) => moved[index]).map(({ ended }) => ended),
    );
    return moved.map(ok);
  });
