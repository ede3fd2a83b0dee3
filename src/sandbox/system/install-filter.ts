import { ptr } from 'bun:ffi';
import { filterCalls } from './filter-calls.ts';

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
