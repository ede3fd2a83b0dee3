/** Two nodes are restarted in turns behind a proxy that follows /readyz: no request is lost. */
import { expect, test } from 'bun:test';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { until } from '../support/until.ts';

const REQUESTS = 10_000;
const CLIENTS = 16;
const CHECK_MS = 100;

/** Sends each request to the next node that was ready at its latest check. */
function startProxy(ports: readonly number[]) {
  const ready = new Set<number>();
  const stopping = new AbortController();
  const check = async (port: number) => {
    while (!stopping.signal.aborted) {
      const found = await fetch(`http://127.0.0.1:${port}/readyz`, { keepalive: false }).catch(() => undefined);
      if (found?.status === 200) ready.add(port);
      else ready.delete(port);
      await Bun.sleep(CHECK_MS);
    }
  };
  const checks = ports.map(check);
  let turn = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const nodes = [...ready];
      turn += 1;
      const { pathname } = new URL(request.url);
      return fetch(`http://127.0.0.1:${nodes[turn % nodes.length]}${pathname}`, { keepalive: false }).catch(
        (error) => new Response(String(error), { status: 502 }),
      );
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    ready,
    async stop() {
      stopping.abort();
      await Promise.all(checks);
      await server.stop(true);
    },
  };
}

test('a rolling restart of two nodes loses none of 10,000 requests', async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const env = { SHUTDOWN_DRAIN_SECONDS: '2' };
  const start = (port?: number) => startGateway({ databaseUrl, env, ...(port === undefined ? {} : { port }) });
  const nodes: Gateway[] = [await start(), await start()];
  const proxy = startProxy(nodes.map(({ port }) => port));
  try {
    await until('both are ready', async () => proxy.ready.size === 2);
    const statuses = new Map<number, number>();
    let sent = 0;
    let isRestarted = false;
    const client = async () => {
      // Until the last restart is over, and all requests have been sent.
      while (sent < REQUESTS || !isRestarted) {
        sent += 1;
        const { status } = await fetch(`${proxy.url}/livez`, { keepalive: false });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: CLIENTS }, client);
    for (const [index, { port }] of nodes.entries()) {
      expect(await nodes[index]?.stop()).toBe(0);
      nodes[index] = await start(port);
      await until('it is ready again', async () => proxy.ready.has(port));
    }
    isRestarted = true;
    await Promise.all(clients);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThanOrEqual(REQUESTS);
  } finally {
    await proxy.stop();
    await Promise.all(nodes.map((node) => node.stop()));
  }
});
