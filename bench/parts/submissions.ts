import type { Figure } from '../figures.ts';
import { formatRequest } from '../load/http-client.ts';
import { measureRequests } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { openStage } from '../stage.ts';

const BODY = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });

/**
 * Submissions a second on SQLite: each one reserved, sent to the vendor and stored before it is
 * answered, while the gateway polls what it has. The vendor's own count must equal the answers.
 */
export async function benchSubmissions({ build, seconds }: Run, synchronous: 'NORMAL' | 'FULL'): Promise<Figure[]> {
  const stage = await openStage(build, { SQLITE_SYNCHRONOUS: synchronous });
  const what = `submissions, SQLite ${synchronous}`;
  try {
    let answered = 0;
    const headers = { authorization: `Bearer ${stage.key}`, 'content-type': 'application/json' };
    const text = formatRequest('POST', '/v1/tasks/demo', { headers, body: BODY });
    const figures = await measureRequests({
      what,
      gateway: stage.gateway,
      seconds,
      next: () => text,
      take: () => {
        answered += 1;
      },
      aims: { rate: 2_000, p99: 30 },
    });
    const { creates } = await stage.vendor.counts();
    if (creates !== answered) throw new Error(`${answered} submissions were answered, the vendor counts ${creates}`);
    return figures;
  } finally {
    await stage.stop();
  }
}
