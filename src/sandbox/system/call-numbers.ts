/**
 * System calls by their numbers in the kernel's tables (<asm/unistd_64.h>, <asm-generic/unistd.h>).
 * arm64 lacks those that a newer call replaces.
 */
type CallTable = Record<string, readonly [x64: number, arm64?: number]>;

/**
 * Computing in threads with memory, clocks and descriptors that are open already, and the event
 * loop and the alarm of the runtime.
 */
export const ALLOWED: CallTable = {
  read: [0, 63],
  write: [1, 64],
  futex: [202, 98],
  readv: [19, 65],
  writev: [20, 66],
  close: [3, 57],
  fstat: [5, 80],
  lseek: [8, 62],
  poll: [7],
  ppoll: [271, 73],
  mmap: [9, 222],
  munmap: [11, 215],
  mprotect: [10, 226],
  mremap: [25, 216],
  madvise: [28, 233],
  brk: [12, 214],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sigaltstack: [131, 132],
  restart_syscall: [219, 128],
  sched_yield: [24, 124],
  sched_getaffinity: [204, 123],
  set_robust_list: [273, 99],
  set_tid_address: [218, 96],
  rseq: [334, 293],
  membarrier: [324, 283],
  nanosleep: [35, 101],
  clock_nanosleep: [230, 115],
  clock_gettime: [228, 113],
  clock_getres: [229, 114],
  gettimeofday: [96, 169],
  time: [201],
  times: [100, 153],
  getpid: [39, 172],
  gettid: [186, 178],
  getrandom: [318, 278],
  getrusage: [98, 165],
  sysinfo: [99, 179],
  uname: [63, 160],
  exit: [60, 93],
  exit_group: [231, 94],
  alarm: [37],
  setitimer: [38, 103],
  epoll_wait: [232],
  epoll_pwait: [281, 22],
  epoll_pwait2: [441, 441],
  epoll_ctl: [233, 21],
  epoll_create1: [291, 20],
  eventfd2: [290, 19],
  timerfd_create: [283, 85],
  timerfd_settime: [286, 86],
};

/** Calls that are allowed with some arguments only. */
export const CONDITIONAL = {
  clone: [56, 220],
  clone3: [435, 435],
  tgkill: [234, 131],
  prlimit64: [302, 261],
  prctl: [157, 167],
} as const satisfies CallTable;

/** `column`: of the numbers. `audit`: how the kernel names the processor (<linux/audit.h>). */
export const PROCESSORS: Partial<Record<NodeJS.Architecture, { column: 0 | 1; audit: number }>> = {
  x64: { column: 0, audit: 0xc000003e },
  arm64: { column: 1, audit: 0xc00000b7 },
};
