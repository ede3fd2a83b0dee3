import { Elysia } from 'elysia';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

/** Something that an administrator should look at. */
export type AttentionItem = {
  /** Stable: the panel has the words for it by this. */
  code:
    | 'plugin_suspended'
    | 'plugin_failed'
    | 'channel_failing'
    | 'channel_key_unreadable'
    | 'polls_late'
    | 'tasks_overdue'
    | 'webhooks_late'
    | 'model_unpriced'
    | 'address_missing'
    | 'setting_unsafe'
    | 'proxy_not_listed'
    | 'ledger_mismatch'
    | 'node_gone'
    | 'node_versions_differ'
    | 'no_master'
    | 'disk_unwritable'
    | 'disk_low';
  severity: 'error' | 'warning';
  /** Where to look: a page of the panel, and what on it. */
  target: {
    kind: 'plugin' | 'channel' | 'price' | 'setting' | 'system' | 'node' | 'tasks';
    id: string | number | null;
  };
  /** A sentence in English with the figures. */
  message: string;
};

export function attentionRoutes(kit: Kit, { attention }: { attention: () => Promise<AttentionItem[]> }) {
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get('/api/attention', async () => ok(await attention()), {
      admin: true,
      detail: {
        summary: 'What needs attention, the worst first',
        description:
          'code is stable; target names the page (kind) and what on it. Plugins are told of as this node sees them; the ledger is checked every six hours at most.',
      },
    });
}
