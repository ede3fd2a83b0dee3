import type { Build } from './builds.ts';
import { fillWithBilledCopies } from './fill-tasks.ts';
import { openStage } from './stage.ts';

const SUBMITTED = 200;

/**
 * The folder of a stopped gateway with about this many ended and paid tasks; its vendor serves
 * until `stop`.
 */
export async function fillStage(
  build: Build,
  tasks: number,
): Promise<{ dataDir: string; key: string; size: number; stop(): Promise<void> }> {
  const size = Math.max(SUBMITTED, tasks - (tasks % SUBMITTED));
  const stage = await openStage(build);
  try {
    for (let i = 0; i < SUBMITTED; i += 1) await stage.submit('a lighthouse in the fog [file=1]');
    await stage.gateway.stop();
    const { dataDir } = stage.gateway;
    fillWithBilledCopies(dataDir, size);
    return { dataDir, key: stage.key, size, stop: () => stage.stop() };
  } catch (error) {
    await stage.stop();
    throw error;
  }
}
