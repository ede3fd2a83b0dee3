import { performance } from 'node:perf_hooks';
import { ask } from '../../test/support/gateway.ts';
import type { Build } from '../builds.ts';
import { countDatabaseLocks } from '../count-database-locks.ts';
import { type Figure, lower, note, row } from '../figures.ts';
import type { Run } from '../part.ts';
import { countWakeUps, cpuSeconds, listFamily, readMemory } from '../read-processes.ts';
import { openStage, startBuild } from '../stage.ts';

/** Until everything that a start leaves to do is done. */
const SETTLE_MS = 10_000;
const WINDOW_MS = 20_000;
/**
 * Instead of ten minutes: the sandbox process ends after this long without a hook call. The first
 * is longer than all that is measured with the process.
 */
const SANDBOX_IDLE_SECONDS = { memory: 45, firstCall: 5 };
/** An earlier build keeps the process. */
const LONGEST_WAIT_MS = 15_000;
const CHECK_MS = 200;

/** What a gateway costs that was started and that nobody uses. */
export async function benchIdle({ build }: Run): Promise<Figure[]> {
  const gateway = await startBuild(build, { env: { SANDBOX_IDLE_SECONDS: String(SANDBOX_IDLE_SECONDS.memory) } });
  const { pid } = gateway;
  const started = performance.now();
  try {
    await Bun.sleep(SETTLE_MS);
    const memory = readMemory(pid);
    const work = await measureWork(pid);
    const locks = await countDatabaseLocks(pid);
    await waitForSandboxEnd(pid, started + SANDBOX_IDLE_SECONDS.memory * 1000 + LONGEST_WAIT_MS);
    const rest = readMemory(pid);
    const restWork = await measureWork(pid);
    return [
      ...row(
        'idle, all processes',
        [
          lower('PSS', memory.pssMb, 'MB'),
          lower('RSS', memory.rssMb, 'MB'),
          note('processes', memory.processes, ''),
          ...work,
          ...(locks === undefined ? [] : [lower('lock calls of the database', locks, '/s')]),
        ],
        { PSS: 70, 'processor a second': 2 },
      ),
      ...row(
        'idle for longer, the sandbox process has left',
        [
          lower('PSS', rest.pssMb, 'MB'),
          lower('RSS', rest.rssMb, 'MB'),
          note('processes', rest.processes, ''),
          ...restWork,
          lower('first hook call after it', await measureFirstCall(build), 'ms'),
        ],
        { PSS: 70, 'processor a second': 2, 'first hook call after it': 100 },
      ),
    ];
  } finally {
    await gateway.stop();
  }
}

/** What all processes do in the meantime. */
async function measureWork(pid: number) {
  const [cpuBefore, wakeUpsBefore] = [cpuSeconds(pid), countWakeUps(pid)];
  await Bun.sleep(WINDOW_MS);
  const seconds = WINDOW_MS / 1000;
  return [
    lower('processor a second', ((cpuSeconds(pid) - cpuBefore) * 1000) / seconds, 'ms'),
    lower('wake-ups', (countWakeUps(pid) - wakeUpsBefore) / seconds, '/s'),
  ];
}

/** A read that runs a hook, when no sandbox process is there. */
async function measureFirstCall(build: Build): Promise<number> {
  const idle = String(SANDBOX_IDLE_SECONDS.firstCall);
  const { gateway, key, submit, stop } = await openStage(build, { SANDBOX_IDLE_SECONDS: idle });
  try {
    const task = await submit('a lighthouse in the fog [file=1]');
    const deadline = performance.now() + SANDBOX_IDLE_SECONDS.firstCall * 1000 + LONGEST_WAIT_MS;
    await waitForSandboxEnd(gateway.pid, deadline);
    const begun = performance.now();
    const { status } = await ask(`${gateway.url}/v1/videos/${task}`, { token: key });
    if (status !== 200) throw new Error(`a video was answered ${status}`);
    return performance.now() - begun;
  } finally {
    await stop();
  }
}

async function waitForSandboxEnd(pid: number, deadline: number): Promise<void> {
  while (listFamily(pid).length > 1 && performance.now() < deadline) await Bun.sleep(CHECK_MS);
}
