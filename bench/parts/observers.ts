import { request } from 'node:http';
import { ask } from '../../test/support/gateway.ts';
import { type Figure, higher, lower, row } from '../figures.ts';
import type { Run } from '../part.ts';
import { cpuSeconds, readMemory } from '../read-processes.ts';

import { openStage } from '../stage.ts';

const SECONDS = 10;
/** Requests that open at once. */
const OPENING = 32;
/** Tasks that are looked at, each by as many. */
const TASKS = 100;

/**
 * Streams of server-sent events held open at once: all of them must live to see the end of their
 * task.
 */
export async function benchObservers({ build, observers }: Run): Promise<Figure[]> {
  const most = String(observers);
  const stage = await openStage(build, {
    TASK_PLUGIN_PROTOCOL_GLOBAL_CONCURRENCY: most,
    TASK_PLUGIN_PROTOCOL_PLUGIN_CONCURRENCY: most,
    TASK_PLUGIN_PROTOCOL_USER_CONCURRENCY: most,
    TASK_PLUGIN_PROTOCOL_KEY_CONCURRENCY: most,
    SQLITE_SYNCHRONOUS: 'NORMAL',
  });
  const { gateway } = stage;
  const leaving = new AbortController();
  try {
    const ids = await Promise.all(
      Array.from({ length: TASKS }, () => stage.submit('a lighthouse in the fog [duration=3600]')),
    );
    const idle = readMemory(gateway.pid).rssMb;
    const heard: number[] = [];
    let next = 0;
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: OPENING }, async () => {
        for (let index = next++; index < observers; index = next++) {
          await open(`${gateway.url}/v1/tasks/${ids[index % TASKS]}/events`, {
            key: stage.key,
            signal: leaving.signal,
            heard,
          });
        }
      }),
    );
    const opened = (performance.now() - begun) / 1000;
    const cpuBefore = cpuSeconds(gateway.pid);
    await Bun.sleep(SECONDS * 1000);
    const cores = (cpuSeconds(gateway.pid) - cpuBefore) / SECONDS;
    const growth = readMemory(gateway.pid).rssMb - idle;
    const one = await ask(`${gateway.url}/v1/tasks/${ids[0]}/events`, { token: stage.key });
    if (one.status !== 429) throw new Error(`one observer too many was answered ${one.status}`);
    return row(
      `${observers.toLocaleString('en')} stream observers at once`,
      [
        higher('held', heard.length, ''),
        lower('opened in', opened, 's'),
        lower('processor', cores, 'cores'),
        lower('memory', growth, 'MB'),
        lower('memory each', (growth * 1000) / observers, 'KB'),
      ],
      { held: observers },
    );
  } finally {
    leaving.abort();
    await stage.stop();
  }
}

/**
 * Resolves with the first event; the stream is then read until the end of the bench. (`fetch` would
 * hold 256 at once and no more.)
 */
function open(url: string, observer: { key: string; signal: AbortSignal; heard: number[] }): Promise<void> {
  const { key, signal, heard } = observer;
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: { authorization: `Bearer ${key}` }, signal, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`an observer was answered ${response.statusCode}`));
      response.once('data', (chunk: Buffer) => {
        heard.push(chunk.byteLength);
        resolve();
      });
      response.on('close', () => {
        if (!signal.aborted) heard.pop();
      });
      response.on('error', () => {});
      response.resume();
    });
    asked.on('error', reject);
    asked.end();
  });
}
