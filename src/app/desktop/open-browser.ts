import { existsSync } from 'node:fs';

export type Platform = {
  environment: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  pid: number;
  /** Whether a container's runtime has left its mark. */
  isContainer: boolean;
};

/** Docker's and podman's marks. */
const CONTAINER_MARKS = ['/.dockerenv', '/run/.containerenv'];

export const readPlatform = (environment: Platform['environment']): Platform => ({
  environment,
  platform: process.platform,
  pid: process.pid,
  isContainer: CONTAINER_MARKS.some((path) => existsSync(path)),
});

/**
 * The command that opens an address in the browser of the person at this machine; `undefined` where
 * nobody sits: in a container, in a service, over SSH, without a desktop.
 */
export function browserCommand(
  address: string,
  { environment, platform, pid, isContainer }: Platform,
): string[] | undefined {
  // systemd names the process that it has started itself: `man systemd.exec`, "SYSTEMD_EXEC_PID".
  const isService = environment.SYSTEMD_EXEC_PID === String(pid);
  const isRemote = Boolean(environment.SSH_CONNECTION);
  if (isContainer || isService || isRemote || environment.container) return undefined;
  if (platform === 'darwin') return ['open', address];
  // Without a shell, which would take "&" in an address for its own.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', address];
  return environment.DISPLAY || environment.WAYLAND_DISPLAY ? ['xdg-open', address] : undefined;
}

/** Starts the command and leaves it running. Says whether it could be started. */
export function openBrowser(command: readonly string[]): boolean {
  try {
    const child = Bun.spawn([...command], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore', detached: true });
    child.unref();
    return true;
  } catch {
    // The desktop has no program that opens addresses: the person reads the address instead.
    return false;
  }
}
