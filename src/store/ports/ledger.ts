/** Money: the ledger, the statement of a user, and warnings of a low balance. */
import type { Budget, BudgetOwner, Sentence, StoredSentence } from '../../kernel/index.ts';
import type { Page, Paged } from './paging.ts';

/** `carried`: the sum of a month's lines of ended tasks, which the retention has folded into it. */
export type LedgerKind = 'reserve' | 'settle' | 'refund' | 'grant' | 'topup' | 'adjust' | 'storage' | 'carried';

/** Why an administrator changed a balance; empty where they did not say. */
export type LedgerReason = '' | 'topup' | 'refund' | 'correction' | 'other';

export type LedgerEntryRecord = {
  id: number;
  walletId: number;
  apiKeyId: number | null;
  taskId: string | null;
  kind: LedgerKind;
  attempt: number;
  /**
   * The signed change of the balance: reservations and charges are negative, refunds and grants
   * positive.
   */
  amount: number;
  note: string;
  /** What the note says; null for the words of people, and older lines. */
  noteSentence: StoredSentence | null;
  createdAt: number;
  reason: LedgerReason;
  /** The administrator who changed the balance. */
  actorId: number | null;
  /** The task that an administrator's change is about. */
  aboutTaskId: string | null;
  /** The digest of the change that was asked for; empty for what nobody asked for. */
  request: string;
};

/** What a grant's line tells beside the amount. */
type GrantDetail = { note?: string | Sentence } & Partial<
  Pick<LedgerEntryRecord, 'reason' | 'actorId' | 'aboutTaskId' | 'request'>
>;

/** A line of a statement. `opens`: it belongs to no task, or is the first of its task. */
export type StatementLine = LedgerEntryRecord & { opens: boolean; actor: string | null };

export type StatementFilter = {
  /** `task`, the reason of an administrator's change, or the line's kind. */
  kind?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
};

/** `userId`: whose own wallet it is; null: nobody's. */
export type WalletImbalance = { walletId: number; userId: number | null; quota: number; ledger: number };

/** Kinds of ledger lines that belong to no task. */
export type GrantKind = 'grant' | 'topup' | 'adjust' | 'storage';

export type NewReservation = {
  walletId: number;
  userId: number;
  apiKeyId: number | null;
  taskId: string;
  attempt: number;
  amount: number;
  /** It may cost more than `amount`: a payer without any money is refused although that is 0. */
  asksForMoney?: boolean;
  at: number;
  /** Absent: periods are those of UTC, and the group has no budget. */
  budgets?: BudgetRules;
  /** What is held in memory of the same money: that much less is left. Absent: nothing. */
  held?: HeldAmounts | undefined;
  /** The work is done: it is taken whatever is left, and balances may go below zero. */
  isOwed?: boolean | undefined;
};

/** What is held of a wallet, of a key's quota and budget, and of the budgets of user and group. */
export type HeldAmounts = Record<'wallet' | 'key' | 'user' | 'group', number>;

/**
 * What a reservation needs to find the budgets of its key, its user and the user's group: the time
 * zone whose calendar their periods have, and the budget that each user of the group has.
 */
export type BudgetRules = { zone: string; group?: { name: string; budget: Budget } | undefined };

/**
 * `spent`: reserved and charged before. `endsAt`: when the period is over, in Unix seconds; 0:
 * never.
 */
export type BudgetExceeded = { owner: BudgetOwner; budget: Budget; spent: number; endsAt: number };

export type ReservationVerdict = 'ok' | 'wallet_insufficient' | 'key_insufficient' | BudgetExceeded;

/** A line of a task. */
export type NewLine = {
  walletId: number;
  apiKeyId: number | null;
  taskId: string;
  kind: Exclude<LedgerKind, GrantKind | 'carried'>;
  attempt: number;
  amount: number;
  note?: Sentence;
  at: number;
};

