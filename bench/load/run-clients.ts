import { performance } from 'node:perf_hooks';
import { percentile } from '../figures.ts';

export type Rate = { perSecond: number; count: number; p50Ms: number; p99Ms: number };

/**
 * `clients` callers at once for `seconds`, each sending its next request when the last one is
 * answered. A failing request ends the run: a rate of errors is not a rate.
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
