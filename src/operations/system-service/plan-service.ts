import { posix, win32 } from 'node:path';
import { OperatorError } from '../../kernel/index.ts';
import {
  LAUNCHD_LABEL,
  launchdPlist,
  type ServiceInput,
  type ServicePlan,
  type ServiceStep,
  systemdUnit,
  TASK_NAME,
  windowsTask,
} from './service-files.ts';

type Machine = {
  platform: NodeJS.Platform;
  environment: Readonly<Record<string, string | undefined>>;
  /** The user's number; 0 is root. */
  uid: number;
};

/**
 * @throws `OperatorError` where the system has no service manager that is known here, and for a
 * path whose line break would become a line of the service's file
 */
export function planService(input: ServiceInput, machine: Machine): ServicePlan {
  const { executable, dataDir, args } = input;
  if ([executable, dataDir, ...args].some((word) => /\p{Cc}/u.test(word))) {
    throw new OperatorError('a service cannot have a path with line breaks or control characters');
  }
  switch (machine.platform) {
    case 'linux':
      return planSystemd(input, machine);
    case 'darwin':
      return planLaunchd(input, machine);
    case 'win32':
      return planTask(input, machine);
    default:
      throw new OperatorError(
        `services are not known on ${machine.platform}: let its service manager run "taskgate serve"`,
      );
  }
}

const readHome = ({ HOME: home = '' }: Machine['environment']): string => {
  if (!posix.isAbsolute(home)) throw new OperatorError('HOME is not set: there is no folder for a service of the user');
  return home;
};

function planSystemd(input: ServiceInput, { environment }: Machine): ServicePlan {
  const isSystem = input.scope === 'system';
  const systemctl = isSystem ? ['systemctl'] : ['systemctl', '--user'];
  const { XDG_CONFIG_HOME: config = '' } = environment;
  const folder = isSystem
    ? '/etc/systemd/system'
    : posix.join(posix.isAbsolute(config) ? config : posix.join(readHome(environment), '.config'), 'systemd/user');
  // The service has a user of its own, and none of the homes.
  const home = /^\/(?:home|root|run\/user)\//.exec(input.executable)?.[0];
  if (isSystem && home !== undefined) {
    throw new OperatorError(`a service of the system cannot run a program in ${home}: copy taskgate to /usr/local/bin`);
  }
  const account: ServiceStep = {
    command: ['useradd', '--system', '--user-group', '--home-dir', '/var/lib/taskgate', '--no-create-home', 'taskgate'],
    // It may be there already; without it, systemd says so.
    mayFail: true,
  };
  return {
    file: { path: posix.join(folder, 'taskgate.service'), content: systemdUnit(input) },
    install: [
      ...(isSystem ? [account] : []),
      { command: [...systemctl, 'daemon-reload'] },
      { command: [...systemctl, 'enable', '--now', 'taskgate.service'] },
    ],
    uninstall: [{ command: [...systemctl, 'disable', '--now', 'taskgate.service'], mayFail: true }],
    status: [...systemctl, 'is-active', 'taskgate.service'],
    hints: isSystem
      ? ['Settings: /etc/taskgate/taskgate.env. Log: journalctl -u taskgate']
      : ['Log: journalctl --user -u taskgate. To run it while you are signed out: loginctl enable-linger'],
  };
}

function planLaunchd(input: ServiceInput, { environment, uid }: Machine): ServicePlan {
  const isSystem = input.scope === 'system';
  const domain = isSystem ? 'system' : `gui/${uid}`;
  const folder = isSystem ? '/Library/LaunchDaemons' : posix.join(readHome(environment), 'Library/LaunchAgents');
  const path = posix.join(folder, `${LAUNCHD_LABEL}.plist`);
  return {
    file: { path, content: launchdPlist(input) },
    install: [
      { command: ['launchctl', 'bootout', `${domain}/${LAUNCHD_LABEL}`], mayFail: true },
      { command: ['launchctl', 'bootstrap', domain, path] },
    ],
    uninstall: [{ command: ['launchctl', 'bootout', `${domain}/${LAUNCHD_LABEL}`], mayFail: true }],
    status: ['launchctl', 'print', `${domain}/${LAUNCHD_LABEL}`],
    hints: [`Log: ${input.dataDir}/taskgate.log`],
  };
}

function planTask(input: ServiceInput, { environment }: Machine): ServicePlan {
  const { LOCALAPPDATA: local = '', ProgramData: shared = 'C:\\ProgramData' } = environment;
  const folder = win32.join(input.scope === 'system' ? shared : local, 'Taskgate');
  const path = win32.join(folder, 'service.xml');
  return {
    file: { path, content: windowsTask(input) },
    install: [
      { command: ['schtasks', '/Create', '/TN', TASK_NAME, '/XML', path, '/F'] },
      { command: ['schtasks', '/Run', '/TN', TASK_NAME] },
    ],
    uninstall: [
      { command: ['schtasks', '/End', '/TN', TASK_NAME], mayFail: true },
      { command: ['schtasks', '/Delete', '/TN', TASK_NAME, '/F'], mayFail: true },
    ],
    status: ['schtasks', '/Query', '/TN', TASK_NAME],
    hints: [],
  };
}
