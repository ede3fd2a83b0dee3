/**
 * A process of the tests that plays code with native reach in a sandbox process: it puts itself
 * under the same filter, then makes system calls by hand. Prints the errno of each, 0 for success.
 */
import { dlopen, ptr, read } from 'bun:ffi';
import { openSync } from 'node:fs';
import { confineProcess } from '../../src/sandbox/child/confine-process.ts';
import { LIBRARIES } from '../../src/sandbox/child/filter-system-calls.ts';

const open = () => {
  for (const library of LIBRARIES) {
    try {
      return dlopen(library, {
        syscall: { args: ['i64', 'i64', 'i64', 'i64', 'i64', 'i64'], returns: 'i64' },
        __errno_location: { args: [], returns: 'ptr' },
      }).symbols;
    } catch {
      // Try the next name.
    }
  }
  throw new Error('no C library');
};
const { syscall, __errno_location: errnoLocation } = open();

const text = (value: string): bigint => BigInt(ptr(kept(Buffer.from(`${value}\0`))));
const zeros = (bytes: number): bigint => BigInt(ptr(kept(Buffer.alloc(bytes))));
const buffers: Buffer[] = [];
const kept = (buffer: Buffer): Buffer => {
  buffers.push(buffer);
  return buffer;
};

const HERE = BigInt(-100);
const AF_UNIX = 1n;
const AF_INET = 2n;
const SIGCHLD = 17n;
const NEW_USER = 0x10000000n;
const NEW_NETWORK = 0x40000000n;
const CLONE_OF_THREADS = 0x3d0f00n;
const secret = openSync(import.meta.path, 'r');
const parent = BigInt(process.ppid);
const own = BigInt(process.pid);
/** A socket of the same kind as the channel, given as a descriptor. */
const channel = 3n;

