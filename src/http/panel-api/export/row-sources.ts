import type { AccountView, Auth, PanelPrincipal } from '../../../auth/index.ts';
import {
  type AccountStatements,
  type MonthStatement,
  type StatementPeriod,
  type VendorCost,
  vendorCost,
} from '../../../billing/index.ts';
import { type JsonObject, nextTurn } from '../../../kernel/index.ts';
import type { TaskListFilter, Tasks } from '../../../tasks/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import type { readUserFilter } from '../accounts/user-filter.ts';
import { describeLedgerRow, type readLedgerFilter } from '../accounts/user-records.ts';
import { type AuditFilter, type AuditLog, describeAudit } from '../operation/audit-log.ts';
import { describeUsage, type UsageFilter, type UsageLog } from '../operation/usage-log.ts';
import {
  type ExportBatch,
  type ExportColumn,
  type ExportedRows,
  isoTime,
  MAX_EXPORTED,
  type RowSource,
  readBatches,
  usd,
} from '../stream-export.ts';
import { describeListedTask } from '../tasks/read-task.ts';

/** Rows that are in memory at once, but for what the client's buffer holds. */
const BATCH = 200;

type ListedTask = ReturnType<typeof describeListedTask> & { vendor_cost?: VendorCost | null };

/** The settings of the channel that served a task. */
export type FindChannel = (id: number) => { settings: JsonObject } | undefined;

const taskColumns: readonly ExportColumn<ListedTask>[] = [
  { name: 'id', value: ({ id }) => id },
  { name: 'created', value: ({ created_at }) => isoTime(created_at) },
  { name: 'submitted', value: ({ submit_time }) => isoTime(submit_time) },
  { name: 'finished', value: ({ finish_time }) => isoTime(finish_time) },
  { name: 'status', value: ({ status }) => status },
  { name: 'model', value: ({ model }) => model },
  { name: 'plugin', value: ({ platform }) => platform },
  { name: 'action', value: ({ action }) => action },
  { name: 'prompt', value: ({ input }) => input },
  { name: 'fail_reason', value: ({ fail_reason }) => fail_reason },
  { name: 'usd', value: ({ quota }) => usd(quota) },
  { name: 'api_key_id', value: ({ api_key_id }) => api_key_id },
  { name: 'api_key', value: ({ api_key_name }) => api_key_name },
];
const taskColumnsForAdmins: readonly ExportColumn<ListedTask>[] = [
  ...taskColumns,
  { name: 'user_id', value: ({ user_id }) => user_id },
  { name: 'user', value: ({ username }) => username },
  { name: 'group', value: ({ group }) => group },
  { name: 'channel_id', value: ({ channel_id }) => channel_id },
  { name: 'channel', value: ({ channel_name }) => channel_name },
  { name: 'upstream_model', value: ({ upstream_model }) => upstream_model },
  { name: 'upstream_task_id', value: ({ upstream_task_id }) => upstream_task_id },
  { name: 'vendor_cost_usd', value: ({ vendor_cost }) => vendor_cost?.cost },
  { name: 'margin_usd', value: ({ vendor_cost }) => vendor_cost?.margin },
  { name: 'plugin_version', value: ({ plugin_version }) => plugin_version },
];

export function taskRows(
  { lists }: Pick<Tasks, 'lists'>,
  panel: PanelPrincipal,
  {
    filter,
    order,
    cursor,
    findChannel = () => undefined,
  }: { filter: TaskListFilter; order: 'asc' | 'desc'; cursor?: string | undefined; findChannel?: FindChannel },
): RowSource<ListedTask> {
  const forAdmin = isAdmin(panel);
  return {
    name: 'tasks',
    columns: forAdmin ? taskColumnsForAdmins : taskColumns,
    batches: readBatches<ListedTask>(async (after) => {
      const feed = await lists.feed(filter, { limit: BATCH, order, ...(after === undefined ? {} : { after }) });
      // If it ended here, the file would look complete.
      if (!feed) throw new Error('the task at which the export goes on is deleted');
      const rows = feed.items.map((task) => ({
        ...describeListedTask(task, forAdmin),
        ...(forAdmin ? { vendor_cost: vendorCost(task, findChannel(task.channelId)?.settings) ?? null } : {}),
      }));
      return { rows, next: feed.next ?? undefined };
    }, pages(cursor)),
  };
}

type UsageLine = ReturnType<typeof describeUsage>;

