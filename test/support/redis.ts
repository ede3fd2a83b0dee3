import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, connect as openSocket, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A Redis or Valkey server for tests. */
export type TestRedis = { url: string; stop(): Promise<void> };

/**
 * The server of `TEST_REDIS_URL` (its keys are shared with other tests: use random ones), or one started for the caller on a free
 * loopback port. Throws, saying what to install, when there is neither.
 */
export async function startRedis(): Promise<TestRedis> {
  const given = process.env.TEST_REDIS_URL;
  if (given) return { url: given, stop: () => Promise.resolve() };

  const binary = Bun.which('redis-server') ?? Bun.which('valkey-server');
  if (!binary) throw new Error('tests need Redis or Valkey: install redis-server or valkey, or set TEST_REDIS_URL');
  const dir = await mkdtemp(join(tmpdir(), 'taskgate-redis-'));
  const port = await freePort();
  const child = Bun.spawn(
    [binary, '--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', dir],
    { stdout: 'ignore', stderr: 'ignore' },
  );
  await until(() => canConnect(port));
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A way to a server that a test can cut and mend, as if the server had been killed and started again. */
export type Relay = { url: string; cut(): Promise<void>; mend(): Promise<void>; stop(): Promise<void> };

export async function startRelay(targetUrl: string): Promise<Relay> {
  const target = new URL(targetUrl);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = openSocket(Number(target.port || 6379), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('close', () => to.destroy());
      from.on('error', () => to.destroy());
    }
  });
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  await listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  const url = new URL(targetUrl);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);

  const cut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of open) socket.destroy();
      open.clear();
    });
  return { url: url.href, cut, mend: () => listen(address.port), stop: cut };
}

/** Resolves when `condition` holds; throws after ten seconds. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const end = performance.now() + 10_000; performance.now() < end; await Bun.sleep(20)) {
    if (await condition()) return;
  }
  throw new Error('the condition did not come true within ten seconds');
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = openSocket(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}
