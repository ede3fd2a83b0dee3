import { readFileSync } from 'node:fs';

/** Below this, some hundred clients that wait at once use up what the process may open. */
const ENOUGH_DESCRIPTORS = 4096;

type System = { platform: NodeJS.Platform; readLimits: () => string };

const thisSystem: System = { platform: process.platform, readLimits: () => readFileSync('/proc/self/limits', 'utf8') };

/**
 * What in this process's surroundings will cause trouble later, as sentences for the log of the
 * start.
 */
export function describeProcessLimits({ platform, readLimits }: System = thisSystem): string[] {
  if (platform !== 'linux') return [];
  let limits: string;
  try {
    limits = readLimits();
  } catch {
    return [
      '/proc is not mounted or cannot be read: the memory of plugin processes is not measured, so that their limits rest on WebAssembly alone, and limits of open files are not known; mount /proc',
    ];
  }
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(limits) ?? [];
  const descriptors = Number(soft);
  if (soft === 'unlimited' || !Number.isFinite(descriptors) || descriptors >= ENOUGH_DESCRIPTORS) return [];
  return [
    `this process may open ${descriptors} files and connections together, and a busy gateway needs ${ENOUGH_DESCRIPTORS} or more: raise LimitNOFILE of the service, ulimits of the container, or ulimit -n`,
  ];
}
