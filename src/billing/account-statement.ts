import { CLOCK_LEEWAY_SECONDS, nextTurn, type StoredSentence } from '../kernel/index.ts';
import {
  countingLimit,
  type LedgerReason,
  type LedgerStore,
  type Paged,
  type StatementFilter,
  type StatementLine,
} from '../store/ports/index.ts';

/** Lines per read: most first pages need one read. SQLite blocks the process during each. */
const FIRST_LINES = 200;
const MORE_LINES = 2000;
const ROWS_AT_ONCE = 200;

/** `task`, or why the balance changed where the change belongs to no task. */
export type StatementKind = 'task' | Exclude<LedgerReason, ''> | 'grant' | 'adjust' | 'storage' | 'carried';

/** One row for each task with all its lines, one for each other line. The newest is first. */
export type StatementRow = {
  /** The number of its first line. */
  id: number;
  createdAt: number;
  kind: StatementKind;
  /** What the balance changed by in all. */
  amount: number;
  /** The sum of this row and of all older ones. */
  balanceAfter: number;
  note: string;
  noteSentence: StoredSentence | null;
  apiKeyId: number | null;
  /** The task that was paid for, or that an administrator's change is about. */
  taskId: string | null;
  actor: { id: number; username: string } | null;
  task: TaskBill | null;
};

/** `charged` is 0 for a refunded task, and null until the task has ended. */
export type TaskBill = { model: string | null; prompt: string; reserved: number; charged: number | null } & {
  refundReason: string;
  refundSentence: StoredSentence | null;
};

/** Unix seconds; `until` is not included. */
export type StatementPeriod = { from: number; until: number };

/**
 * What became of a balance in a period: `opening` and the four sums make `closing`. `tasks`:
 * charges less refunds, negative; `reserved` is what of it belongs to tasks that have not ended.
 * `added`: grants and top-ups. `adjusted`: all other changes by people.
 */
export type MonthStatement = {
  opening: number;
  added: number;
  adjusted: number;
  tasks: number;
  reserved: number;
  storage: number;
  closing: number;
};

