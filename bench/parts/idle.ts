import { setUp } from '../../test/support/gateway.ts';
import { countDatabaseLocks } from '../count-database-locks.ts';
import { type Figure, lower, note, row } from '../figures.ts';
import type { Run } from '../part.ts';
import { countWakeUps, cpuSeconds, readMemory } from '../read-processes.ts';
import { startBuild } from '../stage.ts';

/** Until everything that a start leaves to do is done. */
const SETTLE_MS = 10_000;
const WINDOW_MS = 20_000;

/** What a gateway costs while nobody uses it. */
export async function benchIdle({ build }: Run): Promise<Figure[]> {
  const gateway = await startBuild(build);
  try {
    await setUp(gateway);
    await Bun.sleep(SETTLE_MS);
    const memory = readMemory(gateway.pid);
    const [cpuBefore, wakeUpsBefore] = [cpuSeconds(gateway.pid), countWakeUps(gateway.pid)];
    await Bun.sleep(WINDOW_MS);
    const seconds = WINDOW_MS / 1000;
    const cpuMs = ((cpuSeconds(gateway.pid) - cpuBefore) * 1000) / seconds;
    const wakeUps = (countWakeUps(gateway.pid) - wakeUpsBefore) / seconds;
    const locks = await countDatabaseLocks(gateway.pid);
    return row(
      'idle, all processes',
      [
        lower('PSS', memory.pssMb, 'MB'),
        lower('RSS', memory.rssMb, 'MB'),
        note('processes', memory.processes, ''),
        lower('processor a second', cpuMs, 'ms'),
        lower('wake-ups', wakeUps, '/s'),
        ...(locks === undefined ? [] : [lower('lock calls of the database', locks, '/s')]),
      ],
      { PSS: 70, 'processor a second': 2 },
    );
  } finally {
    await gateway.stop();
  }
}
