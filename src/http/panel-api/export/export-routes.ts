import { Elysia, t } from 'elysia';
import type { Auth, PanelPrincipal, RequestOrigin } from '../../../auth/index.ts';
import type { AccountStatements } from '../../../billing/index.ts';
import type { Logger } from '../../../kernel/index.ts';
import type { Tasks } from '../../../tasks/index.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, strictObject } from '../../pipeline/route-kit.ts';
import { listQuery, readUserFilter } from '../accounts/user-filter.ts';
import { ledgerQuery, readLedgerFilter } from '../accounts/user-records.ts';
import { auditQuery, type RecordsSource, readAuditFilter, readUsageFilter, usageQuery } from '../operation/records.ts';
import type { RecordAudit } from '../record-audit.ts';
import { readTaskFilter, taskFilterQuery } from '../tasks/task-filter.ts';
import { auditRows, ledgerRows, taskRows, usageRows, userRows } from './row-sources.ts';
import { type BeginExport, type ExportFormat, MAX_EXPORTED, type RowSource, streamExport } from './stream-export.ts';

const format = t.Union([t.Literal('csv'), t.Literal('jsonl')]);
const lines = MAX_EXPORTED.toLocaleString('en-US');

const describeExport = (what: string) => ({
  summary: `${what} as a file`,
  description: `All that the list with the same filter holds, at most ${lines} rows: CSV, in which texts that look like formulas begin with an apostrophe, or JSON lines as the list has them. One at a time for each user (429 EXPORTS_LIMITED). It leaves an audit row.`,
  responses: {
    '200': { description: 'The rows', content: { 'text/csv': {}, 'application/jsonl': {} } },
  },
});

type ExportDeps = {
  tasks: Tasks;
  records: RecordsSource;
  auth: Auth;
  statements: AccountStatements;
  audit: RecordAudit;
  beginExport: BeginExport;
};

type Exporting = {
  panel: PanelPrincipal;
  origin: RequestOrigin;
  request: Request;
  log: Logger;
  keepOpen: () => () => void;
};

/** One export for all lists: the query of the list, row by row, as CSV or JSON lines. */
export function exportRoutes(kit: Kit, { tasks, records, auth, statements, audit, beginExport }: ExportDeps) {
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
        const { format: _, order = 'desc', ...asked } = query;
        const filter = readTaskFilter(context.panel, asked);
        return send(context, query, taskRows(tasks, context.panel, { filter, order }));
      },
      {
        user: true,
        query: strictObject({
          ...taskFilterQuery,
          order: t.Optional(t.Union([t.Literal('asc'), t.Literal('desc')], { description: 'By creation.' })),
          format,
        }),
        detail: describeExport('Tasks'),
      },
    )
    .get(
      '/api/log/export',
      ({ query, ...context }) =>
        send(context, query, usageRows(records, context.panel, readUsageFilter(context.panel, query))),
      { user: true, query: strictObject({ ...usageQuery, format }), detail: describeExport('Usage') },
    )
    .get(
      '/api/audit/export',
      ({ query, ...context }) => send(context, query, auditRows(records, readAuditFilter(query))),
      { root: true, query: strictObject({ ...auditQuery, format }), detail: describeExport('The audit log') },
    )
    .get(
      '/api/user/self/ledger/export',
      ({ query, ...context }) => {
        const whose = { userId: context.panel.user.id, filter: readLedgerFilter(query) };
        return send(context, query, ledgerRows(statements, context.panel, whose));
      },
      { user: true, query: strictObject({ ...ledgerQuery, format }), detail: describeExport('Your statement') },
    )
    .get(
      '/api/user/:id/ledger/export',
      async ({ query, params, ...context }) => {
        const { id: userId } = await auth.administration.find(context.panel, readId(params.id));
        const rows = ledgerRows(statements, context.panel, { userId, filter: readLedgerFilter(query) });
        return send(context, { ...query, user: String(userId) }, rows);
      },
      {
        admin: true,
        query: strictObject({ ...ledgerQuery, format }),
        detail: describeExport('The statement of an account'),
      },
    )
    .get('/api/user/export', ({ query, ...context }) => send(context, query, userRows(auth, readUserFilter(query))), {
      admin: true,
      query: strictObject({ ...listQuery, format }),
      detail: describeExport('Accounts'),
    });
}
