/**
 * The entry of a child that gives up its rights and then becomes another program. Loads nothing of
 * the gateway: `main.ts` imports this file before anything else.
 */
import { readdirSync } from 'node:fs';
import { programRules } from '../system/filter-calls.ts';
import { installFilter } from '../system/install-filter.ts';
import { addressOf, cText, openSystem, type System } from '../system/open-system.ts';
import { NOT_CONFINED } from './exit-codes.ts';
import { restrictFiles } from './restrict-files.ts';
import type { ConfinedStart } from './types.ts';

/** Numbers of <sys/resource.h>, <sys/prctl.h> and <fcntl.h> of Linux. */
const LIMIT = { cpu: 0, fileSize: 1, core: 4, files: 7, memory: 9 } as const;
const PDEATHSIG = 1;
const NO_NEW_PRIVILEGES = 38;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const SIGKILL = 9n;
const LOWEST_PRIORITY = 19;
/** Enough to load a program's libraries one after the other. */
const MAX_FILES = 64;

/**
 * Becomes the program of `text`, a `ConfinedStart` as JSON: with its standard descriptors and no
 * others, an empty environment, no network, no files but those of the system and its input, no new
 * processes. Ends with `NOT_CONFINED` where the system cannot grant all of that.
 */
export function becomeProgram(text: string): never {
  const { path, args, cpuSeconds, memoryBytes }: ConfinedStart = JSON.parse(text);
  const system = process.platform === 'linux' ? openSystem() : undefined;
  if (!system) return refuse('only Linux can confine programs');
  // Dies with the gateway.
  system.prctl(PDEATHSIG, SIGKILL, 0n, 0n, 0n);
  system.setpriority(0, 0, LOWEST_PRIORITY);
  for (const name of readdirSync('/proc/self/fd')) {
    if (Number(name) > 2) system.fcntl(Number(name), F_SETFD, FD_CLOEXEC);
  }
  const limited =
    limit(system, LIMIT.core, 0) &&
    limit(system, LIMIT.fileSize, 0) &&
    limit(system, LIMIT.files, MAX_FILES) &&
    limit(system, LIMIT.cpu, cpuSeconds);
  if (!limited || system.prctl(NO_NEW_PRIVILEGES, 1n, 0n, 0n, 0n) !== 0) return refuse('limits cannot be set');
  if (!restrictFiles(system, { program: path, input: 0 }))
    return refuse('this kernel has no Landlock, or the program is not there');

  const texts = [path, ...args].map(cText);
  const argv = new BigUint64Array([...texts.map(addressOf), 0n]);
  const environment = new BigUint64Array([0n]);
  const program = cText(path);
  const memory = new BigUint64Array([BigInt(memoryBytes), BigInt(memoryBytes)]);
  const unfiltered = installFilter(system, programRules(process.pid));
  if (unfiltered !== undefined) return refuse(unfiltered);
  // From here on this process may get no memory any more, so nothing is computed.
  if (system.setrlimit(LIMIT.memory, memory) === 0) system.execve(program, argv, environment);
  return refuse('the program cannot be started');
}

function limit({ setrlimit }: System, resource: number, value: number): boolean {
  return setrlimit(resource, new BigUint64Array([BigInt(value), BigInt(value)])) === 0;
}

function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(NOT_CONFINED);
}