type Attempt = readonly [x64: number | undefined, arm64: number | undefined, ...args: bigint[]];
const attempts: Record<string, Attempt> = {
  openat: [257, 56, HERE, text('/etc/passwd'), 0n],
  open: [2, undefined, text('/etc/passwd'), 0n],
  creat: [85, undefined, text('/tmp/escaped'), 0o600n],
  openat2: [437, 437, HERE, text('/etc/passwd'), zeros(24), 24n],
  open_by_handle_at: [304, 265, HERE, zeros(64), 0n],
  memfd_create: [319, 279, text('escaped'), 0n],
  memfd_secret: [447, 447, 0n],
  newfstatat: [262, 79, HERE, text('/etc/passwd'), zeros(256), 0n],
  stat: [4, undefined, text('/etc/passwd'), zeros(256)],
  statx: [332, 291, HERE, text('/etc/passwd'), 0n, 0xfffn, zeros(256)],
  faccessat: [269, 48, HERE, text('/etc/passwd'), 4n],
  readlinkat: [267, 78, HERE, text('/proc/self/exe'), zeros(256), 256n],
  getdents64: [217, 61, BigInt(secret), zeros(1024), 1024n],
  chdir: [80, 49, text('/etc')],
  unlinkat: [263, 35, HERE, text('/tmp/escaped'), 0n],
  mkdirat: [258, 34, HERE, text('/tmp/escaped-folder'), 0o700n],
  renameat2: [316, 276, HERE, text('/tmp/a'), HERE, text('/tmp/b'), 0n],
  fchmod: [91, 52, BigInt(secret), 0o777n],
  sendfile: [40, 71, channel, BigInt(secret), 0n, 16n],
  inotify_init1: [294, 26, 0n],
  fanotify_init: [300, 262, 0n, 0n],
  'socket, inet': [41, 198, AF_INET, 1n, 0n],
  'socket, unix': [41, 198, AF_UNIX, 1n, 0n],
  socketpair: [53, 199, AF_UNIX, 1n, 0n, zeros(8)],
  connect: [42, 203, channel, zeros(16), 16n],
  bind: [49, 200, channel, zeros(16), 16n],
  sendto: [44, 206, channel, zeros(16), 16n, 0n, zeros(16), 16n],
  sendmsg: [46, 211, channel, zeros(64), 0n],
  recvmsg: [47, 212, channel, zeros(64), 0x40n],
  execve: [59, 221, text('/bin/sh'), zeros(8), zeros(8)],
  execveat: [322, 281, HERE, text('/bin/sh'), zeros(8), zeros(8), 0n],
  fork: [57, undefined],
  vfork: [58, undefined],
  'clone, a process': [56, 220, SIGCHLD, 0n, 0n, 0n, 0n],
  'clone, a thread in a new network': [56, 220, CLONE_OF_THREADS | NEW_NETWORK, 0n, 0n, 0n, 0n],
  'clone3, a process': [435, 435, zeros(88), 88n],
  ptrace: [101, 117, 16n, parent, 0n, 0n],
  process_vm_readv: [310, 270, parent, zeros(16), 1n, zeros(16), 1n, 0n],
  process_vm_writev: [311, 271, parent, zeros(16), 1n, zeros(16), 1n, 0n],
  kcmp: [312, 272, own, parent, 0n, 0n, 0n],
  kill: [62, 129, parent, 0n],
  tgkill: [234, 131, parent, parent, 0n],
  rt_sigqueueinfo: [129, 138, parent, 0n, zeros(128)],
  pidfd_open: [434, 434, parent, 0n],
  pidfd_getfd: [438, 438, 0n, 0n, 0n],
  unshare: [272, 97, NEW_USER],
  setns: [308, 268, BigInt(secret), 0n],
  mount: [165, 40, text('none'), text('/tmp'), text('tmpfs'), 0n, 0n],
  chroot: [161, 51, text('/tmp')],
  pivot_root: [155, 41, text('/tmp'), text('/tmp')],
  io_uring_setup: [425, 425, 8n, zeros(120)],
  bpf: [321, 280, 0n, zeros(72), 72n],
  userfaultfd: [323, 282, 1n],
  perf_event_open: [298, 241, zeros(112), 0n, -1n, -1n, 0n],
  keyctl: [250, 219, 0n, -1n, 1n],
  add_key: [248, 217, text('user'), text('escaped'), zeros(8), 8n, -3n],
  shmget: [29, 194, 0n, 4096n, 0o1600n],
  msgget: [68, 186, 0n, 0o1600n],
  mq_open: [240, 180, text('escaped'), 0x42n, 0o600n, 0n],
  'prctl, the death of the parent': [157, 167, 1n, 0n],
  'prctl, core dumps': [157, 167, 4n, 1n],
  'prlimit64, a higher limit': [302, 261, 0n, 7n, zeros(16), 0n],
  'prlimit64, of the parent': [302, 261, parent, 7n, 0n, zeros(16)],
  setrlimit: [160, 164, 7n, zeros(16)],
  setuid: [105, 146, 0n],
  capset: [126, 91, zeros(8), zeros(24)],
  personality: [135, 92, 0xffffffffn],
  'ioctl, typing into a terminal': [16, 29, 0n, 0x5412n, zeros(8)],
  'fcntl, signals to another process': [72, 25, channel, 8n, parent],
  dup2: [33, undefined, channel, 9n],
  sethostname: [170, 161, text('escaped'), 7n],
  init_module: [175, 105, zeros(8), 8n, text('')],
  seccomp: [317, 277, 2n, 0n, zeros(8)],
  'open by the numbers of x32': [0x40000002, undefined, text('/etc/passwd'), 0n],
};

/** What a guest's process goes on doing. */
const needed: Record<string, Attempt> = {
  getpid: [39, 172],
  madvise: [28, 233, 0n, 0n, 4n],
  futex: [202, 98, zeros(8), 1n, 1n],
  getrandom: [318, 278, zeros(16), 16n, 0n],
  'tgkill, itself': [234, 131, own, own, 0n],
  'prlimit64, asking': [302, 261, 0n, 3n, 0n, zeros(16)],
  'prctl, the name of a thread': [157, 167, 15n, text('thread')],
};

function callErrno([x64, arm64, ...args]: Attempt): number | undefined {
  const call = process.arch === 'x64' ? x64 : arm64;
  if (call === undefined) return undefined;
  const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n] = args;
  const result = syscall(BigInt(call), a, b, c, d, e);
  return BigInt(result) < 0n ? read.i32(errnoLocation() as never) : 0;
}

const { filterCalls } = confineProcess();
const before = callErrno(attempts.openat as Attempt);
const unfiltered = filterCalls();
if (unfiltered !== undefined) throw new Error(unfiltered);
const all = (table: Record<string, Attempt>) =>
  Object.fromEntries(Object.entries(table).map(([name, attempt]) => [name, callErrno(attempt)]));
const report = JSON.stringify({ before, refused: all(attempts), allowed: all(needed), buffers: buffers.length });
process.stdout.write(`${report}\n`);
