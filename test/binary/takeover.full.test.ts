import { afterEach, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { until } from '../support/until.ts';

/** The lease of a poll lasts this long, unless it is renewed. */
const LEASE_MS = 30_000;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A vendor that never answers the first poll of a job, and reports success at the second. */
function startVendor() {
  let asked = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch(request) {
      if (request.method === 'POST') return Response.json({ id: 'job_1', status: 'queued' });
      asked += 1;
      if (asked === 1) return new Promise<Response>(() => {});
      return Response.json({ id: 'job_1', status: 'succeeded', progress: 100, usage: { seconds: 5 } });
    },
  });
  closing.push(() => server.stop(true));
  return { url: server.url.origin, asked: () => asked };
}

const env = { TASK_POLL_INTERVAL_SECONDS: '1', LOG_LEVEL: 'warn' };
const start = async (options: Parameters<typeof startGateway>[0]): Promise<Gateway> => {
  const gateway = await startGateway({ env, ...options });
  closing.push(() => gateway.stop());
  return gateway;
};

/** A task whose poll is under way; gives its id and the key that may read it. */
async function pollOne(gateway: Gateway, vendor: ReturnType<typeof startVendor>) {
  const admin = await setUp(gateway);
  await admin.createChannel(vendor.url);
  const key = await admin.createKey();
  const { body } = await submit(gateway.url, key, { seconds: 5 });
  await until('the vendor is polled', () => vendor.asked() === 1);
  return { id: String(body.id), key };
}

test('SQLite: a killed node polls at once after its restart', async () => {
  const vendor = startVendor();
  const gateway = await start({});
  const { id, key } = await pollOne(gateway, vendor);
  await gateway.kill();
  const again = await start({ dataDir: gateway.dataDir });
  const readyAt = performance.now();
  await until('the vendor is polled again', () => vendor.asked() === 2);
  expect(performance.now() - readyAt).toBeLessThan(LEASE_MS / 2);
  expect((await waitForEnd(again.url, key, id)).status).toBe('SUCCESS');
});

test('PostgreSQL: the lease of a killed node lasts 30 seconds at most, then another node polls', async () => {
  const vendor = startVendor();
  const databaseUrl = await migratedDatabaseUrl();
  const first = await start({ databaseUrl });
  const { id, key } = await pollOne(first, vendor);
  const second = await start({ databaseUrl });
  await first.kill();
  const sql = new SQL(databaseUrl, { max: 1 });
  closing.push(() => sql.close());
  const [row] = await sql`SELECT lease_until - extract(epoch from now()) * 1000 AS left_ms FROM tasks`;
  expect(Number(row.left_ms)).toBeGreaterThan(0);
  expect(Number(row.left_ms)).toBeLessThanOrEqual(LEASE_MS);
  expect(vendor.asked()).toBe(1);
  // The test does not wait half a minute: it shifts the stored time.
  await sql`UPDATE tasks SET lease_until = 1 WHERE lease_until > 0`;
  expect((await waitForEnd(second.url, key, id)).status).toBe('SUCCESS');
  expect(vendor.asked()).toBe(2);
});
