import { statSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { freePort } from '../test/support/free-port.ts';
import { BINARY, temporaryFolder } from '../test/support/gateway.ts';
import { readMemory } from './read-processes.ts';
import { atMost, percentile, type Row } from './row.ts';

const STARTS = 10;
const IDLE_MS = 5_000;
/** A gateway that is not up by then never will be. */
const GIVE_UP_MS = 20_000;

type Started = { announcedMs: number; readyMs: number; pid: number; stop(): Promise<void> };

/**
 * Cold starts in an empty data directory, the memory of an idle gateway with its sandbox, the size
 * of the executable.
 */
export async function benchStart(): Promise<Row[]> {
  const announced: number[] = [];
  const ready: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const gateway = await start();
    announced.push(gateway.announcedMs);
    ready.push(gateway.readyMs);
    await gateway.stop();
  }
  const gateway = await start();
  await Bun.sleep(IDLE_MS);
  const memory = readMemory(gateway.pid);
  await gateway.stop();

  const readyMs = percentile(ready, 0.5);
  const announcedMs = percentile(announced, 0.5);
  const binaryMb = statSync(BINARY).size / 1e6;
  return [
    {
      what: 'cold start, empty data directory',
      measured: `${readyMs.toFixed(0)} ms to /readyz, ${announcedMs.toFixed(0)} ms to the announcement (median of ${STARTS})`,
      aim: atMost(readyMs, 200, 'ms'),
      figures: { ready_ms: readyMs, announced_ms: announcedMs, fastest_ready_ms: Math.min(...ready) },
    },
    {
      what: 'idle memory of all processes',
      measured: `${memory.rssMb.toFixed(0)} MB RSS, ${memory.pssMb.toFixed(0)} MB PSS in ${memory.processes} processes`,
      aim: atMost(memory.rssMb, 120, 'MB'),
      figures: { rss_mb: memory.rssMb, pss_mb: memory.pssMb, processes: memory.processes },
    },
    { what: 'executable', measured: `${binaryMb.toFixed(1)} MB`, figures: { mb: binaryMb } },
  ];
}

async function start(): Promise<Started> {
  const [dataDir, port] = [temporaryFolder(), await freePort()];
  const begun = performance.now();
  const child = Bun.spawn([BINARY, 'serve', '--json', '--port', String(port), '--data-dir', dataDir], {
    cwd: dataDir,
    env: { LOG_FORMAT: 'json' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const [announcedMs, readyMs] = await Promise.all([
    firstByte(child.stdout).then(() => performance.now() - begun),
    answersReady(`http://127.0.0.1:${port}/readyz`, begun + GIVE_UP_MS).then(() => performance.now() - begun),
  ]);
  return {
    announcedMs,
    readyMs,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

/** The announcement is the first thing that a gateway prints. */
async function firstByte(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader();
  await reader.read();
  reader.releaseLock();
}

async function answersReady(url: string, deadline: number): Promise<void> {
  while (performance.now() < deadline) {
    const status = await fetch(url).then(
      async (response) => {
        await response.body?.cancel();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return;
    await Bun.sleep(5);
  }
  throw new Error('a gateway did not become ready');
}
