import { Elysia } from 'elysia';
import type { PanelPrincipal } from '../../../auth/index.ts';
import type { Webhooks } from '../../../notifications/index.ts';
import { type Notice, shownUrl } from '../../../notifications/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { paged, pageQuery, readPage } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

/**
 * The webhooks of a task: what was sent to its owner's receiver, the results, and sending one
 * again. For the owner and administrators.
 */
export function webhookRoutes(kit: Kit, { webhooks, audit }: { webhooks: Webhooks; audit: RecordAudit }) {
  /** The user whose tasks the caller may use; null for all. */
  const allowedUser = (panel: PanelPrincipal): number | null => (isAdmin(panel) ? null : panel.user.id);

  return new Elysia({ normalize: false, tags: ['Tasks in the panel'] })
    .use(kit)
    .get(
      '/api/task/:task_id/webhooks',
      async ({ panel, params, query }) => {
        const page = readPage(query);
        const found = await webhooks.list(params.task_id, allowedUser(panel), page);
        return ok(paged(page, { ...found, items: found.items.map(describeNotice) }));
      },
      {
        user: true,
        query: strictObject(pageQuery),
        detail: {
          summary: "List a task's webhooks and deliveries, latest first",
          description:
            'status: pending, delivered, failed (after 24 hours of attempts, or the receiver answered 410) or superseded (a later one replaced it). The query of the address is left out.',
        },
      },
    )
    .post(
      '/api/task/:task_id/webhooks/:id/redeliver',
      async ({ panel, origin, params }) => {
        await webhooks.redeliver(params.task_id, allowedUser(panel), params.id);
        const detail = { webhook: params.id };
        await audit({ panel, origin }, { action: 'task.webhook_redeliver', target: `task:${params.task_id}`, detail });
        return ok(null);
      },
      {
        user: true,
        detail: {
          summary: 'Redeliver a webhook with the same webhook-id',
          description: 'Possible in every status; further attempts follow for another 24 hours.',
        },
      },
    );
}

const describeNotice = (notice: Notice) => ({
  id: notice.eventId,
  event: notice.event,
  url: shownUrl(notice.url),
  status: notice.status,
  attempts: notice.attempts,
  /** Unix seconds; null if no further attempt follows. */
  next_attempt_at: notice.status === 'pending' ? Math.ceil(notice.nextAttemptAtMs / 1000) : null,
  created_at: notice.createdAt,
  payload: notice.payload,
  deliveries: notice.deliveries.map(({ at, httpStatus, durationMs, error }) => ({
    at,
    http_status: httpStatus,
    duration_ms: durationMs,
    error,
  })),
});
