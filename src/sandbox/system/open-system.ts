import { dlopen, ptr } from 'bun:ffi';

/** Names of the C library, most likely first. */
export const LIBRARIES = ['libc.so.6', 'libc.so', `ld-musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`];

/**
 * The functions of the C library by which a process of Linux gives up rights and becomes another
 * program. Undefined where it cannot be loaded.
 */
export function openSystem() {
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, {
        setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
        setpriority: { args: ['i32', 'u32', 'i32'], returns: 'i32' },
        prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
        fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
        open: { args: ['ptr', 'i32'], returns: 'i32' },
        syscall: { args: ['i64', 'u64', 'u64', 'u64', 'u64'], returns: 'i64' },
        execve: { args: ['ptr', 'ptr', 'ptr'], returns: 'i32' },
      });
      return symbols;
    } catch {
      // Try the next name.
    }
  }
  return undefined;
}

export type System = NonNullable<ReturnType<typeof openSystem>>;

export const addressOf = (bytes: Uint8Array | BigUint64Array): bigint => BigInt(ptr(bytes));

export const cText = (text: string): Buffer => Buffer.from(`${text}\0`);
