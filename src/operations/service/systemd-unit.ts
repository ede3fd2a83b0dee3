import type { ServiceInput } from './types.ts';

/** Where packages and `service install --system` keep the service's settings. */
export const ENVIRONMENT_FILE = '/etc/taskgate/taskgate.env';
export const SYSTEM_DATA_DIR = '/var/lib/taskgate';
export const SERVICE_USER = 'taskgate';

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
    // Reads the TLS certificate again.
    'ExecReload=/bin/kill -HUP $MAINPID',
    ...service,
    'Restart=on-failure',
    'RestartSec=2',
    // Draining, which is off by default, may take a minute; then requests in flight get 25 seconds.
    'TimeoutStopSec=100',
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
