import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VARIABLES } from '../../src/app/config/config-variables.ts';
import { planService } from '../../src/operations/system-service/plan-service.ts';
import { type ServiceInput, STOP_SECONDS } from '../../src/operations/system-service/service-files.ts';
import { findProgram } from '../support/find-program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const input = (changes: Partial<ServiceInput> = {}): ServiceInput => ({
  scope: 'user',
  executable: '/opt/task gate/taskgate',
  dataDir: '/home/ada/50% "data"',
  args: ['--port', '8080'],
  ...changes,
});
const machine = { environment: { HOME: '/home/ada' }, uid: 1000 };
const readText = (plan: ReturnType<typeof planService>): string => String(plan.file.content);

test('systemd, one user: the unit survives blanks and signs in its paths', () => {
  const plan = planService(input(), { platform: 'linux', ...machine });
  expect(plan.file.path).toBe('/home/ada/.config/systemd/user/taskgate.service');
  expect(readText(plan)).toContain('ExecStart="/opt/task gate/taskgate" serve --port 8080\n');
  // Started means ready, and a start that takes long is not a failed one.
  expect(readText(plan)).toContain(
    '\nExecStartPost=-"/opt/task gate/taskgate" healthcheck --wait 120 --port 8080\nTimeoutStartSec=infinity\n',
  );
  expect(readText(plan)).toContain('Environment="DATA_DIR=/home/ada/50%% \\"data\\""\n');
  expect(readText(plan)).toContain('WantedBy=default.target');
  expect(plan.install.at(-1)?.command).toEqual(['systemctl', '--user', 'enable', '--now', 'taskgate.service']);
});

test('service managers wait for all that a stop waits for, one step after the other', () => {
  const source = new URL('../../src/', import.meta.url).pathname;
  const readMs = (path: string, name: string): number => {
    const [, ms = ''] =
      new RegExp(`^const ${name} = ([\\d_]+);$`, 'm').exec(readFileSync(`${source}${path}`, 'utf8')) ?? [];
    return Number(ms.replaceAll('_', '')) || Number.NaN;
  };
  const polling = [
    readMs('app/composition/compose-gateway.ts', 'POLL_GRACE_MS'),
    readMs('relay/requests/follow-request.ts', 'STOP_MS'),
  ];
  const steps = [
    VARIABLES.shutdownSeconds.default * 1000,
    // A backup's process is asked to end, then killed.
    2 * readMs('operations/backup/backup-schedule.ts', 'STOP_MS'),
    readMs('surfaces/batches/run-batches.ts', 'STOP_GRACE_MS'),
    Math.max(...polling),
    readMs('app/composition/compose-gateway.ts', 'WEBHOOK_GRACE_MS'),
    readMs('notifications/outbox-worker.ts', 'ABORT_WAIT_MS'),
    readMs('app/composition/compose-services.ts', 'MAIL_GRACE_MS'),
    readMs('app/composition/compose-services.ts', 'TRACE_GRACE_MS'),
  ];
  const seconds = steps.reduce((sum, ms) => sum + ms, 0) / 1000;
  expect(seconds).toBeGreaterThan(25);
  expect(STOP_SECONDS).toBeGreaterThanOrEqual(seconds + 5);
  const plan = (platform: 'linux' | 'darwin') => readText(planService(input(), { platform, ...machine }));
  // The unit leaves a minute for draining.
  expect(plan('linux')).toContain(`\nTimeoutStopSec=${STOP_SECONDS + 60}\n`);
  expect(plan('darwin')).toContain(`<key>ExitTimeOut</key><integer>${STOP_SECONDS}</integer>`);
});

test('path injection: a line break in a path does not become a line of the file, and a $ stays a $', () => {
  const linux = { platform: 'linux' as const, ...machine };
  for (const changes of [
    { dataDir: '/a\nExecStartPre=/b' },
    { executable: '/a\r\nX=1' },
    { args: ['--host', 'a\0'] },
  ]) {
    for (const platform of ['linux', 'darwin', 'win32'] as const) {
      expect(() => planService(input(changes), { ...linux, platform })).toThrow('line breaks');
    }
  }
  const unit = readText(planService(input({ dataDir: '/srv/ca$h', args: ['--host', '$HOME'] }), linux));
  expect(unit).toContain('Environment=DATA_DIR=/srv/ca$h\n');
  expect(unit).toContain('serve --host $$HOME\n');
  expect(unit).toContain('healthcheck --wait 120 --host $$HOME\n');
});

