import { type SQL, sql } from 'drizzle-orm';
import type { Budget } from '../../../kernel/index.ts';
import { storeErrors } from '../../drivers/errors.ts';
import { type LedgerStore, type ReservationVerdict, STATUS } from '../../ports/index.ts';
import { atomic, type Context, encodeSentence, lazy, type RecordColumns, toJsonSafeText } from '../context.ts';
import { type Balances, decideReservations, type KeyRow, type Reservation } from './decide-reservations.ts';
import { type CountedBudget, createBudgetSums, findBudgets, type SumChange } from './enforce-budgets.ts';

const LINE = {
  wallet_id: 'bigint',
  api_key_id: 'bigint',
  task_id: 'text',
  kind: 'text',
  attempt: 'integer',
  amount: 'bigint',
  note: 'text',
  note_sentence: 'text',
  created_at: 'bigint',
  budgets: 'text',
} as const satisfies RecordColumns;

/** A change of the row `id`: what its balance moves by, and what it has used. */
type Move = { id: number; amount: number; used: number; requests: number };
const MOVE = { id: 'bigint', amount: 'bigint', used: 'bigint', requests: 'bigint' } as const satisfies RecordColumns;

/**
 * What the line of a reservation remembers for those that settle, refund or replace it. `budgets`:
 * the ids of those that it counts in. `isKeyUnlimited`: it took nothing of its key's quota, so the
 * key gets nothing back, whatever limit it has now.
 */
type Remembered = { budgets: readonly string[]; isKeyUnlimited: boolean };
const NOTHING: Remembered = { budgets: [], isKeyUnlimited: false };
/** Stands for `isKeyUnlimited` among the ids of the budgets, in the same column. */
const KEY_UNLIMITED = 'key_was_unlimited';

/**
 * Moves the money of many tasks in a few statements: one update of a row, whatever moves it.
 *
 * Rows are locked in one order everywhere, so that no two transactions wait for each other: keys,
 * then wallets, then sums of budgets, then channels, then their credentials, and those of one
 * table by their ids. On
 * PostgreSQL, statements that are started together travel together, and run in the order of their
 * start.
 */
