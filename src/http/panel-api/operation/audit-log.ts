import { Elysia, t } from 'elysia';
import { LATEST_TIME, type Page, type Paged, paged, pageQuery, readInteger, readPage } from '../../pipeline/paging.ts';
import { integerText, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { AuditRow } from '../record-audit.ts';

export type AuditFilter = { user?: string; action?: string; target?: string; since?: number; until?: number };

const filter = (description: string) => t.Optional(t.String({ maxLength: 200, description }));
const time = t.Optional(integerText({ minimum: 0, description: 'Unix seconds.' }));

export const auditQuery = {
  user: filter('A part of the username that the actor had at the time.'),
  action: filter('An action, such as user.delete, or the beginning of several: channel.'),
  target: filter('The exact target, such as channel:3.'),
  since: time,
  until: time,
};

export type AuditLog = {
  listAudit(filter: AuditFilter, page: Page): Promise<Paged<AuditRow & { id: number }>>;
  /** The latest first, those before the row `before`; for exports. */
  readAudit(filter: AuditFilter, part: { before?: number; limit: number }): Promise<(AuditRow & { id: number })[]>;
};

/** `GET /api/audit`: who changed what, for the root user. Rows are written by `record-audit.ts`. */
export function auditLogRoutes(kit: Kit, { records }: { records: AuditLog }) {
  return new Elysia({ normalize: false, tags: ['Records'] }).use(kit).get(
    '/api/audit',
    async ({ query }) => {
      const page = readPage(query);
      const found = await records.listAudit(readAuditFilter(query), page);
      return ok(paged(page, { ...found, items: found.items.map(describeAudit) }));
    },
    {
      root: true,
      query: strictObject({ ...pageQuery, ...auditQuery }),
      detail: { summary: 'List the audit log', description: 'Newest first.' },
    },
  );
}

/** An empty text is not a filter: forms send empty fields. @throws http.validation_failed */
export function readAuditFilter(query: { [Field in keyof typeof auditQuery]?: string }): AuditFilter {
  const { user, action, target, since, until } = query;
  return {
    ...(user ? { user } : {}),
    ...(action ? { action } : {}),
    ...(target ? { target } : {}),
    ...(since ? { since: readInteger('since', since, { min: 0, max: LATEST_TIME }) } : {}),
    ...(until ? { until: readInteger('until', until, { min: 0, max: LATEST_TIME }) } : {}),
  };
}

export const describeAudit = (row: AuditRow & { id: number }) => ({
  id: row.id,
  user_id: row.userId,
  username: row.username,
  auth_method: row.authMethod,
  ip: row.ip,
  action: row.action,
  target: row.target,
  detail: row.detail,
  created_at: row.createdAt,
});
