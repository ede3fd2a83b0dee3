import { join } from 'node:path';
import pino from 'pino';
import { createMetrics } from '../../src/http/operator/metrics.ts';
import { newUuid, sha256Hex, systemClock } from '../../src/kernel/index.ts';
import type { PresentedKey, Store } from '../../src/store/ports/index.ts';
import { createLogger } from '../../src/telemetry/logging/logger.ts';
import { KEY } from './tables.ts';

const MINUTE_MS = 60_000;
/** Beyond what a bench sends: both are counted, and refuse nobody. */
const MOST_IN_A_MINUTE = 10_000_000;
const MOST_AT_ONCE = 1000;

type Options = { store: Store; folder: string; userId: number; walletId: number };

/**
 * Serves what any gateway does around a request: it reads key and owner, counts the requests of a
 * minute and those at once, observes two metrics and writes a line into the log. Prints its port.
 */
export async function serveByKey(
  { store, folder, userId, walletId }: Options,
  answer: (request: Request, key: PresentedKey) => Promise<Response>,
): Promise<void> {
  const destination = pino.destination({ dest: join(folder, 'least.log'), sync: false, minLength: 4096 });
  const logger = await createLogger({ level: 'info', pretty: false, colors: false, destination });
  const metrics = createMetrics();
  await store.apiKeys.insert({
    ...{ userId, walletId, name: 'least', keyHash: sha256Hex(KEY), prefix: KEY.slice(0, 7), status: 1 },
    ...{ unlimitedQuota: true, quota: 0, models: [], allowIps: [], expiresAt: 0, group: null },
    createdAt: systemClock.unix(),
  });
  const counts = new Map<number, { minute: number; started: number; running: number }>();

  async function admit(request: Request): Promise<Response> {
    const token = request.headers.get('authorization')?.slice('Bearer '.length) ?? '';
    const found = await store.apiKeys.byHash(sha256Hex(token), systemClock.unix());
    if (!found) return new Response(null, { status: 401 });
    const minute = Math.floor(systemClock.nowMs() / MINUTE_MS);
    const count = counts.get(found.key.id) ?? { minute, started: 0, running: 0 };
    counts.set(found.key.id, count);
    if (count.minute !== minute) Object.assign(count, { minute, started: 0 });
    if (count.started >= MOST_IN_A_MINUTE || count.running >= MOST_AT_ONCE) return new Response(null, { status: 429 });
    count.started += 1;
    count.running += 1;
    try {
      return await answer(request, found.key);
    } finally {
      count.running -= 1;
    }
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const began = systemClock.monotonicMs();
      const requestId = newUuid();
      const { method } = request;
      const path = new URL(request.url).pathname;
      const answered = await admit(request);
      const { status } = answered;
      const ms = systemClock.monotonicMs() - began;
      metrics.observe({ method, route: path, status, seconds: ms / 1000 });
      logger.info({ request_id: requestId, method, path, status, ms, ip: '127.0.0.1', user_id: userId }, 'request');
      return answered;
    },
  });
  process.stdout.write(`${server.port}\n`);
}
