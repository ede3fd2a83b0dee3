import type { HeldAmounts } from '../store/ports/index.ts';
import type { Billing } from './billing.ts';
import type { ReservedTask } from './settle.ts';

/**
 * A reservation that this node holds in memory. A process that dies forgets it: then nothing was
 * reserved, and nothing is billed.
 */
export type Hold = {
  /** Counts the bill instead of the reservation. Call it once the bill is known. */
  bill(quota: number): void;
  /** Call it once the bill is written, or when there is no bill; once or more often. */
  end(): void;
};

/** Sums of quota, by the name of the wallet, key, user or group. */
type Sums = Map<string, number>;

export type MemoryHolds = {
  /** Holds a reservation; `undefined`: it has to be reserved in the store. */
  take(payer: ReservedTask): Promise<Hold | undefined>;
  /**
   * The amounts of the same payer that are held here or being billed: the store must leave them.
   */
  read(payer: ReservedTask): HeldAmounts;
  /**
   * For a payer who was refused beside `held`, as `read` had it: resolves once the bills of theirs
   * that are being written are. Until then a bill may count twice: here, and in the balance of the
   * store. `undefined`: no bill is being written, and none was after `held` was read.
   */
  settling(payer: ReservedTask & { held: HeldAmounts }): Promise<unknown> | undefined;
  /** Call it before a reservation is written, and the returned function once that is decided. */
  reserving(payer: ReservedTask): () => void;
  /** Whether the latest transaction was stored: while none is, nothing can be billed later. */
  noteWrite(isStored: boolean): void;
};

/**
 * Keeps reservations in the memory of this node, at most `most` quota in all. A crash forgets them.
 *
 * What a new hold may take is the balance that the store has, less what is counted here. The sums
 * are read first. What is stored in between is then counted twice and never missed, and a hold that
 * is refused for it is reserved in the store. Bills in `held`, and `reserving`, are what is being
 * written, which may or may not be in that balance already. The store counts `held`: another
 * transaction may have the balance before that of the bill.
 */
export function createMemoryHolds({
  readsFacts,
  canReserve,
  most,
}: {
  readsFacts: Billing['readsFacts'];
  /** Whether the store would take the reservation now. */
  canReserve: (payer: ReservedTask) => Promise<boolean>;
  most: () => number;
}): MemoryHolds {
  const [held, reserving]: [Sums, Sums] = [new Map(), new Map()];
  const bills = new Map<ReservedTask, Promise<void>>();
  let total = 0;
  let canWrite = true;

  function begin(payer: ReservedTask): Hold {
    const { quota } = payer;
    let counted = 0;
    let hasEnded = false;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const count = (amount: number): void => {
      if (hasEnded) return;
      add(held, payer, amount - counted);
      counted = amount;
    };
    total += quota;
    count(quota);
    return {
      bill(amount) {
        count(amount);
        if (!hasEnded) bills.set(payer, ended);
      },
      end() {
        if (hasEnded) return;
        count(0);
        hasEnded = true;
        total -= quota;
        bills.delete(payer);
        resolve();
      },
    };
  }

  return {
    async take(payer) {
      const { quota } = payer;
      const bound = most();
      // An estimate of nothing does not tell what the bill will be.
      const isEstimated = quota > 0 || !readsFacts(payer.billing);
      if (bound === 0 || !canWrite || !isEstimated || total + quota > bound) return undefined;
      const before = read(payer, [held, reserving]);
      const hold = begin(payer);
      // Where the store does not answer, the reservation in it says so.
      if (quota === 0 || (await canReserve({ ...payer, held: before }).catch(() => false))) return hold;
      hold.end();
      return undefined;
    },

    read: (payer) => read(payer, [held]),

    settling(payer) {
      const names = new Set(Object.values(nameOwners(payer)));
      const own = [...bills].filter(([each]) => Object.values(nameOwners(each)).some((name) => names.has(name)));
      const now = read(payer, [held]);
      const hasSettled = OWNERS.some((owner) => now[owner] < payer.held[owner]);
      return own.length > 0 || hasSettled ? Promise.all(own.map(([, ended]) => ended)) : undefined;
    },

    reserving(payer) {
      add(reserving, payer, payer.quota);
      return () => add(reserving, payer, -payer.quota);
    },

    noteWrite(isStored) {
      canWrite = isStored;
    },
  };
}

const OWNERS = ['wallet', 'key', 'user', 'group'] as const satisfies readonly (keyof HeldAmounts)[];

const nameOwners = ({ walletId, apiKeyId, userId, group }: ReservedTask): Record<keyof HeldAmounts, string> => ({
  // A task from before wallets existed: the first wallets got the ids of their users.
  wallet: `wallet ${walletId ?? userId}`,
  key: `key ${apiKeyId}`,
  user: `user ${userId}`,
  group: `group ${userId} ${group}`,
});

function add(sums: Sums, payer: ReservedTask, quota: number): void {
  for (const name of Object.values(nameOwners(payer))) {
    const sum = (sums.get(name) ?? 0) + quota;
    if (sum === 0) sums.delete(name);
    else sums.set(name, sum);
  }
}

function read(payer: ReservedTask, all: readonly Sums[]): HeldAmounts {
  const names = nameOwners(payer);
  const sum = (name: string): number => all.reduce((total, sums) => total + (sums.get(name) ?? 0), 0);
  return { wallet: sum(names.wallet), key: sum(names.key), user: sum(names.user), group: sum(names.group) };
}
