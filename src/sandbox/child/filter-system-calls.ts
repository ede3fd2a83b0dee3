import { ptr } from 'bun:ffi';

/** Names of the C library, most likely first. */
export const LIBRARIES = ['libc.so.6', 'libc.so', `ld-musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`];

/** Numbers of <sys/prctl.h> and <linux/seccomp.h>. */
const NO_NEW_PRIVILEGES = 38;
const SET_MODE_FILTER = 1n;
const ALL_THREADS = 1n;
const SECCOMP: Partial<Record<NodeJS.Architecture, bigint>> = { x64: 317n, arm64: 277n };

/** Functions of the C library. */
type System = {
  prctl(option: number, ...values: [bigint, bigint, bigint, bigint]): number;
  syscall(call: bigint, ...values: [bigint, bigint, bigint, bigint]): bigint;
};

const readAddress = (bytes: Uint8Array): bigint => BigInt(ptr(bytes));

/**
 * Filters the system calls of all threads of this process, and of those that they start, until the
 * process ends. Returns why that is not possible here, if it is not.
 */
export function installFilter({ prctl, syscall }: System): string | undefined {
  const filter = filterCalls(process.arch, process.pid);
  const call = SECCOMP[process.arch];
  if (!filter || call === undefined) return `the system calls of this processor (${process.arch}) are not known`;
  const program = Buffer.alloc(16);
  program.writeUInt16LE(filter.length / 8, 0);
  program.writeBigUInt64LE(readAddress(filter), 8);
  const isInstalled =
    prctl(NO_NEW_PRIVILEGES, 1n, 0n, 0n, 0n) === 0 &&
    syscall(call, SET_MODE_FILTER, ALL_THREADS, readAddress(program), 0n) === 0n &&
    // Read after the call, so that the kernel never reads memory that was collected.
    filter.length + program.length > 0;
  return isInstalled ? undefined : 'this kernel has no filter of system calls (seccomp)';
}

/** Instructions of a filter (<linux/bpf_common.h>) and its verdicts (<linux/seccomp.h>). */
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_SET = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuse = (errno: number): number => 0x00050000 | errno;
const EPERM = 1;
const ENOSYS = 38;
/** In what a filter sees of a call: its number, the processor, the halves of each argument. */
const NUMBER_AT = 0;
const PROCESSOR_AT = 4;
const lowHalfAt = (argument: number): number => 16 + 8 * argument;
const highHalfAt = (argument: number): number => 20 + 8 * argument;

/** Numbers of <linux/sched.h>: a thread and not a process, and all new namespaces. */
const CLONE_THREAD = 0x10000;
const CLONE_NEW_NAMESPACES = 0x7e020000;
/** Names of a thread and of a piece of memory (<linux/prctl.h>). */
const PR_SET_NAME = 15;
const PR_SET_VMA = 0x53564d41;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const load = (at: number): Instruction => [LOAD, 0, 0, at];

/** Allows if true; goes on with the next instruction otherwise. Two instructions. */
const allowIf = (code: number, value: number): Instruction[] => [
  [code, 0, 1, value],
  [RETURN, 0, 0, ALLOW],
];

/** Refuses if this half of an argument is set; goes on with the next instruction otherwise. */
const refuseUnlessZero = (at: number): Instruction[] => [
  load(at),
  [JUMP_IF_EQUAL, 1, 0, 0],
  [RETURN, 0, 0, refuse(EPERM)],
];

const startsThread: readonly Instruction[] = [
  load(lowHalfAt(0)),
  [JUMP_IF_SET, 0, 1, CLONE_NEW_NAMESPACES],
  [RETURN, 0, 0, refuse(EPERM)],
  ...allowIf(JUMP_IF_SET, CLONE_THREAD),
];
const firstIs = (...values: number[]): Instruction[] => [
  load(lowHalfAt(0)),
  ...values.flatMap((value) => allowIf(JUMP_IF_EQUAL, value)),
];

/** Conditions on arguments; a call that no instruction of its own allows is refused. */
const conditionsFor = (pid: number): Partial<Record<keyof typeof CONDITIONAL, readonly Instruction[]>> => ({
  clone: startsThread,
  tgkill: firstIs(pid),
  // It may ask for its own limits, which a new thread's stack follows, and set none.
  prlimit64: [...refuseUnlessZero(lowHalfAt(2)), ...refuseUnlessZero(highHalfAt(2)), ...firstIs(0)],
  prctl: firstIs(PR_SET_NAME, PR_SET_VMA),
});

/**
 * The filter of system calls, as the kernel takes it, of a sandbox process that has loaded its
 * engine: it reads and writes its channel, and computes in threads of its own. It opens nothing,
 * and can neither read more of the system nor raise a limit. Undefined: this processor has no
 * table.
 */
function filterCalls(architecture: NodeJS.Architecture, pid: number): Buffer | undefined {
  const processor = PROCESSORS[architecture];
  if (!processor) return undefined;
  const { column, audit } = processor;
  const allowed = Object.values(ALLOWED).flatMap((numbers) => numbers[column] ?? []);
  return encode([
    [LOAD, 0, 0, PROCESSOR_AT],
    [JUMP_IF_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER_AT],
    ...allowed.flatMap((call) => allowIf(JUMP_IF_EQUAL, call)),
    // The filter cannot see the flags of this one; C libraries fall back to the other.
    [JUMP_IF_EQUAL, 0, 1, CONDITIONAL.clone3[column]],
    [RETURN, 0, 0, refuse(ENOSYS)],
    ...Object.entries(conditionsFor(pid)).flatMap(([name, tests]): Instruction[] => [
      [JUMP_IF_EQUAL, 0, tests.length + 1, CONDITIONAL[name as keyof typeof CONDITIONAL][column]],
      ...tests,
      [RETURN, 0, 0, refuse(EPERM)],
    ]),
    [RETURN, 0, 0, refuse(EPERM)],
  ]);
}

/** Eight bytes each: u16 code, u8 and u8 jumps, u32 value. */
function encode(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(8 * instructions.length);
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    const at = 8 * index;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value, at + 4);
  }
  return bytes;
}

/**
 * System calls by their numbers in the kernel's tables (<asm/unistd_64.h>, <asm-generic/unistd.h>).
 * arm64 lacks those that a newer call replaces.
 */
type CallTable = Record<string, readonly [x64: number, arm64?: number]>;

/**
 * Computing in threads with memory, clocks and descriptors that are open already, and the event
 * loop and the alarm of the runtime.
 */
const ALLOWED: CallTable = {
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
const CONDITIONAL = {
  clone: [56, 220],
  clone3: [435, 435],
  tgkill: [234, 131],
  prlimit64: [302, 261],
  prctl: [157, 167],
} as const satisfies CallTable;

/** `column`: of the numbers. `audit`: how the kernel names the processor (<linux/audit.h>). */
const PROCESSORS: Partial<Record<NodeJS.Architecture, { column: 0 | 1; audit: number }>> = {
  x64: { column: 0, audit: 0xc000003e },
  arm64: { column: 1, audit: 0xc00000b7 },
};
