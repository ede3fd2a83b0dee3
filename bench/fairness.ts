import { join } from 'node:path';
import { ask } from '../test/support/gateway.ts';
import { atMost, type Row } from './row.ts';
import { type Rate, runClients } from './run-clients.ts';
import { submitOnce } from './send-submissions.ts';
import { openStage, type Stage } from './stage.ts';

const GREEDY_CLIENTS = 64;
const WARM_UP_SECONDS = 2;
const SECONDS = 6;
const MAX_RATIO = 3;
const MODEST = { username: 'modest', password: 'correct horse battery' };

/**
 * What one user with one request at a time waits for, alone and beside another user who keeps 64
 * submissions in flight.
 */
export async function benchFairness(): Promise<Row[]> {
  const stage = await openStage();
  let greedy: ReturnType<typeof startGreedy> | undefined;
  try {
    const key = await createModestKey(stage);
    const modest = (seconds: number) => runClients(1, seconds, () => submitOnce(stage.gateway.url, key));
    await modest(WARM_UP_SECONDS);
    const alone = await modest(SECONDS);
    greedy = startGreedy(stage);
    await modest(WARM_UP_SECONDS);
    const before = greedy.sent();
    const beside = await modest(SECONDS);
    const greedyPerSecond = (greedy.sent() - before) / SECONDS;
    const ratio = beside.p99Ms / alone.p99Ms;
    const ms = ({ p50Ms, p99Ms }: Rate) => `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)} ms`;
    return [
      {
        what: `one at a time beside ${GREEDY_CLIENTS} of another user`,
        measured: `p50 / p99 alone ${ms(alone)}, beside ${ms(beside)}; p99 × ${ratio.toFixed(2)}; the other ${greedyPerSecond.toFixed(0)}/s`,
        aim: atMost(ratio, MAX_RATIO, '× p99'),
        figures: {
          ...{ alone_p50_ms: alone.p50Ms, alone_p99_ms: alone.p99Ms },
          ...{ beside_p50_ms: beside.p50Ms, beside_p99_ms: beside.p99Ms, p99_ratio: ratio },
          ...{ modest_per_second: beside.perSecond, greedy_per_second: greedyPerSecond },
        },
      },
    ];
  } finally {
    await greedy?.stop();
    await stage.stop();
  }
}

function startGreedy({ gateway, key }: Stage) {
  const script = join(import.meta.dir, 'send-submissions.ts');
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
  const { id } = await admin.call<{ id: number }>('POST', '/api/user', { ...MODEST, role: 1 });
  await admin.call('POST', '/api/user/manage', { id, action: 'add_quota', mode: 'add', value: 50_000_000 });
  const login = await ask(`${gateway.url}/api/user/login`, { body: MODEST });
  const token = (login.body.data as { access_token: string }).access_token;
  const made = await ask(`${gateway.url}/api/token`, { token, body: { name: 'modest', unlimited_quota: true } });
  return (made.body.data as { key: string }).key;
}