/** What a task has used. `requests`: 0 for a correction of what was added before. */
export type NewUsage = {
  walletId: number;
  apiKeyId: number | null;
  channelId: number;
  /** Absent or null: it is not known which of the channel's served. */
  credentialId?: number | null;
  quota: number;
  requests?: 0;
};

/**
 * Money. Call every method inside a transaction, together with the state change that it pays for.
 */
export interface LedgerStore {
  /**
   * Takes each `amount` (≥ 0) from the balance of the wallet for an enabled user, and from what the
   * key may spend if it is limited, and counts it in the present periods of the budgets that hold.
   * Writes the line (task, reserve, attempt). One verdict for each, in order, as if they came one
   * after the other; for one that is not `ok` nothing was written. An amount of 0 needs a budget
   * that is not used up, and nothing else.
   */
  reserveAll(entries: readonly NewReservation[]): Promise<ReservationVerdict[]>;
  reserve(entry: NewReservation): Promise<ReservationVerdict>;
  /**
   * Whether `reserve` would take each now, if it came alone. It locks nothing and may be called
   * outside a transaction.
   */
  canReserveAll(entries: readonly NewReservation[]): Promise<boolean[]>;
  /**
   * Refunds the task's latest reservation, and writes `entry` in its place. It counts in the sums
   * in which the one before counts, and only what it takes more can be refused.
   */
  replaceReservation(entry: NewReservation & { note: Sentence }): Promise<ReservationVerdict>;
  /**
   * Writes signed lines and changes the balances of wallets and keys by them; they may go below
   * zero. False for a line whose (task, kind, attempt) exists: its money has already moved, and
   * nothing is written. They count in the periods of their task's latest reservation, whatever time
   * it is. `usage` is of what has ended: it adds to the used quota of wallets, keys
   * and channels, and counts requests.
   */
  settleAll(moves: { lines: readonly NewLine[]; usage: readonly NewUsage[] }): Promise<boolean[]>;
  post(line: NewLine): Promise<boolean>;
  /**
   * Writes a grant, a top-up, an administrator's signed adjustment or a charge for kept results
   * under its own unique key.
   * False when the key exists.
   */
  grant(
    entry: {
      walletId: number;
      kind: GrantKind;
      key: string;
      amount: number;
      at: number;
    } & GrantDetail,
  ): Promise<boolean>;
  /**
   * Sets the balance to `to` with an `adjust` line of the difference; the wallet's row stays
   * locked in between. `undefined` when the key exists, there is no such wallet or its user is
   * deleted: then nothing was written.
   */
  setBalance(
    entry: {
      walletId: number;
      key: string;
      to: number;
      at: number;
    } & GrantDetail,
  ): Promise<{ before: number; after: number } | undefined>;
  /**
   * The balance, which nobody else changes until the transaction ends; undefined: there is no such
   * wallet, or its user is deleted.
   */
  lockBalance(walletId: number): Promise<number | undefined>;
  /** The grant, top-up or adjustment with this unique key. */
  byGrantKey(key: string): Promise<LedgerEntryRecord | undefined>;
  addUsage(usage: NewUsage): Promise<void>;
  byTask(taskId: string): Promise<LedgerEntryRecord[]>;
  /** What was reserved and charged in these sums of budgets, by their ids; absent: nothing. */
  budgetsSpent(ids: readonly string[]): Promise<Map<string, number>>;
  /**
   * Deletes some sums of periods that ended at or before `endedUntil`, and those without end whose
   * key or user is deleted; returns their number.
   */
  deleteBudgetSums(endedUntil: number, limit: number): Promise<number>;
  /** The lines of the user's own wallet. */
  list(userId: number, page: Page): Promise<Paged<LedgerEntryRecord>>;
  /**
   * The lines of the user's own wallet before the id `before`, the newest first, and its balance:
   * the sum of all lines that the same statement sees.
   */
  statementLines(
    userId: number,
    slice: { before?: number | undefined; limit: number },
  ): Promise<{ balance: number; lines: StatementLine[] }>;
  /**
   * Among the `limit` lines of the user's own wallet before the id `before`: how many open a row of
   * the statement that matches. `last` is where the next slice begins, undefined after the oldest
   * line.
   */
  countStatement(
    userId: number,
    slice: { before: number; limit: number; filter: StatementFilter },
  ): Promise<{ found: number; last: number | undefined }>;
  /**
   * The tasks and relayed requests that are still stored: their model, whether they run, and how
   * the prompt of a task begins, empty where its owner deleted it.
   */
  statementTasks(
    taskIds: readonly string[],
  ): Promise<{ taskId: string; model: string; prompt: string; isOpen: boolean }[]>;
  /** The user's tasks and relayed requests that have not ended, by their ids. */
  openTasks(userId: number): Promise<string[]>;
  /**
   * Wallets whose balance differs from the sum of their lines, and wallets of lines that do not
   * exist; terminal tasks and ended relayed
   * requests whose lines do not sum to minus their quota. At most `limit` of each. Reads every
   * line, in short statements that do not block writers for long. Concurrent changes are never
   * reported as imbalances.
   */
  imbalances(limit: number): Promise<{
    wallets: WalletImbalance[];
    tasks: { taskId: string; quota: number; ledger: number }[];
  }>;
  /**
   * Sums of budgets that differ from the lines of the tasks that count in them, at most `limit`.
   * It reads as `imbalances` does. Periods of which lines may have been folded are left out.
   */
  budgetImbalances(limit: number): Promise<{ id: string; spent: number; ledger: number }[]>;
}

