import { request } from 'node:http';
import { ask } from '../test/support/gateway.ts';
import { cpuSeconds, readMemory } from './read-processes.ts';
import { atLeast, type Row } from './row.ts';
import { openStage } from './stage.ts';

const OBSERVERS = 2000;
const SECONDS = 10;
/** Requests that open at once. */
const OPENING = 32;
/** Tasks that are looked at, each by as many. */
const TASKS = 100;

/**
 * Streams of server-sent events held open at once: all of them must live to see the end of their
 * task.
 */
export async function benchObservers(): Promise<Row[]> {
  const most = String(OBSERVERS);
  const stage = await openStage({
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
        for (let index = next++; index < OBSERVERS; index = next++) {
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
    const kb = (growth * 1000) / OBSERVERS;
    return [
      {
        what: `${OBSERVERS.toLocaleString('en')} stream observers at once`,
        measured: `opened in ${opened.toFixed(1)} s; ${cores.toFixed(2)} cores; ${kb.toFixed(0)} KB each`,
        aim: atLeast(heard.length, OBSERVERS, 'held'),
        figures: { held: heard.length, opening_s: opened, cores, kb_each: kb },
      },
    ];
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