export type AccountStatements = {
  list(userId: number, filter: StatementFilter, page: { page: number; pageSize: number }): Promise<Paged<StatementRow>>;
  /** All rows, batch after batch. */
  read(userId: number, filter: StatementFilter): AsyncGenerator<StatementRow[], undefined>;
  sum(userId: number, period: StatementPeriod): Promise<MonthStatement>;
  /** How the prompts of stored tasks begin, by their ids. */
  prompts(taskIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
};

type Ledger = Pick<LedgerStore, 'statementLines' | 'countStatement' | 'statementTasks' | 'openTasks'>;
/** A row's lines, the newest first; the last of them opened it. */
type Group = { opening: StatementLine; lines: StatementLine[]; amount: number; balanceAfter: number };

/**
 * Statements of accounts. The balance after a row is counted back from the newest line, so it is
 * right on every page and under every filter. Reading starts at one state of the ledger: a line
 * that is written later is on the next statement.
 */
export function createAccountStatements(ledger: Ledger): AccountStatements {
  async function* groups(userId: number): AsyncGenerator<Group, undefined> {
    const unopened = new Map<string, StatementLine[]>();
    let balanceAfter: number | undefined;
    let before: number | undefined;
    for (let limit = FIRST_LINES; ; limit = MORE_LINES) {
      const slice = await ledger.statementLines(userId, { before, limit });
      balanceAfter ??= slice.balance;
      for (const line of slice.lines) {
        const lines = [...(line.taskId === null ? [] : (unopened.get(line.taskId) ?? [])), line];
        if (!line.opens && line.taskId !== null) {
          unopened.set(line.taskId, lines);
          continue;
        }
        if (line.taskId !== null) unopened.delete(line.taskId);
        const amount = lines.reduce((sum, each) => sum + each.amount, 0);
        yield { opening: line, lines, amount, balanceAfter };
        balanceAfter -= amount;
      }
      before = slice.lines.at(-1)?.id;
      if (slice.lines.length < limit) return undefined;
      await nextTurn();
    }
  }

  async function describe(found: readonly Group[]): Promise<StatementRow[]> {
    const ids = found.flatMap(({ opening }) => opening.taskId ?? []);
    const stored = new Map((await ledger.statementTasks(ids)).map((task) => [task.taskId, task]));
    return found.map(({ opening, lines, amount, balanceAfter }) => ({
      id: opening.id,
      createdAt: opening.createdAt,
      kind: classifyLine(opening),
      amount,
      balanceAfter,
      note: opening.taskId === null ? readableNote(opening) : '',
      noteSentence: opening.taskId === null ? opening.noteSentence : null,
      apiKeyId: opening.apiKeyId,
      taskId: opening.taskId ?? opening.aboutTaskId,
      actor:
        opening.actorId === null || opening.actor === null ? null : { id: opening.actorId, username: opening.actor },
      task: opening.taskId === null ? null : sumBill(lines, stored.get(opening.taskId)),
    }));
  }

  /** Counts the rows before the line `first`, up to some more than `most`. */
  async function countFrom(
    userId: number,
    filter: StatementFilter,
    { first, most }: { first: number; most: number },
  ): Promise<number> {
    let total = 0;
    for (let before: number | undefined = first; before !== undefined && total <= most; ) {
      const { found, last } = await ledger.countStatement(userId, { before, limit: MORE_LINES, filter });
      total += found;
      before = last;
      if (before !== undefined) await nextTurn();
    }
    return total;
  }

  /** Counts back from the newest line, whose balance is known, to the beginning of the period. */
  async function sum(userId: number, { from, until }: StatementPeriod): Promise<MonthStatement> {
    const sums = { added: 0, adjusted: 0, tasks: 0, reserved: 0, storage: 0 };
    const open = new Set(await ledger.openTasks(userId));
    let closing: number | undefined;
    let before: number | undefined;
    for (let limit = FIRST_LINES; ; limit = MORE_LINES) {
      const { balance, lines } = await ledger.statementLines(userId, { before, limit });
      closing ??= balance;
      for (const line of lines) {
        if (line.createdAt >= until) closing -= line.amount;
        else if (line.createdAt >= from) {
          sums[sumFor(line)] += line.amount;
          if (line.taskId !== null && open.has(line.taskId)) sums.reserved += line.amount;
        }
      }
      before = lines.at(-1)?.id;
      // Nodes write lines by their own clocks, so an older one may follow.
      const isPast = lines.every(({ createdAt }) => createdAt < from - CLOCK_LEEWAY_SECONDS);
      if (lines.length < limit || isPast) break;
      await nextTurn();
    }
    const { added, adjusted, tasks, storage } = sums;
    return { opening: closing - added - adjusted - tasks - storage, ...sums, closing };
  }

  return {
    sum,

    async prompts(taskIds) {
      const stored = await ledger.statementTasks(taskIds);
      return new Map(stored.map(({ taskId, prompt }) => [taskId, prompt]));
    },

    async list(userId, filter, { page, pageSize }) {
      const skipped = (page - 1) * pageSize;
      const found: Group[] = [];
      const counted = countingLimit(skipped + pageSize);
      let seen = 0;
      for await (const group of groups(userId)) {
        if (!matches(group.opening, filter)) continue;
        seen += 1;
        if (seen > skipped) found.push(group);
        if (found.length < pageSize) continue;
        seen += await countFrom(userId, filter, { first: group.opening.id, most: counted - seen });
        break;
      }
      return { total: Math.min(seen, counted), hasMore: seen > counted, items: await describe(found) };
    },

    async *read(userId, filter) {
      let batch: Group[] = [];
      for await (const group of groups(userId)) {
        if (!matches(group.opening, filter)) continue;
        batch.push(group);
        if (batch.length < ROWS_AT_ONCE) continue;
        yield await describe(batch);
        batch = [];
      }
      yield await describe(batch);
      return undefined;
    },
  };
}

function matches(opening: StatementLine, { kind, since = 0, until = Number.POSITIVE_INFINITY }: StatementFilter) {
  return (
    (kind === undefined || classifyLine(opening) === kind) && opening.createdAt >= since && opening.createdAt <= until
  );
}

/** Finds the sum of a statement that a line counts in. */
function sumFor(line: StatementLine): 'added' | 'adjusted' | 'tasks' | 'storage' {
  const kind = classifyLine(line);
  // Folded lines of a month are those of tasks, relayed requests and storage.
  if (kind === 'task' || kind === 'carried') return 'tasks';
  if (kind === 'storage') return 'storage';
  return kind === 'grant' || line.kind === 'topup' || line.kind === 'grant' ? 'added' : 'adjusted';
}

/** Classifies a line as `countStatement` of the store does. */
const classifyLine = ({ taskId, reason, kind }: StatementLine): StatementKind =>
  taskId !== null ? 'task' : ((reason || kind) as StatementKind);

/** Older lines have the request as their note, such as `add 2500000`. */
const readableNote = ({ kind, note }: StatementLine): string =>
  kind === 'adjust' && /^(?:add|subtract|override) \d+$/.test(note) ? '' : note;

function sumBill(
  lines: readonly StatementLine[],
  stored: { model: string; prompt: string; isOpen: boolean } | undefined,
): TaskBill {
  const sum = (wanted: (line: StatementLine) => boolean): number =>
    lines.filter(wanted).reduce((total, { amount }) => total + amount, 0);
  // A refund with a number is that of a reservation which another one has replaced.
  const final = lines.find(({ kind, attempt }) => kind === 'refund' && attempt === 0);
  return {
    model: stored?.model ?? null,
    prompt: stored?.prompt ?? '',
    reserved: 0 - sum(({ kind, attempt }) => kind === 'reserve' || (kind === 'refund' && attempt !== 0)),
    charged: stored?.isOpen ? null : 0 - sum(() => true),
    refundReason: final?.note ?? '',
    refundSentence: final?.noteSentence ?? null,
  };
}
