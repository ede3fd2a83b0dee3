import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second for its users, on every machine. */
const TICKS_PER_SECOND = 100;

type Stat = { parent: number; cpuTicks: number };

/**
 * Fields of /proc/PID/stat, counted behind the name in parentheses, which may hold anything.
 * Undefined: the process is gone.
 */
function readStat(pid: number, path = `/proc/${pid}/stat`): Stat | undefined {
  try {
    const text = readFileSync(path, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // State, parent, … own time in user and system mode, then that of children that have ended.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { parent: Number(fields[1]), cpuTicks: ticks };
  } catch {
    return undefined;
  }
}

/** A process and its direct children: the gateway and its sandbox processes. */
export function listFamily(pid: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return [pid, ...pids.map(Number).filter((candidate) => readStat(candidate)?.parent === pid)];
}

/** Processor seconds that a process and its children have used, ended children included. */
export const cpuSeconds = (pid: number): number =>
  listFamily(pid).reduce((sum, member) => sum + (readStat(member)?.cpuTicks ?? 0), 0) / TICKS_PER_SECOND;

/** Processor seconds of a process's main thread. */
export const threadSeconds = (pid: number): number =>
  (readStat(pid, `/proc/${pid}/task/${pid}/stat`)?.cpuTicks ?? 0) / TICKS_PER_SECOND;

/** How often threads of a process and its children went to sleep, and so were woken again. */
export const countWakeUps = (pid: number): number =>
  listFamily(pid)
    .flatMap((member) => listThreads(member).map((thread) => `/proc/${member}/task/${thread}/status`))
    .reduce((sum, path) => sum + readNumber(path, /^voluntary_ctxt_switches:\s+(\d+)/m), 0);

export type Memory = { processes: number; rssMb: number; pssMb: number };

/** Resident memory of a process and its children in MB (10^6); PSS counts what they share once. */
export function readMemory(pid: number): Memory {
  const family = listFamily(pid);
  const sum = (file: string, name: string) =>
    family.reduce(
      (total, member) => total + readNumber(`/proc/${member}/${file}`, new RegExp(`^${name}:\\s+(\\d+) kB`, 'm')),
      0,
    ) * 1024;
  return {
    processes: family.length,
    rssMb: sum('status', 'VmRSS') / 1e6,
    pssMb: sum('smaps_rollup', 'Pss') / 1e6,
  };
}

function listThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function readNumber(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The most memory that a process has had, in MB; 0 when it is gone. */
export function readPeakMb(pid: number): number {
  try {
    const [, kib = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) / 1024;
  } catch {
    return 0;
  }
}
