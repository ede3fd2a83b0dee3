import { CALL_TABLES, type CallTable } from './system-calls.ts';

/** Instructions of a filter (<linux/bpf_common.h>) and its verdicts (<linux/seccomp.h>). */
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_GREATER = 0x25;
const JUMP_IF_SET = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuse = (errno: number): number => 0x00050000 | errno;
const EPERM = 1;
const ENOSYS = 38;
/** In what a filter sees of a call: its number, the processor, the low half of each argument. */
const NUMBER_AT = 0;
const PROCESSOR_AT = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

/** A thread and not a process (<linux/sched.h>). */
const CLONE_THREAD = 0x10000;
/** Commands of fcntl up to this one copy and lock; the next ones set who is signalled. */
const F_SETLKW = 7;
const F_DUPFD_CLOEXEC = 1030;
/** Whether a descriptor is a terminal. Other commands reach devices, or set who is signalled. */
const TCGETS = 0x5401;
const TIOCGWINSZ = 0x5413;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** Allows a call if `test` holds for one of its arguments, or is refused. */
const onlyIf = (call: number, argument: number, tests: readonly Instruction[]): Instruction[] => [
  [JUMP_IF_EQUAL, 0, tests.length + 2, call],
  [LOAD, 0, 0, argumentAt(argument)],
  ...tests,
  [RETURN, 0, 0, refuse(EPERM)],
];

/** Allows if true; goes on with the next instruction otherwise. Two instructions. */
const allowIf = (code: number, value: number): Instruction[] => [
  [code, 0, 1, value],
  [RETURN, 0, 0, ALLOW],
];

/**
 * A filter of system calls as the kernel takes it: what is not in the table is refused, as is a new
 * process, a signal to another one, and another one's limits. Undefined: this processor has no
 * table.
 */
export function filterCalls(architecture: NodeJS.Architecture, pid: number): Buffer | undefined {
  const table = CALL_TABLES[architecture];
  return table && encode(instructionsOf(table, pid));
}

function instructionsOf({ audit, allowed, ...special }: CallTable, pid: number): Instruction[] {
  return [
    [LOAD, 0, 0, PROCESSOR_AT],
    [JUMP_IF_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER_AT],
    ...allowed.flatMap((call) => allowIf(JUMP_IF_EQUAL, call)),
    ...onlyIf(special.clone, 0, allowIf(JUMP_IF_SET, CLONE_THREAD)),
    // The filter cannot see the flags of this one; C libraries fall back to the other.
    [JUMP_IF_EQUAL, 0, 1, special.clone3],
    [RETURN, 0, 0, refuse(ENOSYS)],
    ...onlyIf(special.tgkill, 0, allowIf(JUMP_IF_EQUAL, pid)),
    ...onlyIf(special.prlimit64, 0, allowIf(JUMP_IF_EQUAL, 0)),
    ...onlyIf(special.ioctl, 1, [...allowIf(JUMP_IF_EQUAL, TCGETS), ...allowIf(JUMP_IF_EQUAL, TIOCGWINSZ)]),
    ...onlyIf(special.fcntl, 1, [
      ...allowIf(JUMP_IF_EQUAL, F_DUPFD_CLOEXEC),
      [JUMP_IF_GREATER, 1, 0, F_SETLKW],
      [RETURN, 0, 0, ALLOW],
    ]),
    [RETURN, 0, 0, refuse(EPERM)],
  ];
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
