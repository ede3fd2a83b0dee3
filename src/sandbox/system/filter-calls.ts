import { ALLOWED, CONDITIONAL, PROCESSORS } from './call-numbers.ts';

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
export function filterCalls(architecture: NodeJS.Architecture, pid: number): Buffer | undefined {
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