export function createMoneyMoves(
  context: Context,
): Pick<LedgerStore, 'reserveAll' | 'canReserveAll' | 'replaceReservation' | 'settleAll'> {
  type Rows = Promise<unknown[][]>;
  type PayerRows = Record<'keys' | 'wallets', () => (values: Record<string, unknown>) => Rows>;
  const { prepare, lockRows, nowMs, now } = context;
  const { prepareRecords } = context.lists;
  const { amongIds } = context.lists;
  const sums = createBudgetSums(context);
  const insert = (returning: string) =>
    lazy(() =>
      prepareRecords(
        { name: 'line', columns: LINE },
        (records) => sql`
          insert into ledger_entries (wallet_id, api_key_id, task_id, kind, attempt, amount, note, note_sentence, created_at,
            budgets)
          select wallet_id, api_key_id, task_id, kind, attempt, amount, note, note_sentence, created_at,
            budgets
          from ${records} where true
          on conflict do nothing returning ${sql.raw(returning)}`,
      ),
    );
  const insertReservations = insert('1');
  const findReservation = lazy(() =>
    prepare(sql`select attempt, amount, budgets, min(created_at) over () from ledger_entries
      where task_id = ${sql.placeholder('taskId')} and kind = 'reserve' order by id desc limit 1`),
  );
  const insertLines = insert(`task_id, kind, attempt, amount, (select made.budgets from ledger_entries as made
    where made.task_id = ledger_entries.task_id and made.kind = 'reserve' order by made.attempt desc limit 1)`);
  const selectRows = (table: 'api_keys' | 'wallets' | 'channels' | 'credentials', columns: string, lock = lockRows) =>
    lazy(() =>
      prepare(
        sql`select ${sql.raw(columns)} from ${sql.raw(table)} where ${amongIds(sql`id`, 'ids')} order by id ${lock}`,
      ),
    );
  const selectPayers = (lock: SQL): PayerRows => ({
    keys: selectRows('api_keys', 'id, user_id, wallet_id, unlimited_quota, quota, budget', lock),
    wallets: selectRows('wallets', 'id, quota', lock),
  });
  const [locked, read] = [selectPayers(lockRows), selectPayers(sql``)];
  const lockChannels = selectRows('channels', 'id');
  const lockCredentials = selectRows('credentials', 'id');
  const findPayers = lazy(() =>
    prepare(
      sql`select id, budget, ${nowMs} from users where ${amongIds(sql`id`, 'ids')} and status = ${sql.raw(`${STATUS.enabled}`)} and deleted_at = 0`,
    ),
  );
  const prepareMove = (build: (moves: SQL) => SQL) =>
    lazy(() => prepareRecords({ name: 'move', columns: MOVE }, build));
  // Unlimited keys have no balance of their own.
  const moveKeys = prepareMove(
    (moves) => sql`
      update api_keys set used_quota = used_quota + move.used,
        quota = case when unlimited_quota then quota else quota + move.amount end
      from ${moves} where api_keys.id = move.id`,
  );
  const moveWallets = prepareMove(
    (moves) => sql`
      update wallets set quota = quota + move.amount, used_quota = used_quota + move.used,
        request_count = request_count + move.requests
      from ${moves} where wallets.id = move.id returning wallets.id`,
  );
  const moveUsed = (table: 'channels' | 'credentials') =>
    prepareMove(
      (moves) => sql`
        update ${sql.raw(table)} set used_quota = used_quota + move.used
        from ${moves} where ${sql.raw(table)}.id = move.id`,
    );
  const moveChannels = moveUsed('channels');
  const moveCredentials = moveUsed('credentials');

  const withIds = (query: () => (values: Record<string, unknown>) => Rows, ids: Iterable<number>): Rows => {
    const distinct = [...new Set(ids)];
    return distinct.length === 0 ? Promise.resolve([]) : query()({ ids: JSON.stringify(distinct), ...now() });
  };
  /** An update locks the only row that it changes by itself. */
  const lockSeveral = (query: typeof lockChannels, moves: ReadonlyMap<number, Move>): Rows =>
    moves.size > 1 ? withIds(query, moves.keys()) : Promise.resolve([]);
  const move = (query: typeof moveKeys, moves: ReadonlyMap<number, Move>): Rows =>
    moves.size === 0 ? Promise.resolve([]) : query()([...moves.values()]);

  async function moveWalletRows(moves: ReadonlyMap<number, Move>): Promise<void> {
    // The key may have been deleted since; a wallet's row never is.
    if ((await move(moveWallets, moves)).length < moves.size)
      throw storeErrors.broken_invariant({ message: 'A ledger line names a wallet that does not exist.' });
  }

  async function writeReservations(lines: readonly EncodedLine[]): Promise<void> {
    if ((await insertReservations()(lines)).length < lines.length)
      throw storeErrors.broken_invariant({ message: 'This attempt of the task already has its reservation.' });
  }

  /** `rows`: `locked` in the transaction that reserves, and `read` where nothing is written. */
  async function readBalances(entries: readonly Reservation[], rows = locked): Promise<Balances> {
    const [keys, wallets, payers] = await Promise.all([
      withIds(
        rows.keys,
        entries.flatMap(({ apiKeyId }) => apiKeyId ?? []),
      ),
      withIds(
        rows.wallets,
        entries.map(({ walletId }) => walletId),
      ),
      withIds(
        findPayers,
        entries.map(({ userId }) => userId),
      ),
    ]);
    const found = new Map<number, KeyRow>(
      keys.map(([id, userId, walletId, isUnlimited, left, budget]) => [
        Number(id),
        {
          ...{ userId: Number(userId), walletId: Number(walletId), isUnlimited: Boolean(isUnlimited) },
          ...{ left: Number(left), budget: readBudget(budget) },
        },
      ]),
    );
    const users = new Map(
      payers.map(([id, budget, ms]) => [Number(id), { budget: readBudget(budget), ms: Number(ms) }]),
    );
    const budgets = new Map(
      entries.flatMap((entry) => {
        const user = users.get(entry.userId);
        return user ? [[entry, listBudgets(entry, found, user)] as const] : [];
      }),
    );
    const sumIds = [...new Set([...budgets.values()].flatMap((own) => own.map(({ id }) => id)))];
    return {
      keys: found,
      wallets: new Map(wallets.map(([id, left]) => [Number(id), Number(left)])),
      payers: new Set(users.keys()),
      budgets,
      spent: await (rows === read ? sums.spent(sumIds) : sums.lock(sumIds)),
    };
  }

  const reserveAll: LedgerStore['reserveAll'] = async (entries) => {
    for (const { amount } of entries) requireInteger(amount, amount >= 0);
    if (entries.length === 0) return [];
    const balances = await readBalances(entries);
    const verdicts = decideReservations(balances, entries);
    const granted = entries.filter((_, index) => verdicts[index] === 'ok');
    if (granted.length === 0) return verdicts;
    const [keys, wallets] = [new Map<number, Move>(), new Map<number, Move>()];
    const counted = new Map<string, SumChange>();
    const lines = granted.map((entry) => {
      const { apiKeyId, walletId, amount } = entry;
      const isUnlimited = apiKeyId !== null && balances.keys.get(apiKeyId)?.isUnlimited === true;
      if (amount > 0) {
        if (apiKeyId !== null && !isUnlimited) add(keys, apiKeyId, { amount: -amount });
        add(wallets, walletId, { amount: -amount });
      }
      const own = balances.budgets.get(entry) ?? [];
      for (const { id, endsAt } of own) addSum(counted, { id, endsAt, amount });
      const remembered = { budgets: own.map(({ id }) => id), isKeyUnlimited: isUnlimited };
      // 0, not -0.
      return encodeLine({ ...entry, kind: 'reserve', amount: 0 - amount }, remembered);
    });
    await Promise.all([
      move(moveKeys, keys),
      moveWalletRows(wallets),
      sums.add([...counted.values()]),
      writeReservations(lines),
    ]);
    return verdicts;
  };

  return {
    reserveAll: atomic(reserveAll),

    async canReserveAll(entries) {
      const balances = await readBalances(entries, read);
      return entries.map((entry) => decideReservations(balances, [entry])[0] === 'ok');
    },

    replaceReservation: atomic(async ({ note, ...entry }) => {
      const { taskId, apiKeyId, walletId, amount } = entry;
      requireInteger(amount, amount >= 0);
      const [previous] = await findReservation()({ taskId });
      if (!previous) return (await reserveAll([entry]))[0] as ReservationVerdict;
      const [attempt, reserved, remembered] = [Number(previous[0]), -Number(previous[1]), readRemembered(previous[2])];
      const { budgets, isKeyUnlimited } = remembered;
      const more = amount - reserved;
      if (more > 0) {
        const addition = { ...entry, amount: more, within: { ids: [...budgets], at: Number(previous[3]) } };
        const [verdict = 'ok'] = decideReservations(await readBalances([addition]), [addition]);
        if (verdict !== 'ok') return verdict;
      }
      const moved = (id: number) => new Map([[id, { id, amount: -more, used: 0, requests: 0 }]]);
      await Promise.all([
        apiKeyId === null || isKeyUnlimited ? [] : move(moveKeys, moved(apiKeyId)),
        moveWalletRows(moved(walletId)),
        sums.change(budgets.map((id) => ({ id, endsAt: 0, amount: more }))),
        writeReservations([
          encodeLine({ ...entry, kind: 'refund', attempt, amount: reserved, note }),
          encodeLine({ ...entry, kind: 'reserve', amount: 0 - amount }, remembered),
        ]),
      ]);
      return 'ok';
    }),

    settleAll: atomic(async ({ lines, usage }) => {
      for (const { amount } of lines) requireInteger(amount, true);
      const rows = lines.length === 0 ? [] : await insertLines()(lines.map((line) => encodeLine(line)));
      const written = new Map<string, Remembered>();
      const counted = new Map<string, SumChange>();
      for (const [taskId, kind, attempt, amount, stored] of rows) {
        const remembered = readRemembered(stored);
        written.set(nameLine([taskId, kind, attempt]), remembered);
        for (const id of remembered.budgets) addSum(counted, { id, endsAt: 0, amount: 0 - Number(amount) });
      }
      const [keys, wallets] = [new Map<number, Move>(), new Map<number, Move>()];
      const [channels, credentials] = [new Map<number, Move>(), new Map<number, Move>()];
      // An existing line has already moved its money.
      for (const { apiKeyId, walletId, amount, taskId, kind, attempt } of lines) {
        const remembered = written.get(nameLine([taskId, kind, attempt]));
        if (!remembered) continue;
        if (apiKeyId !== null && !remembered.isKeyUnlimited) add(keys, apiKeyId, { amount });
        add(wallets, walletId, { amount });
      }
      for (const { apiKeyId, walletId, channelId, credentialId, quota: used, requests = 1 } of usage) {
        if (apiKeyId !== null) add(keys, apiKeyId, { used });
        add(wallets, walletId, { used, requests });
        add(channels, channelId, { used });
        if (credentialId && used !== 0) add(credentials, credentialId, { used });
      }
      await Promise.all([
        lockSeveral(locked.keys, keys),
        move(moveKeys, keys),
        lockSeveral(locked.wallets, wallets),
        moveWalletRows(wallets),
        sums.change([...counted.values()]),
        lockSeveral(lockChannels, channels),
        move(moveChannels, channels),
        lockSeveral(lockCredentials, credentials),
        move(moveCredentials, credentials),
      ]);
      return lines.map(({ taskId, kind, attempt }) => written.has(nameLine([taskId, kind, attempt])));
    }),
  };
}

