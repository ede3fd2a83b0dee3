import { escapeXml } from '../../kernel/index.ts';

/** Where packages and `service install --system` keep the service's settings. */
const ENVIRONMENT_FILE = '/etc/taskgate/taskgate.env';
export const SYSTEM_DATA_DIR = '/var/lib/taskgate';
const SERVICE_USER = 'taskgate';

/**
 * A stop takes at most this long: 25 seconds for requests in flight (`SHUTDOWN_TIMEOUT_SECONDS`),
 * 31 for the work that its steps wait for one after the other, and some for the database. The
 * compose files in `ops/container` have the same figure, and add what their nodes drain.
 */
export const STOP_SECONDS = 65;
/** Draining, which is off by default, may take a minute before that. */
const DRAIN_SECONDS = 60;

/**
 * What the service may not do, for a unit of the system. The compiler of JavaScript writes code
 * that it then runs, so `MemoryDenyWriteExecute` cannot be among it.
 */
const HARDENING = `StateDirectory=taskgate
StateDirectoryMode=0700
LogsDirectory=taskgate
LogsDirectoryMode=0700
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateTmp=yes
PrivateDevices=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service`;

/** The unit file: of the system, hardened and with a user of its own, or of one user. */
export function systemdUnit({ scope, executable, dataDir, args }: ServiceInput): string {
  const isSystem = scope === 'system';
  // Variables are read in arguments alone.
  const command = [quote(executable), 'serve', ...args.map((word) => quote(word.replaceAll('$', '$$$$')))].join(' ');
  const service = isSystem
    ? [
        `User=${SERVICE_USER}`,
        `Group=${SERVICE_USER}`,
        `Environment=DATA_DIR=${SYSTEM_DATA_DIR}`,
        `EnvironmentFile=-${ENVIRONMENT_FILE}`,
      ]
    : [`Environment=${quote(`DATA_DIR=${dataDir}`)}`, 'UMask=0077', 'NoNewPrivileges=yes'];
  return [
    '[Unit]',
    'Description=Taskgate',
    'Documentation=https://github.com/taskgate/taskgate',
    ...(isSystem ? ['Wants=network-online.target', 'After=network-online.target'] : []),
    '',
    '[Service]',
    `ExecStart=${command}`,
    // Started means ready, for two minutes at most: a long migration is not ended by its service.
    `ExecStartPost=-${[quote(executable), 'healthcheck', '--wait', '120', ...args.map((word) => quote(word.replaceAll('$', '$$$$')))].join(' ')}`,
    'TimeoutStartSec=infinity',
    // Reads the TLS certificate again.
    'ExecReload=/bin/kill -HUP $MAINPID',
    ...service,
    'Restart=on-failure',
    'RestartSec=2',
    `TimeoutStopSec=${DRAIN_SECONDS + STOP_SECONDS}`,
    // The sandbox's processes end with the gateway, which tells them.
    'KillMode=mixed',
    'LimitNOFILE=65536',
    ...(isSystem ? [HARDENING] : []),
    '',
    '[Install]',
    `WantedBy=${isSystem ? 'multi-user' : 'default'}.target`,
    '',
  ].join('\n');
}

/** One word of a command line or an assignment, by the rules of `man systemd.syntax`. */
function quote(word: string): string {
  const escaped = word.replaceAll('%', '%%');
  if (/^[\w/.:=@,+%$-]+$/.test(escaped)) return escaped;
  return `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

export const LAUNCHD_LABEL = 'org.taskgate.taskgate';

/** The property list of a launchd job that starts with the user's session, or with the system. */
export function launchdPlist({ executable, dataDir, args }: ServiceInput): string {
  const strings = [executable, 'serve', '--data-dir', dataDir, ...args].map(
    (word) => `    <string>${escapeXml(word)}</string>`,
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key><string>${LAUNCHD_LABEL}</string>`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...strings,
    '  </array>',
    '  <key>RunAtLoad</key><true/>',
    // Not after a stop that was asked for.
    '  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
    // 0077, which a property list has in decimal.
    '  <key>Umask</key><integer>63</integer>',
    `  <key>ExitTimeOut</key><integer>${STOP_SECONDS}</integer>`,
    `  <key>StandardErrorPath</key><string>${escapeXml(`${dataDir}/taskgate.log`)}</string>`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n');
}

export const TASK_NAME = 'Taskgate';

/** LocalService: an account of Windows with few rights. */
const LOCAL_SERVICE = 'S-1-5-19';

/**
 * A task of the Task Scheduler that starts when the user signs in, or when Windows starts. A
 * service in the narrow sense would have to speak with Windows' service manager. UTF-16 with a byte
 * order mark, as `schtasks` reads it.
 */
export function windowsTask({ scope, executable, dataDir, args }: ServiceInput): Uint8Array {
  const trigger = scope === 'system' ? 'BootTrigger' : 'LogonTrigger';
  const principal =
    scope === 'system' ? `<UserId>${LOCAL_SERVICE}</UserId>` : '<LogonType>InteractiveToken</LogonType>';
  const words = ['serve', '--data-dir', dataDir, ...args].map(quoteArgument).join(' ');
  const text = [
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    `  <RegistrationInfo><Description>Taskgate</Description></RegistrationInfo>`,
    `  <Triggers><${trigger}><Enabled>true</Enabled></${trigger}></Triggers>`,
    `  <Principals><Principal id="Author">${principal}<RunLevel>LeastPrivilege</RunLevel></Principal></Principals>`,
    '  <Settings>',
    '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
    '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
    // No limit; the default ends a task after three days.
    '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
    '    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>',
    '  </Settings>',
    '  <Actions Context="Author"><Exec>',
    `    <Command>${escapeXml(executable)}</Command>`,
    `    <Arguments>${escapeXml(words)}</Arguments>`,
    '  </Exec></Actions>',
    '</Task>',
    '',
  ].join('\r\n');
  return Buffer.from(`\ufeff${text}`, 'utf16le');
}

/** Quotes by the rules of `CommandLineToArgvW`; a path has no quotation marks. */
const quoteArgument = (word: string): string =>
  /[\s]/.test(word) ? `"${word.endsWith('\\') ? `${word}\\` : word}"` : word;

export type ServiceScope = 'user' | 'system';

/** What a service runs and where it lies. */
export type ServiceInput = {
  scope: ServiceScope;
  /** Absolute path of the program. */
  executable: string;
  /** Absolute path. */
  dataDir: string;
  /** Further arguments of `serve`. */
  args: readonly string[];
};

export type ServiceStep = { command: readonly string[]; mayFail?: true };

/** What the system's service manager is told. */
export type ServicePlan = {
  file: { path: string; content: string | Uint8Array };
  install: readonly ServiceStep[];
  uninstall: readonly ServiceStep[];
  /** Succeeds while the service runs. */
  status: readonly string[];
  /** What else the person should know. */
  hints: readonly string[];
};
