import { performance } from 'node:perf_hooks';
import { percentile } from './row.ts';

export type Rate = { perSecond: number; count: number; p50Ms: number; p99Ms: number };

/**
 * `clients` callers at once for `seconds`, each sending its next request when the last one is answered. A failing request ends
 * the run: a rate of errors is no rate.
 */
export async function runClients(
  clients: number,
  seconds: number,
  work: (client: number) => Promise<void>,
): Promise<Rate> {
  const times: number[] = [];
  const begun = performance.now();
  const end = begun + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let started = performance.now(); started < end; started = performance.now()) {
        await work(client);
        times.push(performance.now() - started);
      }
    }),
  );
  const took = (performance.now() - begun) / 1000;
  return {
    perSecond: times.length / took,
    count: times.length,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
  };
}

/**
 * Addresses for `X-Forwarded-For` (the loopback peer is a trusted proxy): a new one of the range set aside for benchmarks
 * (RFC 2544) after every 1000 requests, so that no address meets the limit of the panel's API.
 */
export function createAddresses(): () => string {
  let taken = 0;
  return () => {
    const number = Math.floor(taken++ / 1000);
    return `198.${18 + ((number >> 16) & 1)}.${(number >> 8) & 255}.${number & 255}`;
  };
}
