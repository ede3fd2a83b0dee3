import { ROOT } from '../test/support/gateway.ts';
import type { Row } from './row.ts';
import { createAddresses, type Rate, runClients } from './run-clients.ts';
import { openStage } from './stage.ts';

const CLIENTS = 32;
const WARM_UP_SECONDS = 1;
const SECONDS = 4;

/** Refreshes, each a durable rotation, and authenticated reads a second, over HTTP with kept connections. */
export async function benchRequests(): Promise<Row[]> {
  const stage = await openStage();
  const { url } = stage.gateway;
  const nextAddress = createAddresses();
  const send = async (path: string, init: { method?: string; headers: Record<string, string> }) => {
    const response = await fetch(`${url}${path}`, {
      ...init,
      headers: { 'x-forwarded-for': nextAddress(), ...init.headers },
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} was answered ${response.status}: ${text}`);
    return response;
  };
  const measure = async (what: string, work: (client: number) => Promise<unknown>): Promise<Row> => {
    const once = async (client: number) => void (await work(client));
    await runClients(CLIENTS, WARM_UP_SECONDS, once);
    return toRow(what, await runClients(CLIENTS, SECONDS, once));
  };

  try {
    const cookies: string[] = [];
    for (let i = 0; i < CLIENTS; i++) cookies.push(await signIn(url, nextAddress()));
    const task = await stage.submit('a lighthouse in the fog');
    return [
      await measure('refreshes (POST /api/user/auth/refresh)', async (client) => {
        const answer = await send('/api/user/auth/refresh', {
          method: 'POST',
          headers: { cookie: cookies[client] ?? '' },
        });
        cookies[client] = refreshCookie(answer);
      }),
      await measure('reads with an API key (GET /v1/tasks/:id)', () =>
        send(`/v1/tasks/${task}`, { headers: { authorization: `Bearer ${stage.key}` } }),
      ),
      await measure('reads with a session (GET /api/user/self)', () =>
        send('/api/user/self', { headers: { authorization: `Bearer ${stage.admin.token}` } }),
      ),
    ];
  } finally {
    await stage.stop();
  }
}

async function signIn(url: string, address: string): Promise<string> {
  const answer = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
    body: JSON.stringify(ROOT),
  });
  if (answer.status !== 200) throw new Error(`sign-in was answered ${answer.status}: ${await answer.text()}`);
  await answer.body?.cancel();
  return refreshCookie(answer);
}

/** The refresh cookie that an answer sets, as a client sends it back. */
function refreshCookie(answer: Response): string {
  const set = answer.headers.getSetCookie().find((cookie) => cookie.startsWith('svc_refresh='));
  if (set === undefined) throw new Error('an answer without a refresh cookie');
  return set.slice(0, set.indexOf(';'));
}

const toRow = (what: string, { perSecond, p50Ms, p99Ms }: Rate): Row => ({
  what,
  measured: `${perSecond.toFixed(0)}/s (p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms)`,
  figures: { per_second: perSecond, p50_ms: p50Ms, p99_ms: p99Ms },
});