const usageColumns: readonly ExportColumn<UsageLine>[] = [
  { name: 'id', value: ({ id }) => id },
  { name: 'created', value: ({ created_at }) => isoTime(created_at) },
  { name: 'task_id', value: ({ task_id }) => task_id },
  { name: 'kind', value: ({ kind }) => kind },
  { name: 'model', value: ({ model }) => model },
  { name: 'plugin', value: ({ plugin_key }) => plugin_key },
  { name: 'usd', value: ({ quota }) => usd(quota) },
  { name: 'api_key_id', value: ({ api_key_id }) => api_key_id },
  { name: 'api_key', value: ({ api_key_name }) => api_key_name },
  { name: 'user_id', value: ({ user_id }) => user_id },
];
const usageColumnsForAdmins: readonly ExportColumn<UsageLine>[] = [
  ...usageColumns,
  { name: 'user', value: ({ username }) => username },
  { name: 'channel_id', value: ({ channel_id }) => channel_id },
];

export function usageRows(
  records: UsageLog,
  panel: PanelPrincipal,
  { filter, cursor }: { filter: UsageFilter; cursor: string | undefined },
): RowSource<UsageLine> {
  const forAdmin = isAdmin(panel);
  return {
    name: 'usage',
    columns: forAdmin ? usageColumnsForAdmins : usageColumns,
    batches: readBatches<UsageLine>(async (before) => {
      const found = await records.readUsage(filter, { limit: BATCH, ...readBefore(before) });
      return { rows: found.map((row) => describeUsage(row, forAdmin)), next: readNext(found) };
    }, pages(cursor)),
  };
}

type AuditLine = ReturnType<typeof describeAudit>;

const auditColumns: readonly ExportColumn<AuditLine>[] = [
  { name: 'id', value: ({ id }) => id },
  { name: 'created', value: ({ created_at }) => isoTime(created_at) },
  { name: 'user_id', value: ({ user_id }) => user_id },
  { name: 'user', value: ({ username }) => username },
  { name: 'auth_method', value: ({ auth_method }) => auth_method },
  { name: 'ip', value: ({ ip }) => ip },
  { name: 'action', value: ({ action }) => action },
  { name: 'target', value: ({ target }) => target },
  { name: 'detail', value: ({ detail }) => JSON.stringify(detail) },
];

export const auditRows = (
  records: AuditLog,
  { filter, cursor }: { filter: AuditFilter; cursor: string | undefined },
): RowSource<AuditLine> => ({
  name: 'audit',
  columns: auditColumns,
  batches: readBatches<AuditLine>(async (before) => {
    const found = await records.readAudit(filter, { limit: BATCH, ...readBefore(before) });
    return { rows: found.map(describeAudit), next: readNext(found) };
  }, pages(cursor)),
});

const userColumns: readonly ExportColumn<AccountView>[] = [
  { name: 'id', value: ({ id }) => id },
  { name: 'username', value: ({ username }) => username },
  { name: 'display_name', value: ({ display_name }) => display_name },
  { name: 'email', value: ({ email }) => email },
  { name: 'role', value: ({ role }) => role },
  { name: 'status', value: ({ status }) => status },
  { name: 'group', value: ({ group }) => group },
  { name: 'balance_usd', value: ({ quota }) => usd(quota) },
  { name: 'used_usd', value: ({ used_quota }) => usd(used_quota) },
  { name: 'created', value: ({ created_at }) => isoTime(created_at) },
  { name: 'last_login', value: ({ last_login_at }) => isoTime(last_login_at) },
  { name: 'deleted', value: ({ deleted_at }) => isoTime(deleted_at) },
  { name: 'remark', value: ({ remark }) => remark },
];

type UserFilter = ReturnType<typeof readUserFilter>;

export const userRows = (
  auth: Auth,
  { filter, cursor }: { filter: UserFilter; cursor: string | undefined },
): RowSource<AccountView> => ({
  name: 'users',
  columns: userColumns,
  batches: readBatches<AccountView>((page) => readAccounts(auth, filter, page), pages(cursor)),
});

/**
 * Accounts in the order of their ids, whatever else the list is sorted by: an account keeps its
 * batch while people sign in, pay or join.
 */
async function readAccounts(auth: Auth, filter: UserFilter, beyond?: string): Promise<ExportBatch<AccountView>> {
  const { sortBy = 'id', order = 'asc', ...wanted } = filter;
  const byId = { ...wanted, order: sortBy === 'id' ? order : ('asc' as const) };
  const part = beyond === undefined ? byId : { ...byId, beyondId: Number(beyond) };
  const { items } = await auth.administration.list(part, { page: 1, pageSize: BATCH });
  return { rows: items, next: items.length < BATCH ? undefined : String(items.at(-1)?.id) };
}

