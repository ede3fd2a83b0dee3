import { addressOf, cText, type System } from '../system/open-system.ts';

/** Numbers of Landlock's calls; the same on every processor. */
const CREATE_RULESET = 444n;
const ADD_RULE = 445n;
const RESTRICT_SELF = 446n;
const ASK_VERSION = 1n;
const PATH_BENEATH = 1n;

/** Rights of <linux/landlock.h>. */
const EXECUTE = 1n << 0n;
const READ_FILE = 1n << 2n;
const READ_DIR = 1n << 3n;
/** Everything that the first version can refuse, and what later ones added. */
const FIRST_RIGHTS = (1n << 13n) - 1n;
const REFER = 1n << 13n;
const TRUNCATE = 1n << 14n;
const DEVICE_CONTROL = 1n << 15n;
const ALL_NETWORK = 3n;
const ALL_SCOPES = 3n;

/** Opened for rules alone, and not for the program. */
const O_PATH_CLOEXEC = 0x280000;

/** Where programs and their libraries are. Configuration, devices and data are elsewhere. */
const SYSTEM_FOLDERS = ['/bin', '/lib', '/lib64', '/usr/bin', '/usr/lib', '/usr/lib64', '/usr/local/lib'];
const STORE_FOLDERS = ['/nix/store', '/gnu/store'];
const LOADER_FILES = ['/etc/ld.so.cache', '/etc/ld-musl-x86_64.path', '/etc/ld-musl-aarch64.path'];

/**
 * Takes from this process, and from the program that it becomes, all files but those of the
 * system's programs, `program` itself and what is open as `input`. Returns false where the kernel
 * cannot.
 */
export function restrictFiles(system: System, { program, input }: { program: string; input: number }): boolean {
  const version = system.syscall(CREATE_RULESET, 0n, 0n, ASK_VERSION, 0n);
  if (version < 1n) return false;
  let rights = FIRST_RIGHTS;
  if (version >= 2n) rights |= REFER;
  if (version >= 3n) rights |= TRUNCATE;
  if (version >= 5n) rights |= DEVICE_CONTROL;
  const handled = new BigUint64Array([rights, version >= 4n ? ALL_NETWORK : 0n, version >= 6n ? ALL_SCOPES : 0n]);
  // Older kernels refuse fields that they do not know.
  const size = version >= 6n ? 24n : version >= 4n ? 16n : 8n;
  const rules = system.syscall(CREATE_RULESET, addressOf(handled), size, 0n, 0n);
  if (rules < 0n) return false;

  const allow = (descriptor: number, allowed: bigint): boolean => {
    const rule = Buffer.alloc(12);
    rule.writeBigUInt64LE(allowed, 0);
    rule.writeInt32LE(descriptor, 8);
    return system.syscall(ADD_RULE, rules, PATH_BENEATH, addressOf(rule), 0n) === 0n;
  };
  const allowPath = (path: string, allowed: bigint): boolean => {
    const text = cText(path);
    const descriptor = system.open(text, O_PATH_CLOEXEC);
    return descriptor >= 0 && allow(descriptor, allowed);
  };
  for (const folder of [...SYSTEM_FOLDERS, ...STORE_FOLDERS]) allowPath(folder, EXECUTE | READ_FILE | READ_DIR);
  for (const file of LOADER_FILES) allowPath(file, READ_FILE);
  if (!allowPath(program, EXECUTE | READ_FILE) || !allow(input, READ_FILE)) return false;
  return system.syscall(RESTRICT_SELF, rules, 0n, 0n, 0n) === 0n;
}
