import { Elysia } from 'elysia';
import type { SentenceParams } from '../../../kernel/index.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

/** Something that an administrator should look at. */
export type AttentionItem = {
  /** Stable: the panel chooses its text by this code. */
  code:
    | 'plugin_suspended'
    | 'plugin_failed'
    | 'plugin_failing'
    | 'plugin_rolled_back'
    | 'credential_exposed'
    | 'plugin_revoked'
    | 'plugin_revoked_tasks'
    | 'channel_failing'
    | 'channel_degraded'
    | 'channel_key_unreadable'
    | 'polls_late'
    | 'tasks_overdue'
    | 'webhooks_late'
    | 'model_unpriced'
    | 'price_refuses'
    | 'price_unused'
    | 'channel_unserved'
    | 'address_missing'
    | 'setting_unsafe'
    | 'proxy_not_listed'
    | 'ledger_mismatch'
    | 'node_gone'
    | 'node_versions_differ'
    | 'no_master'
    | 'disk_unwritable'
    | 'results_blocked'
    | 'results_lost'
    | 'backup_failed'
    | 'backup_overdue'
    | 'backup_unsealed'
    | 'backup_not_pruned'
    | 'alert_webhook_failing'
    | 'disk_low'
    | 'retention_undecided';
  severity: 'error' | 'warning';
  /** Where to look: a page of the panel, and an item on it. */
  target: {
    kind: 'plugin' | 'channel' | 'price' | 'setting' | 'system' | 'node' | 'tasks';
    id: string | number | null;
  };
  /** An English sentence with the figures. */
  message: string;
  /** The figures and names in it, for the panel to say it in its user's language. */
  params?: SentenceParams;
};

export function attentionRoutes(kit: Kit, { attention }: { attention: () => Promise<AttentionItem[]> }) {
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get('/api/attention', async () => ok(await attention()), {
      admin: true,
      detail: {
        summary: 'What needs attention, most severe first',
        description:
          'code is stable; target names the page (kind) and the item on it. Plugins appear as this node sees them; the ledger is checked at most every six hours.',
      },
    });
}
