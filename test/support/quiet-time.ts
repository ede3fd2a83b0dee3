/**
 * How long `work` would take on a machine that has nothing else to do, in milliseconds: its time on
 * the clock, divided by how much longer work of this process takes just before and after it than
 * the processor time that it needs. The least of `rounds`; the first below `limitMs` is enough.
 */
export async function quietMs(work: () => unknown, { limitMs, rounds = 7 }: { limitMs: number; rounds?: number }) {
  let best = Number.POSITIVE_INFINITY;
  let before = measureDelay();
  for (let round = 0; round < rounds && best >= limitMs; round += 1) {
    const begun = performance.now();
    await work();
    const took = performance.now() - begun;
    const after = measureDelay();
    best = Math.min(best, took / Math.max(before, after));
    before = after;
  }
  return best;
}

/** Long enough that others get their turns of the processor. */
const SAMPLE_MS = 40;

/** How many times longer than their processor time some calculations take now; at least 1. */
function measureDelay(): number {
  const begun = performance.now();
  const { user, system } = process.threadCpuUsage();
  let used = 0;
  while (used < SAMPLE_MS) {
    const now = process.threadCpuUsage();
    used = (now.user - user + now.system - system) / 1000;
  }
  return Math.max(1, (performance.now() - begun) / used);
}
