import type { Row } from './row.ts';
import { runClients } from './run-clients.ts';

export const CLIENTS = 32;
const WARM_UP_SECONDS = 1;
const SECONDS = 3;

export type Send = (
  path: string,
  init: { method?: string; headers?: Record<string, string>; body?: string },
) => Promise<Response>;

/** Sends to one gateway over kept connections; throws unless the answer is 200. */
export function createSend(url: string): Send {
  return async (path, init) => {
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} was answered ${response.status}: ${text}`);
    return response;
  };
}

/** How often a second `work` is done by many callers at once; each gets its number. */
export async function measureRate(what: string, work: (client: number) => Promise<unknown>): Promise<Row> {
  const once = async (client: number) => void (await work(client));
  await runClients(CLIENTS, WARM_UP_SECONDS, once);
  const { perSecond, p50Ms, p99Ms } = await runClients(CLIENTS, SECONDS, once);
  return {
    what,
    measured: `${perSecond.toFixed(0)}/s (p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms)`,
    figures: { per_second: perSecond, p50_ms: p50Ms, p99_ms: p99Ms },
  };
}
