import { dlopen } from 'bun:ffi';
import { setTimeZone } from 'bun:jsc';
import { installFilter, LIBRARIES } from './filter-system-calls.ts';

/** Numbers of `RLIMIT_*` from <sys/resource.h>; they differ between systems. */
const LIMITS: Record<string, { libraries: readonly string[]; fileSize: number; core: number; files: number }> = {
  linux: { libraries: LIBRARIES, fileSize: 1, core: 4, files: 7 },
  darwin: { libraries: ['libSystem.B.dylib'], fileSize: 1, core: 4, files: 8 },
};
/** Enough for the channel, the three standard descriptors and those of the runtime. */
const MAX_FILES = 32;
/** prctl(2): sets the signal that a process gets when its parent dies. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9n;

export type Confinement = {
  /** Ends the process after this many seconds, whatever it is doing; 0 cancels the alarm. */
  setAlarm(seconds: number): void;
  /**
   * Takes all system calls from this process but those that hooks need. What it opens
   * and loads, it opens and loads before. Returns why that is not possible here, if it is not.
   */
  filterCalls(): string | undefined;
};

const ONLY_LINUX = 'only Linux can take system calls from a process';
const UNCONFINED: Confinement = {
  setAlarm() {},
  filterCalls: () => (process.platform === 'linux' ? 'the C library cannot be loaded' : ONLY_LINUX),
};

/**
 * Restricts this process to what a sandbox needs: no core dumps, no writing of files, few
 * descriptors, UTC as the time zone, and death with its parent. Where the C library cannot be
 * loaded, the process runs without these restrictions. Neither the parent's deadline nor the
 * guest's isolation depends on them.
 */
export function confineProcess(): Confinement {
  setTimeZone('Etc/UTC');
  // The runtime reads the system's time zone once, although it is replaced.
  new Date(0).getTimezoneOffset();
  const limits = LIMITS[process.platform];
  for (const library of limits?.libraries ?? []) {
    try {
      return limits ? confineWith(library, limits) : UNCONFINED;
    } catch {
      // Try the next name.
    }
  }
  return UNCONFINED;
}

function confineWith(library: string, limits: { fileSize: number; core: number; files: number }): Confinement {
  const { symbols } = dlopen(library, {
    setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
    alarm: { args: ['u32'], returns: 'u32' },
  });
  const setLimit = (resource: number, value: number) =>
    symbols.setrlimit(resource, new BigUint64Array([BigInt(value), BigInt(value)]));
  setLimit(limits.core, 0);
  setLimit(limits.fileSize, 0);
  setLimit(limits.files, MAX_FILES);
  const setAlarm = (seconds: number): void => void symbols.alarm(seconds);
  if (process.platform !== 'linux') return { setAlarm, filterCalls: () => ONLY_LINUX };
  const { symbols: linux } = dlopen(library, {
    prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
    syscall: { args: ['i64', 'u64', 'u64', 'u64', 'u64'], returns: 'i64' },
  });
  linux.prctl(PR_SET_PDEATHSIG, SIGKILL, 0n, 0n, 0n);
  return { setAlarm, filterCalls: () => installFilter(linux) };
}
