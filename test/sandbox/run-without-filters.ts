/** Becomes the program of its arguments, on a kernel that seems to have no seccomp(2). */
import { dlopen, ptr } from 'bun:ffi';
import { LIBRARIES } from '../../src/sandbox/child/filter-system-calls.ts';

function openSystem() {
  for (const library of LIBRARIES) {
    try {
      return dlopen(library, {
        prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
        execve: { args: ['ptr', 'ptr', 'ptr'], returns: 'i32' },
      }).symbols;
    } catch {
      // Try the next name.
    }
  }
  return undefined;
}
const readAddress = (bytes: Uint8Array): bigint => BigInt(ptr(bytes));

const [CALL, AUDIT] = process.arch === 'x64' ? [317, 0xc000003e] : [277, 0xc00000b7];
const instructions: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
  [0x20, 0, 0, 4],
  [0x15, 0, 3, AUDIT],
  [0x20, 0, 0, 0],
  [0x15, 0, 1, CALL],
  // ENOSYS
  [0x06, 0, 0, 0x00050000 | 38],
  [0x06, 0, 0, 0x7fff0000],
];
const filter = Buffer.alloc(8 * instructions.length);
for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
  filter.writeUInt16LE(code, 8 * index);
  filter.writeUInt8(ifTrue, 8 * index + 2);
  filter.writeUInt8(ifFalse, 8 * index + 3);
  filter.writeUInt32LE(value, 8 * index + 4);
}
const system = openSystem();
if (!system) throw new Error('no C library');
const head = Buffer.alloc(16);
head.writeUInt16LE(instructions.length, 0);
head.writeBigUInt64LE(readAddress(filter), 8);
const texts = process.argv.slice(2).map((text) => Buffer.from(`${text}\0`));
const argv = new BigUint64Array([...texts.map(readAddress), 0n]);
const environment = new BigUint64Array([0n]);
system.prctl(38, 1n, 0n, 0n, 0n);
if (system.prctl(22, 2n, readAddress(head), 0n, 0n) !== 0) throw new Error('the filter was refused');
system.execve(texts[0] as Buffer, argv, environment);
throw new Error(`not started: ${filter.length}`);
