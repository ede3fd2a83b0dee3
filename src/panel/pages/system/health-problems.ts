import type { NodeReport } from '../../api/types.ts';

/**
 * What needs attention. A second or two of lateness is normal for the poller; half a minute is not.
 */
export type HealthProblems = {
  nodes: boolean;
  versions: boolean;
  lateness: boolean;
  webhooks: boolean;
  queued: boolean;
  suspended: boolean;
  plugins: boolean;
  ledger: boolean;
};

const maxLatenessMs = 30_000;
const maxWebhookSeconds = 600;
const maxQueuedCalls = 10;

export const findHealthProblems = (report: NodeReport): HealthProblems => ({
  nodes: report.nodes.some(({ alive }) => !alive),
  versions: new Set(report.nodes.filter(({ alive }) => alive).map(({ version }) => version)).size > 1,
  lateness: report.queue.latest_lateness_ms > maxLatenessMs,
  webhooks: report.webhooks.oldest_seconds > maxWebhookSeconds,
  queued: report.sandbox.queued > maxQueuedCalls,
  suspended: report.sandbox.suspended.length > 0,
  plugins: Object.keys(report.plugins.errors).length > 0,
  ledger: report.ledger !== null && !report.ledger.ok,
});
