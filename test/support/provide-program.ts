import { findProgram } from './find-program.ts';
import { canInstallPackages, installPackages } from './install-packages.ts';

/** Programs of servers stand here, also where a user's path does not name it. */
const FOLDERS = ['/usr/sbin', '/usr/local/sbin'];

/**
 * A third-party program, installed with its package where that is possible; otherwise the reason
 * why it is missing.
 */
export async function provideProgram(
  name: string,
  packageName: string = name,
): Promise<{ path: string } | { missing: string }> {
  if (findProgram([name], FOLDERS) === null && canInstallPackages()) await installPackages([[packageName]]);
  const path = findProgram([name], FOLDERS);
  return path === null ? { missing: `there is no ${name}: install ${packageName}` } : { path };
}
