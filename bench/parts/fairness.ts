import { join } from 'node:path';
import { signIn } from '../../test/support/gateway.ts';
import { type Figure, higher, lower, note, row } from '../figures.ts';
import { runClients } from '../load/run-clients.ts';
import { submitOnce } from '../load/send-submissions.ts';
import type { Run } from '../part.ts';
import { openStage, type Stage } from '../stage.ts';

const GREEDY_CLIENTS = 64;
const WARM_UP_SECONDS = 2;
const MAX_RATIO = 3;

/**
 * What one user with one request at a time waits for, alone and beside another user who keeps 64
 * submissions in flight.
 */
export async function benchFairness({ build, seconds }: Run): Promise<Figure[]> {
  const stage = await openStage(build);
  let greedy: ReturnType<typeof startGreedy> | undefined;
  try {
    const key = await createModestKey(stage);
    const modest = (duration: number) => runClients(1, duration, () => submitOnce(stage.gateway.url, key));
    await modest(WARM_UP_SECONDS);
    const alone = await modest(seconds);
    greedy = startGreedy(stage);
    await modest(WARM_UP_SECONDS);
    const before = greedy.sent();
    const beside = await modest(seconds);
    const greedyPerSecond = (greedy.sent() - before) / seconds;
    return row(
      `one at a time beside ${GREEDY_CLIENTS} of another user`,
      [
        lower('p50 beside', beside.p50Ms, 'ms'),
        lower('p99 beside', beside.p99Ms, 'ms'),
        note('p99 alone', alone.p99Ms, 'ms'),
        lower('p99 beside ÷ p99 alone', beside.p99Ms / alone.p99Ms, ''),
        higher('rate of the other user', greedyPerSecond, '/s'),
      ],
      { 'p99 beside ÷ p99 alone': MAX_RATIO },
    );
  } finally {
    await greedy?.stop();
    await stage.stop();
  }
}

function startGreedy({ gateway, key }: Stage) {
  const script = join(import.meta.dir, '../load/send-submissions.ts');
  const child = Bun.spawn([process.execPath, script, gateway.url, key, String(GREEDY_CLIENTS)], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let sent = 0;
  const counting = (async () => {
    for await (const chunk of child.stdout) sent += chunk.byteLength;
  })();
  return {
    sent: () => sent,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      await counting.catch(() => undefined);
    },
  };
}

async function createModestKey({ gateway, admin }: Stage): Promise<string> {
  await admin.createUser({ username: 'modest', quota: 50_000_000 });
  return (await signIn(gateway.url, { username: 'modest' })).createKey({ name: 'modest' });
}
