import { existsSync } from 'node:fs';
import { posix, win32 } from 'node:path';

/** The folder of the former versions, in the folder that a command is started in. */
export const LOCAL_DATA_DIR = './data';

type DataDirInput = {
  environment: Readonly<Record<string, string | undefined>>;
  platform?: NodeJS.Platform;
  /** Whether the former folder is there. */
  hasLocal?: boolean;
};

/**
 * The folder of the data if none is configured: `./data` where that exists, else where the
 * system keeps the data of its user's programs. A process without a user's folder, such as a bare
 * service, takes `./data` too.
 */
export function findDataDir({
  environment,
  platform = process.platform,
  hasLocal = existsSync(LOCAL_DATA_DIR),
}: DataDirInput): string {
  return hasLocal ? LOCAL_DATA_DIR : (systemDataDir(environment, platform) ?? LOCAL_DATA_DIR);
}

function systemDataDir(environment: DataDirInput['environment'], platform: NodeJS.Platform): string | undefined {
  if (platform === 'win32') {
    const { LOCALAPPDATA: folder } = environment;
    return folder !== undefined && win32.isAbsolute(folder) ? win32.join(folder, 'Taskgate') : undefined;
  }
  const { HOME: home = '', XDG_DATA_HOME: data = '' } = environment;
  if (platform === 'darwin') {
    return posix.isAbsolute(home) ? posix.join(home, 'Library/Application Support/Taskgate') : undefined;
  }
  // The XDG Base Directory Specification: a relative path is to be ignored.
  if (posix.isAbsolute(data)) return posix.join(data, 'taskgate');
  return posix.isAbsolute(home) ? posix.join(home, '.local/share/taskgate') : undefined;
}