test('systemd, the system: a user of its own, no rights, nothing to write but its data', () => {
  const plan = planService(input({ scope: 'system', executable: '/usr/local/bin/taskgate' }), {
    platform: 'linux',
    ...machine,
  });
  expect(plan.file.path).toBe('/etc/systemd/system/taskgate.service');
  expect(plan.file.content).toContain('\nExecReload=/bin/kill -HUP $MAINPID\n');
  const unit = readText(plan);
  for (const line of [
    'User=taskgate',
    'EnvironmentFile=-/etc/taskgate/taskgate.env',
    'CapabilityBoundingSet=\n',
    'NoNewPrivileges=yes',
    'ProtectSystem=strict',
    'ProtectHome=yes',
    'StateDirectoryMode=0700',
    'LogsDirectory=taskgate',
  ]) {
    expect(unit).toContain(line);
  }
});

test('systemd itself finds nothing wrong with either unit, and calls the exposure of the system one low', async () => {
  const analyze = findProgram(['systemd-analyze']);
  if (analyze === null) return;
  const check = async (...args: string[]) => {
    const child = Bun.spawn([analyze, ...args], {
      env: { ...process.env, XDG_RUNTIME_DIR: temporaryFolder() },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, text: texts.join('') };
  };
  for (const scope of ['user', 'system'] as const) {
    const folder = temporaryFolder();
    const path = join(folder, 'taskgate.service');
    writeFileSync(
      path,
      readText(planService(input({ scope, executable: '/usr/bin/true' }), { platform: 'linux', ...machine })),
    );
    expect(await check('verify', '--man=no', ...(scope === 'user' ? ['--user'] : []), path)).toEqual({
      code: 0,
      text: '',
    });
    if (scope === 'user') continue;
    // Out of 100: 20 is "OK", 96 is a unit without any such line.
    const { code, text } = await check('security', '--offline=true', '--threshold=25', '--no-pager', path);
    expect([code, text.split('\n').at(-2)]).toEqual([0, expect.stringContaining('OK')]);
  }
});

test('a service of the system cannot be a program in a home', () => {
  const homes = ['/home/ada/taskgate', '/root/taskgate'];
  for (const executable of homes) {
    expect(() => planService(input({ scope: 'system', executable }), { platform: 'linux', ...machine })).toThrow(
      'copy taskgate to /usr/local/bin',
    );
  }
});

test('launchd: a property list with escaped paths, for the user and for the system', () => {
  const plan = planService(input({ dataDir: '/Users/ada/R&D' }), { platform: 'darwin', ...machine });
  expect(plan.file.path).toBe('/home/ada/Library/LaunchAgents/org.taskgate.taskgate.plist');
  expect(readText(plan)).toContain('<string>/Users/ada/R&amp;D</string>');
  expect(plan.install.at(-1)?.command).toEqual(['launchctl', 'bootstrap', 'gui/1000', plan.file.path]);
  const system = planService(input({ scope: 'system' }), { platform: 'darwin', ...machine });
  expect(system.file.path).toBe('/Library/LaunchDaemons/org.taskgate.taskgate.plist');
  expect(system.status).toEqual(['launchctl', 'print', 'system/org.taskgate.taskgate']);
});

test('Windows: a task in UTF-16 that starts with the session, and never ends by itself', () => {
  const plan = planService(input({ executable: 'C:\\Programs\\taskgate.exe', dataDir: 'C:\\My Data\\' }), {
    platform: 'win32',
    environment: { LOCALAPPDATA: 'C:\\Users\\ada\\AppData\\Local' },
    uid: -1,
  });
  expect(plan.file.path).toBe('C:\\Users\\ada\\AppData\\Local\\Taskgate\\service.xml');
  const text = new TextDecoder('utf-16le').decode(plan.file.content as Uint8Array);
  expect(text).toContain('<Command>C:\\Programs\\taskgate.exe</Command>');
  expect(text).toContain('<Arguments>serve --data-dir &quot;C:\\My Data\\\\&quot; --port 8080</Arguments>');
  expect(text).toContain('<LogonTrigger>');
  expect(text).toContain('<ExecutionTimeLimit>PT0S</ExecutionTimeLimit>');
});