export type BalanceAlertRecord = {
  userId: number;
  /** Quota; null: the operator's default, 0: no warning. */
  threshold: number | null;
  /** Whether the user is mailed. */
  mail: boolean;
  webhookUrl: string | null;
  webhookSecretSealed: string | null;
  /** When the user was warned, in Unix seconds; 0: the next crossing is reported. */
  toldAt: number;
  /** What the balance was below then. */
  toldThreshold: number;
};

/** What a user chooses. */
export type BalanceAlertChoice = Pick<BalanceAlertRecord, 'threshold' | 'mail' | 'webhookUrl'>;

/** A user whose balance is below the threshold, and who was not warned yet. */
export type LowBalance = { userId: number; balance: number; threshold: number };

export interface BalanceAlertStore {
  /** Undefined for a user who never chose anything and was never warned. */
  byUser(userId: number): Promise<BalanceAlertRecord | undefined>;
  /**
   * Writes a choice. With another threshold, the next crossing is reported again, unless the user
   * was warned less than an hour before `now`: then after that time.
   */
  choose(userId: number, choice: BalanceAlertChoice, now: number): Promise<void>;
  setSecret(userId: number, webhookSecretSealed: string): Promise<void>;
  /** False: there is one, which somebody else has been shown. */
  setFirstSecret(userId: number, webhookSecretSealed: string): Promise<boolean>;
  /**
   * Users to warn among `limit` users after `after`, in the order of their ids. `last` is the last
   * user that was looked at; undefined: there are no more. `fallback` applies to users who chose
   * nothing: with 0, only users with a choice are looked at.
   */
  findLow(search: {
    fallback: number;
    after: number;
    limit: number;
    now: number;
  }): Promise<{ low: LowBalance[]; last: number | undefined }>;
  /**
   * Marks the user as warned if the balance is still below the threshold and nobody has marked it:
   * then the balance, else undefined. Call it in the transaction that queues the warning. The
   * wallet's row stays locked, so that a top-up at the same moment comes before or after it.
   */
  claim(userId: number, fallback: number, at: number): Promise<LowBalance | undefined>;
  /** Forgets a deleted user's choice. */
  forget(userId: number): Promise<void>;
}
