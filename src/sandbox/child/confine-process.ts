import { dlopen } from 'bun:ffi';
import { setTimeZone } from 'bun:jsc';

/** `RLIMIT_*` of <sys/resource.h>; the numbers differ between systems. */
const LIMITS: Record<string, { libraries: string[]; fileSize: number; core: number; files: number }> = {
  linux: { libraries: ['libc.so.6', 'libc.so'], fileSize: 1, core: 4, files: 7 },
  darwin: { libraries: ['libSystem.B.dylib'], fileSize: 1, core: 4, files: 8 },
};
/** The channel, the three standard descriptors and what the runtime holds open itself. */
const MAX_FILES = 32;
/** prctl(2): the signal a process gets when its parent dies. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9n;

/** Ends the process after so many seconds, whatever it is doing; 0 calls that off. */
export type Fuse = (seconds: number) => void;

/**
 * Takes from this process what a sandbox does not need: core dumps, files, more descriptors, a life
 * beyond its parent's, the machine's time zone. Where the system's library cannot be loaded the
 * process runs without these; the parent's clock and the guest's own walls do not depend on them.
 */
export function confineProcess(): Fuse {
  setTimeZone('Etc/UTC');
  const limits = LIMITS[process.platform];
  for (const library of limits?.libraries ?? []) {
    try {
      return limits ? confineBy(library, limits) : () => {};
    } catch {
      // The next name is tried.
    }
  }
  return () => {};
}

function confineBy(library: string, limits: { fileSize: number; core: number; files: number }): Fuse {
  const { symbols } = dlopen(library, {
    setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
    alarm: { args: ['u32'], returns: 'u32' },
  });
  const limit = (what: number, value: number) =>
    symbols.setrlimit(what, new BigUint64Array([BigInt(value), BigInt(value)]));
  limit(limits.core, 0);
  limit(limits.fileSize, 0);
  limit(limits.files, MAX_FILES);
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
