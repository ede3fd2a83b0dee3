import { until } from '../../test/support/until.ts';
import type { Figure } from '../figures.ts';
import { formatRequest } from '../load/http-client.ts';
import { measureRequests } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { openStage } from '../stage.ts';

type Synchronous = 'NORMAL' | 'FULL';

const BODY = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });

/**
 * Submissions a second on SQLite: each one reserved, sent to the vendor and stored before it is
 * answered. Alone, and while the node polls all that were submitted before, whose jobs never end:
 * the longer that runs, the more polls there are.
 */
export async function benchSubmissions(run: Run, synchronous: Synchronous): Promise<Figure[]> {
  return [
    ...(await measure(run, { synchronous, polls: false })),
    ...(await measure(run, { synchronous, polls: true })),
  ];
}

/** The vendor's own count must equal the answers. */
async function measure(
  { build, seconds }: Run,
  { synchronous, polls }: { synchronous: Synchronous; polls: boolean },
): Promise<Figure[]> {
  const stage = await openStage(build, { SQLITE_SYNCHRONOUS: synchronous, UPDATE_TASK: String(polls) });
  try {
    let answered = 0;
    const headers = { authorization: `Bearer ${stage.key}`, 'content-type': 'application/json' };
    const text = formatRequest('POST', '/v1/tasks/demo', { headers, body: BODY });
    const figures = await measureRequests({
      what: polls ? `submissions beside their polls, SQLite ${synchronous}` : `submissions, SQLite ${synchronous}`,
      gateway: stage.gateway,
      seconds,
      next: () => text,
      take: () => {
        answered += 1;
      },
      ...(polls ? {} : { aims: { rate: 2_000, p99: 30 } }),
    });
    // What came faster than an account's ceiling is learned waits for a moment.
    await until('the vendor has each submission', async () => (await stage.vendor.counts()).creates >= answered);
    const { creates } = await stage.vendor.counts();
    if (creates !== answered) throw new Error(`${answered} submissions were answered, the vendor counts ${creates}`);
    return figures;
  } finally {
    await stage.stop();
  }
}
