import { type Billing, createMemoryHolds, type MemoryHolds } from '../../billing/index.ts';
import { type Capacity, heldSlots } from '../../channels/index.ts';
import { batchCalls, type Clock, err, nextTurn, ok, type Result } from '../../kernel/index.ts';
import { isStoreLocked, isStoreUnavailable, type Store } from '../../store/ports/index.ts';
import type { Closing, MoneyWrites, Opening } from '../task-node.ts';
import { AskAgain, type Begun, isOpen, openTasks } from './open-tasks.ts';

/** The most members of one transaction. */
const MAX_GROUP = 64;
/** Groups at once: one writes while another waits for the disk or for another node's rows. */
const MAX_RUNNING = 2;

/** How long bills gather of what was held in memory. */
const BILLS_GATHER_MS = 10;
/** How long a refusal waits for bills of the same payer that are being written. */
const BILLS_WAIT_MS = 2000;

/** `mostHeld`: the quota that this node may hold in memory; 0: it reserves all in the store. */
type BatchOptions = { store: Store; clock: Clock; billing: Billing; capacity: Capacity; mostHeld?: () => number };
type Deps = Omit<BatchOptions, 'mostHeld'> & { holds: MemoryHolds };

/**
 * Lets writes that move money at one moment share a transaction: `open-tasks.ts` decides what may
 * begin, `closeAll` below writes what has ended.
 */
export function batchMoneyWrites({ mostHeld = () => 0, ...given }: BatchOptions): MoneyWrites {
  const shared = {
    maxSize: MAX_GROUP,
    maxRunning: MAX_RUNNING,
    gather: nextTurn,
    // What one member breaks must not harm the others. An unavailable database would be asked again
    // for each member, and a locked row by each member that wants it.
    divide: (error: unknown) =>
      isStoreLocked(error) ? ('by_owner' as const) : isStoreUnavailable(error) ? undefined : ('by_call' as const),
  };
  const holds = createMemoryHolds({
    readsFacts: given.billing.readsFacts,
    canReserve: batchCalls({
      ...{ maxSize: MAX_GROUP, maxRunning: MAX_RUNNING, gather: nextTurn },
      run: async (payers) => (await given.billing.canReserveAll(payers)).map(ok),
    }),
    most: mostHeld,
  });
  const deps = { ...given, holds };
  async function noteWrite<T>(written: Promise<T>): Promise<T> {
    try {
      const value = await written;
      holds.noteWrite(true);
      return value;
    } catch (error) {
      holds.noteWrite(false);
      throw error;
    }
  }
  const open = batchCalls<Opening<unknown>, unknown>({
    ...shared,
    run: (openings) => noteWrite(openAll(deps, openings)),
    readOwner: ({ payer }) => payer.walletId,
  });
  const batchClosings = (gather: () => Promise<void>) =>
    batchCalls<Closing, boolean>({
      ...{ ...shared, gather },
      run: (closings) => noteWrite(closeAll(deps, closings)),
      readOwner: ({ ended }) => ended.task.walletId,
    });
  // What was held locks all its keys, then all its wallets, before it is billed. In one transaction
  // with others it would lock their keys after its own wallets. No client waits for these bills, so
  // many share a commit.
  const [close, closeHeld] = [batchClosings(nextTurn), batchClosings(() => given.clock.sleep(BILLS_GATHER_MS))];
  return {
    async open<T>(opening: Opening<T>) {
      const decided = holds.reserving(opening.payer);
      try {
        const waitsUntilMs = given.clock.monotonicMs() + BILLS_WAIT_MS;
        for (;;) {
          const opened = await open(opening);
          if (!(opened instanceof AskAgain)) return opened as T;
          if (opened.refusal && given.clock.monotonicMs() >= waitsUntilMs) throw opened.refusal;
          if (opened.after) await awaitBills(given.clock, opened.after);
        }
      } finally {
        decided();
      }
    },
    hold: holds.take,
    async replacing(work) {
      const decided: (() => void)[] = [];
      const replace: Billing['replaceReservation'] = (tx, task, previous) => {
        decided.push(holds.reserving({ ...task, quota: Math.max(0, task.quota - previous.reserved) }));
        return given.billing.replaceReservation(tx, { ...task, held: holds.read(task) }, previous);
      };
      try {
        return await given.store.transaction((tx) => work(tx, replace));
      } finally {
        for (const end of decided) end();
      }
    },
    close: (closing) => (owesMoney(closing) ? closeHeld(closing) : close(closing)),
  };
}

async function awaitBills(clock: Clock, bills: Promise<unknown>): Promise<void> {
  const waiting = new AbortController();
  await Promise.race([bills, clock.sleep(BILLS_WAIT_MS, waiting.signal)]);
  waiting.abort();
}

const owesMoney = ({ owes }: Closing): boolean => owes !== undefined && owes.quota > 0;

async function openAll(deps: Deps, openings: readonly Opening<unknown>[]): Promise<Result<unknown, unknown>[]> {
  const begun = new Map<Opening<unknown>, Begun>();
  const release = (isKept = (_: Opening<unknown>) => false): void => {
    for (const [opening, dispatch] of begun) {
      if (isKept(opening)) continue;
      deps.capacity.end(heldSlots(dispatch));
      begun.delete(opening);
    }
  };
  try {
    const results = await deps.store.transaction((tx) => {
      // The database may have undone an earlier run, whose slots others may have taken since.
      release();
      return openTasks(deps, tx, { openings, begun });
    });
    release((opening) => isOpen(results.get(opening)));
    return openings.map((opening) => results.get(opening) ?? err(new Error('nothing was decided')));
  } catch (error) {
    release();
    throw error;
  }
}

const closeAll = ({ store, billing }: Deps, closings: readonly Closing[]): Promise<Result<boolean, unknown>[]> =>
  store.transaction(async (tx) => {
    const advances = await Promise.all(closings.map(({ advance }) => advance?.(tx)));
    const written = await tx.tasks.advanceAll(advances.filter((advance) => advance !== undefined));
    const isAdvanced = advances.map((advance) => advance !== undefined && written.shift() === true);
    const moved = await Promise.all(closings.map(({ move }, index) => move(tx, isAdvanced[index] === true)));
    const ending = closings.filter((_, index) => moved[index]);
    // Last: they lock the rows of keys, wallets and channels, for which all other tasks wait.
    await billing.reserveAll(
      tx,
      ending.flatMap(({ owes }) => (owes ? [{ ...owes, isOwed: true }] : [])),
    );
    await billing.settleAll(
      tx,
      ending.map(({ ended }) => ended),
    );
    const taken = closings.flatMap((closing, index) => (moved[index] ? (closing.taken?.() ?? []) : []));
    if (taken.length > 0) await tx.waiting.count(taken, { isSent: false });
    return moved.map(ok);
  });