type StatementLine = AccountView & MonthStatement;

const statementColumns: readonly ExportColumn<StatementLine>[] = [
  { name: 'user_id', value: ({ id }) => id },
  { name: 'user', value: ({ username }) => username },
  { name: 'email', value: ({ email }) => email },
  { name: 'group', value: ({ group }) => group },
  { name: 'opening_usd', value: ({ opening }) => usd(opening) },
  { name: 'added_usd', value: ({ added }) => usd(added) },
  { name: 'adjusted_usd', value: ({ adjusted }) => usd(adjusted) },
  { name: 'tasks_usd', value: ({ tasks }) => usd(tasks) },
  { name: 'storage_usd', value: ({ storage }) => usd(storage) },
  { name: 'closing_usd', value: ({ closing }) => usd(closing) },
];

/** One line for each account: what changed in a period. Charges are negative. */
export const statementRows = (
  { auth, statements }: { auth: Auth; statements: AccountStatements },
  { filter, period, cursor }: { filter: UserFilter; period: StatementPeriod; cursor: string | undefined },
): RowSource<StatementLine> => ({
  name: 'statements',
  columns: statementColumns,
  batches: readBatches<StatementLine>(async (page) => {
    const { rows, next } = await readAccounts(auth, filter, page);
    const described: StatementLine[] = [];
    for (const account of rows) described.push({ ...account, ...(await statements.sum(account.id, period)) });
    return { rows: described, next };
  }, pages(cursor)),
});

type LedgerLine = ReturnType<typeof describeLedgerRow>;

const ledgerColumns: readonly ExportColumn<LedgerLine>[] = [
  { name: 'id', value: ({ id }) => id },
  { name: 'created', value: ({ created_at }) => isoTime(created_at) },
  { name: 'kind', value: ({ kind }) => kind },
  { name: 'usd', value: ({ amount }) => usd(amount) },
  { name: 'balance_usd', value: ({ balance_after }) => usd(balance_after) },
  { name: 'note', value: ({ note, task }) => task?.refund_reason || note },
  { name: 'task_id', value: ({ task_id }) => task_id },
  { name: 'model', value: ({ task }) => task?.model ?? '' },
  { name: 'reserved_usd', value: ({ task }) => (task ? usd(task.reserved) : '') },
  { name: 'charged_usd', value: ({ task }) => (task?.charged == null ? '' : usd(task.charged)) },
  { name: 'api_key_id', value: ({ api_key_id }) => api_key_id },
];

export function ledgerRows(
  statements: AccountStatements,
  panel: PanelPrincipal,
  {
    userId,
    filter,
    cursor,
  }: { userId: number; filter: ReturnType<typeof readLedgerFilter>; cursor: string | undefined },
): RowSource<LedgerLine> {
  const forAdmin = isAdmin(panel);
  const { before = Number.POSITIVE_INFINITY } = readBefore(cursor);
  /**
   * A statement is read from its newest row, whose balance is known: rows of earlier files are
   * passed over.
   */
  async function* describe(): AsyncGenerator<ExportedRows<LedgerLine>, undefined> {
    let left = MAX_EXPORTED;
    for await (const read of statements.read(userId, filter)) {
      await nextTurn();
      const found = read.filter(({ id }) => id < before);
      left -= found.length;
      const last = found.at(-1);
      const rows = found.map((row) => describeLedgerRow(row, forAdmin));
      yield last && left < BATCH ? { rows, goesOnAt: String(last.id) } : { rows };
      if (left < BATCH) return undefined;
    }
    return undefined;
  }
  return {
    name: 'ledger',
    columns: forAdmin
      ? [...ledgerColumns, { name: 'actor', value: ({ actor }) => actor?.username ?? '' }]
      : ledgerColumns,
    batches: describe(),
  };
}

const readNext = (rows: readonly { id: number }[]): string | undefined =>
  rows.length === BATCH ? String(rows.at(-1)?.id) : undefined;

/** Where a file begins, and how many rows a batch has at most. */
const pages = (from: string | undefined) => ({ from, most: BATCH });

const readBefore = (cursor: string | undefined): { before?: number } =>
  cursor === undefined ? {} : { before: Number(cursor) };
