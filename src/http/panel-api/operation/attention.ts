import { Elysia } from 'elysia';
import type { AttentionItem } from '../../../operations/index.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

export function attentionRoutes(kit: Kit, { attention }: { attention: () => Promise<AttentionItem[]> }) {
  return new Elysia({ normalize: false, tags: ['System'] })
    .use(kit)
    .get('/api/attention', async () => ok(await attention()), {
      admin: true,
      detail: {
        summary: 'List what needs attention, most severe first',
        description:
          'code is stable; target names the page (kind) and the item on it. Plugins appear as this node sees them; the ledger is checked at most every six hours.',
      },
    });
}
