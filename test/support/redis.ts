import { rm } from 'node:fs/promises';
import { connect as openSocket } from 'node:net';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

/** A Redis or Valkey server for tests. */
export type TestRedis = { url: string; stop(): Promise<void> };

/**
 * The server of `TEST_REDIS_URL` (its keys are shared with other tests: use random ones), or one
 * started for the caller on a free loopback port. Throws, saying what to install, when there is
 * neither.
 */
export async function startRedis(): Promise<TestRedis> {
  const given = process.env.TEST_REDIS_URL;
  if (given) return { url: given, stop: () => Promise.resolve() };

  const binary = Bun.which('redis-server') ?? Bun.which('valkey-server');
  if (!binary) throw new Error('tests need Redis or Valkey: install redis-server or valkey, or set TEST_REDIS_URL');
  const dir = temporaryFolder();
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

/**
 * The URL of a Redis server on which the gateway waits for every answer without limit. By default
 * it continues without the answer after half a second, which a busy machine sometimes exceeds.
 * Options in the URL override the gateway's own, and a value that is not a number means no limit.
 */
export function withoutTimeout(redisUrl: string): string {
  const url = new URL(redisUrl);
  url.searchParams.set('commandTimeout', 'none');
  return url.href;
}
