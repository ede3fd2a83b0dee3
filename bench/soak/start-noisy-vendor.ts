import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { systemClock } from '../../src/kernel/index.ts';

/** Shares of the answers that go wrong. */
const BUSY = 0.05;
const BROKEN_POLL = 0.1;
const GARBAGE_POLL = 0.02;

export type NoisyVendor = {
  url: string;
  /** How many orders arrived under each reference that has more than one. */
  duplicates(): Promise<Record<string, number>>;
  /** Orders that arrived under one reference: the public id of a task. */
  countOrders(reference: string): Promise<number>;
  /** What was answered, by kind. */
  answered: { busy: number; broken: number; garbage: number; orders: number; polls: number };
  stop(): Promise<void>;
};

/** The demo vendor on a bad day. It counts what it took, never what it refused here. */
export async function startNoisyVendor(): Promise<NoisyVendor> {
  const vendor = createDemoVendor({ clock: systemClock });
  const answered = { busy: 0, broken: 0, garbage: 0, orders: 0, polls: 0 };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch(request) {
      if (Math.random() < BUSY) {
        answered.busy += 1;
        return Response.json({ error: { code: 'rate_limited' } }, { status: 429, headers: { 'retry-after': '1' } });
      }
      if (request.method === 'POST') answered.orders += 1;
      else {
        answered.polls += 1;
        const fate = Math.random();
        if (fate < BROKEN_POLL) {
          answered.broken += 1;
          return new Response('broken', { status: Math.random() < 0.5 ? 500 : 503 });
        }
        if (fate < BROKEN_POLL + GARBAGE_POLL) {
          answered.garbage += 1;
          return Math.random() < 0.5
            ? new Response('<html><body>It works!</body></html>', { headers: { 'content-type': 'text/html' } })
            : Response.json({ status: 'wobbling' });
        }
      }
      return vendor.handle(request);
    },
  });
  const url = `http://127.0.0.1:${server.port}`;
  const stats = async (query: string) =>
    (await (await vendor.handle(new Request(`${url}/stats${query}`))).json()) as Record<string, unknown>;
  return {
    url,
    answered,
    duplicates: async () => (await stats('')).duplicate_references as Record<string, number>,
    countOrders: async (reference) => Number((await stats(`?reference_id=${reference}`)).creates),
    stop: () => server.stop(true),
  };
}