function add(moves: Map<number, Move>, id: number, change: Partial<Omit<Move, 'id'>>): void {
  const before = moves.get(id) ?? { id, amount: 0, used: 0, requests: 0 };
  const { amount = 0, used = 0, requests = 0 } = change;
  const after = { amount: before.amount + amount, used: before.used + used, requests: before.requests + requests };
  moves.set(id, { id, ...after });
}

function addSum(sums: Map<string, SumChange>, { amount, ...sum }: SumChange): void {
  sums.set(sum.id, { ...sum, amount: (sums.get(sum.id)?.amount ?? 0) + amount });
}

const readBudget = (stored: unknown): Budget | null =>
  typeof stored === 'string' ? (JSON.parse(stored) as Budget) : null;

function readRemembered(stored: unknown): Remembered {
  if (typeof stored !== 'string' || stored === '') return NOTHING;
  const ids = JSON.parse(stored) as string[];
  return { budgets: ids.filter((id) => id !== KEY_UNLIMITED), isKeyUnlimited: ids.includes(KEY_UNLIMITED) };
}

const listBudgets = (
  { apiKeyId, userId, budgets: rules = { zone: 'UTC' }, within }: Reservation,
  keys: ReadonlyMap<number, KeyRow>,
  user: { budget: Budget | null; ms: number },
): CountedBudget[] => {
  const key = apiKeyId === null ? undefined : { id: apiKeyId, budget: keys.get(apiKeyId)?.budget ?? null };
  const found = findBudgets({ userId, key, userBudget: user.budget }, rules, within?.at ?? Math.floor(user.ms / 1000));
  return within ? found.filter(({ id }) => within.ids.includes(id)) : found;
};

const nameLine = (line: readonly unknown[]): string => line.join(' ');

type EncodedLine = Record<keyof typeof LINE, string | number | null>;
type Line = Parameters<LedgerStore['settleAll']>[0]['lines'][number];

function encodeLine(
  line: Omit<Line, 'kind'> & { kind: string },
  { budgets, isKeyUnlimited }: Remembered = NOTHING,
): EncodedLine {
  const ids = isKeyUnlimited ? [...budgets, KEY_UNLIMITED] : budgets;
  return {
    wallet_id: line.walletId,
    api_key_id: line.apiKeyId,
    task_id: line.taskId,
    kind: line.kind,
    attempt: line.attempt,
    amount: line.amount,
    note: toJsonSafeText(line.note?.message ?? ''),
    note_sentence: line.note ? encodeSentence(line.note) : null,
    created_at: line.at,
    budgets: ids.length === 0 ? '' : JSON.stringify(ids),
  };
}

/** Money is whole and exact: a fraction or a number beyond 2^53 is a fault of the caller. */
export function requireInteger(amount: number, allowed: boolean): void {
  if (!Number.isSafeInteger(amount) || !allowed) {
    throw storeErrors.broken_invariant({ message: 'An amount of money must be a whole number in range.' });
  }
}
