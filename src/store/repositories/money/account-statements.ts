import { and, desc, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { LedgerStore, TaskProperties } from '../../ports/index.ts';
import { type Context, encodeTexts, lazy } from '../context.ts';
import { lazyByShape, whereGiven } from '../prepare-by-shape.ts';
import { IS_OPEN, UNFINISHED } from '../tasks/claim-tasks.ts';

/** A condition: a ledger line is of the user's own wallet. */
export const isOfOwnWallet = (walletId: SQLWrapper, userId: SQL | number): SQL =>
  sql`${walletId} = (select wallets.id from wallets where wallets.user_id = ${userId})`;

/** Characters of a prompt that name a task. */
const PROMPT_LENGTH = 200;

const readPrompt = (properties: string): string =>
  properties === ''
    ? ''
    : ((JSON.parse(properties) as Partial<TaskProperties>).input ?? '').slice(0, PROMPT_LENGTH).toWellFormed();

type StatementCount = Parameters<LedgerStore['countStatement']>[1];

/** What a user's statement is made of. Every statement reads a slice, which takes milliseconds. */
export function createAccountStatements({
  db,
  tables,
  prepare,
  lists: { amongTexts },
}: Context): Pick<LedgerStore, 'statementLines' | 'countStatement' | 'statementTasks' | 'openTasks'> {
  const { ledgerEntries: entries } = tables;
  // Qualified, since the builder leaves out the table of a column where it reads only one.
  const opens = sql<boolean>`(ledger_entries.task_id is null or not exists (
    select 1 from ledger_entries earlier
    where earlier.task_id = ledger_entries.task_id and earlier.id < ledger_entries.id))`.mapWith(Boolean);
  const kind = sql`case when task_id is not null then 'task' when reason <> '' then reason else kind end`;
  const actors = sql`(select username from users where users.id = ledger_entries.actor_id)`;
  const at = (name: string) => sql`${sql.placeholder(name)}`;
  const balance: SQL<number> = sql`(select quota from wallets where wallets.user_id = ${at('userId')})`.mapWith(
    Number,
  ) as SQL<number>;
  const readLines = lazyByShape((sought: { before?: number }) =>
    db
      .select({ line: entries, opens, actor: sql<string | null>`${actors}`, balance })
      .from(entries)
      .where(
        and(
          isOfOwnWallet(entries.walletId, at('userId')),
          whereGiven(sought, { before: (value) => lt(entries.id, value) }),
        ),
      )
      .orderBy(desc(entries.id))
      .limit(sql.placeholder('limit'))
      .prepare(),
  );
  const count = lazyByShape((filter: StatementCount['filter']) => {
    const slice = sql`select id, task_id, kind, reason, created_at from ledger_entries
      where ${isOfOwnWallet(sql.raw('wallet_id'), at('userId'))} and id < ${at('before')} order by id desc limit ${at('limit')}`;
    const matches = and(
      opens,
      whereGiven(filter, {
        kind: (value) => sql`${kind} = ${value}`,
        since: (value) => sql`created_at >= ${value}`,
        until: (value) => sql`created_at <= ${value}`,
      }),
    );
    return prepare(sql`
      select count(*), coalesce(min(id), 0), coalesce(sum(case when ${matches} then 1 else 0 end), 0)
      from (${slice}) as ledger_entries`);
  });
  const findTasks = lazy(() =>
    prepare(sql`
      select task_id, model, case when status in ${UNFINISHED} then 1 else 0 end, properties from (
        select tasks.task_id, task_list.model, tasks.status,
          case when task_list.hidden_at = 0 then tasks.properties else '' end as properties
          from tasks join task_list on task_list.id = tasks.id
          where ${amongTexts(tables.tasks.taskId, 'ids')}) as found
      union all
      select relay_id, model, case when status = 'OPEN' then 1 else 0 end, '' from relay_requests
        where ${amongTexts(tables.relayRequests.relayId, 'ids')}`),
  );
  const findOpen = lazy(() =>
    prepare(sql`
      select task_id from tasks where user_id = ${at('userId')} and ${IS_OPEN}
      union all select relay_id from relay_requests where status = 'OPEN' and user_id = ${at('userId')}`),
  );

  return {
    async statementLines(userId, { before, limit }) {
      const sought = before === undefined ? {} : { before };
      const rows = await readLines(sought).execute({ ...sought, userId, limit });
      return {
        balance: rows[0]?.balance ?? 0,
        lines: rows.map(({ line: { grantKey: _, budgets: __, ...line }, opens: isFirst, actor }) => ({
          ...line,
          opens: isFirst,
          actor,
        })),
      };
    },

    async countStatement(userId, { before, limit, filter }) {
      const [row] = await count(filter)({ ...filter, userId, before, limit });
      const [lines = 0, last = 0, found = 0] = (row ?? []).map(Number);
      return { found, last: lines < limit ? undefined : last };
    },

    async statementTasks(taskIds) {
      const rows = await findTasks()({ ids: encodeTexts(taskIds) });
      return rows.map(([taskId, model, isOpen, properties]) => ({
        taskId: String(taskId),
        model: String(model),
        prompt: readPrompt(String(properties)),
        isOpen: Number(isOpen) === 1,
      }));
    },

    async openTasks(userId) {
      return (await findOpen()({ userId })).map(([taskId]) => String(taskId));
    },
  };
}
