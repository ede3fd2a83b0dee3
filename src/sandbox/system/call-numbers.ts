/**
 * System calls by their numbers in the kernel's tables (<asm/unistd_64.h>, <asm-generic/unistd.h>).
 * arm64 lacks those that a newer call replaces.
 */
export type CallTable = Record<string, readonly [x64: number, arm64?: number]>;

/** Computing in threads, with memory, clocks and descriptors that are open already. */
export const COMPUTING = {
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
} as const satisfies CallTable;

/** What the runtime of a sandbox process needs besides: its event loop and its alarm. */
export const RUNNING_HOOKS = {
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
} as const satisfies CallTable;

/** What a program needs besides, which Landlock keeps from other files: to start and to read. */
export const RUNNING_PROGRAMS = {
  access: [21],
  arch_prctl: [158],
  close_range: [436, 436],
  dup: [32, 23],
  dup2: [33],
  dup3: [292, 24],
  execve: [59, 221],
  faccessat: [269, 48],
  faccessat2: [439, 439],
  fadvise64: [221, 223],
  fstatfs: [138, 44],
  get_mempolicy: [239, 236],
  getcwd: [79, 17],
  getdents64: [217, 61],
  getegid: [108, 177],
  geteuid: [107, 175],
  getgid: [104, 176],
  getpgid: [121, 155],
  getpgrp: [111],
  getppid: [110, 173],
  getpriority: [140, 141],
  getrlimit: [97, 163],
  getuid: [102, 174],
  lstat: [6],
  newfstatat: [262, 79],
  open: [2],
  openat: [257, 56],
  pipe: [22],
  pipe2: [293, 59],
  pread64: [17, 67],
  preadv: [295, 69],
  pselect6: [270, 72],
  readlink: [89],
  readlinkat: [267, 78],
  sched_getparam: [143, 121],
  sched_getscheduler: [145, 120],
  select: [23],
  stat: [4],
  statfs: [137, 43],
  statx: [332, 291],
  wait4: [61, 260],
  prctl: [157, 167],
} as const satisfies CallTable;

/** Calls that are allowed with some arguments only. */
export const CONDITIONAL = {
  clone: [56, 220],
  clone3: [435, 435],
  tgkill: [234, 131],
  prlimit64: [302, 261],
  ioctl: [16, 29],
  fcntl: [72, 25],
  prctl: [157, 167],
} as const satisfies CallTable;

/** `column`: of the numbers. `audit`: how the kernel names the processor (<linux/audit.h>). */
export const PROCESSORS: Partial<Record<NodeJS.Architecture, { column: 0 | 1; audit: number }>> = {
  x64: { column: 0, audit: 0xc000003e },
  arm64: { column: 1, audit: 0xc00000b7 },
};
