import { createSend, measureRate } from './request-rate.ts';
import type { Row } from './row.ts';
import { openStage } from './stage.ts';

/** Authenticated reads of an API client a second. */
export async function benchRequests(): Promise<Row[]> {
  const stage = await openStage();
  try {
    const send = createSend(stage.gateway.url);
    const task = await stage.submit('a lighthouse in the fog');
    return [
      await measureRate('reads with an API key (GET /v1/tasks/:id)', () =>
        send(`/v1/tasks/${task}`, { headers: { authorization: `Bearer ${stage.key}` } }),
      ),
    ];
  } finally {
    await stage.stop();
  }
}
