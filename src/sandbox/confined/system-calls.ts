/**
 * The system calls that a program needs to read a file, compute in threads and write to what it was
 * given: nothing that opens a socket, starts a process, signals one, or changes who may do what.
 * The numbers are those of the kernel's tables for each processor.
 */
const X64 = [
  // read, write, open, close, stat, fstat, lstat, poll, lseek, mmap, mprotect, munmap, brk,
  // rt_sigaction, rt_sigprocmask, rt_sigreturn, pread64
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17,
  // readv, writev, access, pipe, select, sched_yield, mremap, madvise, dup, dup2, nanosleep, getpid
  19, 20, 21, 22, 23, 24, 25, 28, 32, 33, 35, 39,
  // execve, exit, wait4, uname, getcwd, readlink, gettimeofday, getrlimit, getrusage, sysinfo
  59, 60, 61, 63, 79, 89, 96, 97, 98, 99,
  // times
  100,
  // getuid, getgid, geteuid, getegid, getppid, getpgrp, getpgid, sigaltstack, statfs, fstatfs
  102, 104, 107, 108, 110, 111, 121, 131, 137, 138,
  // getpriority
  140,
  // sched_getparam, sched_getscheduler, prctl, arch_prctl, gettid, time, futex, sched_getaffinity
  143, 145, 157, 158, 186, 201, 202, 204,
  // getdents64, set_tid_address, restart_syscall, fadvise64, clock_gettime, clock_getres
  217, 218, 219, 221, 228, 229,
  // clock_nanosleep, exit_group, get_mempolicy, openat, newfstatat, readlinkat, faccessat
  230, 231, 239, 257, 262, 267, 269,
  // pselect6, ppoll, set_robust_list, dup3, pipe2, preadv, getrandom, membarrier, statx, rseq
  270, 271, 273, 292, 293, 295, 318, 324, 332, 334,
  // close_range, faccessat2
  436, 439,
] as const;

const ARM64 = [
  // getcwd, dup, dup3, statfs, fstatfs, faccessat, openat, close, pipe2, getdents64, lseek
  17, 23, 24, 43, 44, 48, 56, 57, 59, 61, 62,
  // read, write, readv, writev, pread64, preadv, pselect6, ppoll, readlinkat, newfstatat, fstat
  63, 64, 65, 66, 67, 69, 72, 73, 78, 79, 80,
  // exit, exit_group, set_tid_address, futex, set_robust_list, nanosleep, clock_gettime
  93, 94, 96, 98, 99, 101, 113,
  // clock_getres, clock_nanosleep, sched_getscheduler, sched_getparam, sched_getaffinity
  114, 115, 120, 121, 123,
  // sched_yield, restart_syscall, sigaltstack, rt_sigaction, rt_sigprocmask, rt_sigreturn
  124, 128, 132, 134, 135, 139,
  // getpriority, times, getpgid, uname, getrlimit, getrusage, prctl, gettimeofday, getpid, getppid
  141, 153, 155, 160, 163, 165, 167, 169, 172, 173,
  // getuid, geteuid, getgid, getegid, gettid, sysinfo, brk, munmap, mremap
  174, 175, 176, 177, 178, 179, 214, 215, 216,
  // execve, mmap, fadvise64, mprotect, madvise, get_mempolicy, wait4, getrandom, membarrier
  221, 222, 223, 226, 233, 236, 260, 278, 283,
  // statx, rseq, close_range, faccessat2
  291, 293, 436, 439,
] as const;

/** `audit`: how the kernel names the processor to a filter (<linux/audit.h>). */
export type CallTable = {
  audit: number;
  allowed: readonly number[];
  clone: number;
  clone3: number;
  fcntl: number;
  ioctl: number;
  prlimit64: number;
  tgkill: number;
};

export const CALL_TABLES: Partial<Record<NodeJS.Architecture, CallTable>> = {
  x64: { audit: 0xc000003e, allowed: X64, clone: 56, clone3: 435, fcntl: 72, ioctl: 16, prlimit64: 302, tgkill: 234 },
  arm64: {
    audit: 0xc00000b7,
    allowed: ARM64,
    clone: 220,
    clone3: 435,
    fcntl: 25,
    ioctl: 29,
    prlimit64: 261,
    tgkill: 131,
  },
};
