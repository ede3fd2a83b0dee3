import { rm } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

/**
 * A Redis or Valkey server of one test alone, which may be killed, restarted on the same port and
 * data, and suspended.
 */
export type OwnRedis = {
  url: string;
  /** A connection of the test's own to look at what is stored. */
  look<T>(work: (redis: Redis) => Promise<T>): Promise<T>;
  kill(): Promise<void>;
  /** Starts it again with what was last saved to disk. */
  start(): Promise<void>;
  /** Holds the process still: connections stay open and nothing is answered. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
};

/** Started and answering. Throws, saying what to install, when no server is there. */
export async function startOwnRedis(): Promise<OwnRedis> {
  const binary = findProgram(['redis-server', 'valkey-server']);
  if (!binary) throw new Error('this test needs Redis or Valkey: install redis-server or valkey-server');
  const dir = temporaryFolder();
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child: Bun.Subprocess | undefined;

  async function look<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(url, { maxRetriesPerRequest: 1, retryStrategy: () => null });
    redis.on('error', () => {});
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }
  const answers = () =>
    look((redis) => redis.ping()).then(
      () => true,
      () => false,
    );
  async function start(): Promise<void> {
    const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', dir];
    child = Bun.spawn([binary ?? '', ...options], { stdout: 'ignore', stderr: 'ignore' });
    await until(answers);
  }
  async function kill(): Promise<void> {
    child?.kill('SIGKILL');
    await child?.exited;
  }
  await start();
  return {
    url,
    look,
    kill,
    start,
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
    async stop() {
      await kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
