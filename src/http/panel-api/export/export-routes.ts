import { Elysia, t } from 'elysia';
import type { Auth, PanelPrincipal, RequestOrigin } from '../../../auth/index.ts';
import type { AccountStatements, StatementPeriod } from '../../../billing/index.ts';
import { createZoneClock, isTimeZone, type Logger, sentence } from '../../../kernel/index.ts';
import type { Tasks } from '../../../tasks/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, strictObject } from '../../pipeline/route-kit.ts';
import { listQuery, readUserFilter } from '../accounts/user-filter.ts';
import { ledgerQuery, readLedgerFilter } from '../accounts/user-records.ts';
import { type AuditLog, auditQuery, readAuditFilter } from '../operation/audit-log.ts';
import { readUsageFilter, type UsageLog, usageQuery } from '../operation/usage-log.ts';
import type { RecordAudit } from '../record-audit.ts';
import { type BeginExport, type ExportFormat, MAX_EXPORTED, type RowSource, streamExport } from '../stream-export.ts';
import { readTaskFilter, taskFilterQuery } from '../tasks/task-filter.ts';
import {
  auditRows,
  type FindChannel,
  ledgerRows,
  statementRows,
  taskRows,
  usageRows,
  userRows,
} from './row-sources.ts';

const DAY_MS = 86_400_000;

const format = t.Union([t.Literal('csv'), t.Literal('jsonl')]);
const cursorFor = (pattern: string) =>
  t.Optional(t.String({ pattern, description: 'Where a truncated file continues.' }));
const cursor = cursorFor('^[1-9]\\d{0,14}$');
const taskCursor = cursorFor('^task_\\w{1,186}$');
const lines = MAX_EXPORTED.toLocaleString('en-US');

const BY_ID = ' The rows are in the order of ids, also where the list is sorted otherwise.';
const describeExport = (what: string, order = '') => ({
  summary: `Export ${what} as CSV or JSON Lines`,
  description: `All that the list with the same filter holds: CSV, in which texts that look like formulas begin with an apostrophe, or JSON lines as the list has them. A file has at most ${lines} rows (x-export-max-rows); one that is full ends with a row that says so and names the cursor for the next file. One at a time for each user (429 EXPORTS_LIMITED). It leaves an audit row.${order}`,
  responses: {
    '200': { description: 'The rows', content: { 'text/csv': {}, 'application/jsonl': {} } },
  },
});

/** @throws http.validation_failed */
function readMonth(month: string, zone = 'UTC'): StatementPeriod {
  if (!isTimeZone(zone)) throw fieldError('zone', 'wrong_value', sentence('http.zone'));
  const [year, number] = month.split('-').map(Number) as [number, number];
  const clock = createZoneClock(zone);
  const startFor = (months: number): number => clock.dayStart(Date.UTC(year, months, 1) / DAY_MS);
  return { from: startFor(number - 1), until: startFor(number) };
}

type ExportDeps = {
  tasks: Tasks;
  records: UsageLog & AuditLog;
  auth: Auth;
  statements: AccountStatements;
  audit: RecordAudit;
  beginExport: BeginExport;
  channels: { find: FindChannel };
};

type Exporting = {
  panel: PanelPrincipal;
  origin: RequestOrigin;
  request: Request;
  log: Logger;
  keepOpen: () => () => void;
};

/** One export for all lists: the query of the list, row by row, as CSV or JSON lines. */
export function exportRoutes(kit: Kit, { tasks, records, auth, statements, audit, beginExport, channels }: ExportDeps) {
  const findChannel: FindChannel = (id) => channels.find(id);
  async function send<Row>(
    { panel, origin, request, log, keepOpen }: Exporting,
    { format: wanted, ...filter }: { format: ExportFormat } & Readonly<Record<string, string | undefined>>,
    source: RowSource<Row>,
  ): Promise<Response> {
    const running = beginExport(panel, request);
    const given = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const detail = { format: wanted, filter: Object.fromEntries(given) };
    await audit({ panel, origin }, { action: `export.${source.name}`, target: `user:${panel.user.id}`, detail });
    const restoreTimeout = keepOpen();
    return streamExport(source, {
      format: wanted,
      running,
      onEnd: restoreTimeout,
      onFailure: (error) => log.warn({ err: error, export: source.name }, 'export failed'),
    });
  }

  return new Elysia({ normalize: false, tags: ['Records'] })
    .use(kit)
    .get(
      '/api/task/export',
      ({ query, ...context }) => {
        const { format: _, order = 'desc', cursor, ...asked } = query;
        const filter = readTaskFilter(context.panel, asked);
        return send(context, query, taskRows(tasks, context.panel, { filter, order, cursor, findChannel }));
      },
      {
        user: true,
        query: strictObject({
          ...taskFilterQuery,
          order: t.Optional(t.Union([t.Literal('asc'), t.Literal('desc')], { description: 'By creation.' })),
          format,
          cursor: taskCursor,
        }),
        detail: describeExport('tasks'),
      },
    )
    .get(
      '/api/log/export',
      ({ query, ...context }) => {
        const { format: _, cursor, ...asked } = query;
        const filter = readUsageFilter(context.panel, asked);
        return send(context, query, usageRows(records, context.panel, { filter, cursor }));
      },
      { user: true, query: strictObject({ ...usageQuery, format, cursor }), detail: describeExport('usage') },
    )
    .get(
      '/api/audit/export',
      ({ query, ...context }) =>
        send(context, query, auditRows(records, { filter: readAuditFilter(query), cursor: query.cursor })),
      { root: true, query: strictObject({ ...auditQuery, format, cursor }), detail: describeExport('the audit log') },
    )
    .get(
      '/api/user/self/ledger/export',
      ({ query, ...context }) => {
        const whose = { userId: context.panel.user.id, filter: readLedgerFilter(query), cursor: query.cursor };
        return send(context, query, ledgerRows(statements, context.panel, whose));
      },
      { user: true, query: strictObject({ ...ledgerQuery, format, cursor }), detail: describeExport('your statement') },
    )
    .get(
      '/api/user/:id/ledger/export',
      async ({ query, params, ...context }) => {
        const { id: userId } = await auth.administration.find(context.panel, readId(params.id));
        const rows = ledgerRows(statements, context.panel, {
          ...{ userId, filter: readLedgerFilter(query), cursor: query.cursor },
        });
        return send(context, { ...query, user: String(userId) }, rows);
      },
      {
        admin: true,
        query: strictObject({ ...ledgerQuery, format, cursor }),
        detail: describeExport("an account's statement"),
      },
    )
    .get(
      '/api/user/export',
      ({ query, ...context }) =>
        send(context, query, userRows(auth, { filter: readUserFilter(query), cursor: query.cursor })),
      {
        admin: true,
        query: strictObject({ ...listQuery, format, cursor }),
        detail: describeExport('accounts', BY_ID),
      },
    )
    .get(
      '/api/user/statement/export',
      ({ query, ...context }) => {
        const { format: _, cursor, month, zone, ...asked } = query;
        const rows = { filter: readUserFilter(asked), period: readMonth(month, zone), cursor };
        return send(context, query, statementRows({ auth, statements }, rows));
      },
      {
        admin: true,
        query: strictObject({
          ...{ ...listQuery, format, cursor },
          month: t.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])$', description: 'Such as 2026-11.' }),
          zone: t.Optional(t.String({ maxLength: 64, description: 'The time zone of the month: its IANA name. UTC.' })),
        }),
        detail: describeExport("all accounts' statements of a month", BY_ID),
      },
    );
}
