import { accessSync, constants, existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { OperatorError } from '../../kernel/index.ts';

type Owner = { uid: number; gid: number };

let formerRoot: { folder: string; uid: number } | undefined;

/** Why a file that root could read cannot be read: a sentence for `message`, or nothing. */
export const explainRefusal = (message: string): string =>
  formerRoot && /\bEACCES\b/.test(message)
    ? `\nThe command runs as the user ${formerRoot.uid}, who owns ${formerRoot.folder}, and not as root: that user must be allowed to use what you name.`
    : '';

/**
 * Drops root's rights for good before anything is read or written in a folder of another user,
 * who may have put a symbolic link under any name: the process becomes that user. Does nothing for
 * a process that is not root, or on Windows.
 * @throws `OperatorError` where the system does not allow it, as in a container without the right
 */
export function dropRoot(folder: string): void {
  const owner = otherOwner(folder);
  if (!owner) return;
  try {
    takeGroups(owner);
    process.setgid?.(owner.gid);
    process.setuid?.(owner.uid);
  } catch (error) {
    throw refused(folder, owner, error);
  }
  if (process.getuid?.() !== owner.uid || process.geteuid?.() !== owner.uid) throw refused(folder, owner, undefined);
  formerRoot = { folder, uid: owner.uid };
  try {
    accessSync('.', constants.R_OK | constants.X_OK);
  } catch {
    // In a folder such as root's home, programs that it starts could not begin.
    process.chdir('/');
  }
}

/**
 * Runs `work` as the owner of `folder`, for a command that needs root afterwards. Programs that it
 * starts then could become root again, so it starts only those of this machine.
 */
export async function runAsOwner<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const owner = otherOwner(folder);
  if (!owner) return work();
  const groups = process.getgroups?.() ?? [];
  const gid = process.getegid?.() ?? 0;
  try {
    try {
      takeGroups(owner);
      process.setegid?.(owner.gid);
      process.seteuid?.(owner.uid);
    } catch (error) {
      throw refused(folder, owner, error);
    }
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(gid);
    process.setgroups?.(groups);
  }
}

/** The user whose folder it is, or would be; undefined where this is not root, or root owns it. */
function otherOwner(folder: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  let path = resolve(folder);
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  // The owner of a link chooses where it leads.
  const found = [lstatSync(path), statSync(path)].find(({ uid }) => uid !== 0);
  return found && { uid: found.uid, gid: findGroup(found.uid) ?? found.gid };
}

/**
 * The primary group of a user in the system's list; undefined for a user that only a directory
 * knows.
 */
function findGroup(uid: number): number | undefined {
  const lines = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8').split('\n') : [];
  const group = lines.map((line) => line.split(':')).find((fields) => fields[2] === String(uid))?.[3];
  return group === undefined || !/^\d{1,10}$/.test(group) ? undefined : Number(group);
}

function takeGroups({ uid, gid }: Owner): void {
  process.setgroups?.([gid]);
  try {
    (process as { initgroups?: (user: number, group: number) => void }).initgroups?.(uid, gid);
  } catch {
    // A user without a name has no further groups.
    process.setgroups?.([gid]);
  }
}

function refused(folder: string, { uid }: Owner, error: unknown): OperatorError {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? 'it stays root';
  return new OperatorError(
    `${folder} belongs to the user ${uid}, and root cannot become that user here (${code}): run the command as that user`,
  );
}
