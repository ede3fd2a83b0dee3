import { dlopen } from 'bun:ffi';
import { setTimeZone } from 'bun:jsc';

/** Numbers of `RLIMIT_*` from <sys/resource.h>; they differ between systems. */
const LIMITS: Record<string, { libraries: string[]; fileSize: number; core: number; files: number }> = {
  linux: { libraries: ['libc.so.6', 'libc.so'], fileSize: 1, core: 4, files: 7 },
  darwin: { libraries: ['libSystem.B.dylib'], fileSize: 1, core: 4, files: 8 },
};
/** Enough for the channel, the three standard descriptors and those of the runtime. */
const MAX_FILES = 32;
/** prctl(2): sets the signal that a process gets when its parent dies. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9n;

/** Ends the process after this many seconds, whatever it is doing; 0 cancels the alarm. */
export type SetAlarm = (seconds: number) => void;

/**
 * Restricts this process to what a sandbox needs: no core dumps, no writing of files, few
 * descriptors, UTC as the time zone, and death with its parent. Where the C library cannot be
 * loaded, the process runs without these restrictions. Neither the parent's deadline nor the
 * guest's isolation depends on them.
 */
export function confineProcess(): SetAlarm {
  setTimeZone('Etc/UTC');
  const limits = LIMITS[process.platform];
  for (const library of limits?.libraries ?? []) {
    try {
      return limits ? confineWith(library, limits) : () => {};
    } catch {
      // Try the next name.
    }
  }
  return () => {};
}

function confineWith(library: string, limits: { fileSize: number; core: number; files: number }): SetAlarm {
  const { symbols } = dlopen(library, {
    setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
    alarm: { args: ['u32'], returns: 'u32' },
  });
  const setLimit = (resource: number, value: number) =>
    symbols.setrlimit(resource, new BigUint64Array([BigInt(value), BigInt(value)]));
  setLimit(limits.core, 0);
  setLimit(limits.fileSize, 0);
  setLimit(limits.files, MAX_FILES);
  if (process.platform === 'linux') {
    const { symbols: linux } = dlopen(library, {
      prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
    });
    linux.prctl(PR_SET_PDEATHSIG, SIGKILL, 0n, 0n, 0n);
  }
  return (seconds) => {
    symbols.alarm(seconds);
  };
}
