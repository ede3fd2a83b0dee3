/**
 * Processor time of this process in milliseconds that `work` takes, the least of `runs`: unlike
 * time on the clock, it stays the same on a busy machine.
 */
export function processorMs(work: () => void, runs = 1): number {
  const times = Array.from({ length: runs }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}
