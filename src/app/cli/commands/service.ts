import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { OperatorError, unwritable } from '../../../kernel/index.ts';
import { planService } from '../../../operations/system-service/plan-service.ts';
import {
  type ServicePlan,
  type ServiceScope,
  type ServiceStep,
  SYSTEM_DATA_DIR,
} from '../../../operations/system-service/service-files.ts';
import { readEnvironment } from '../../config/config.ts';
import { TARGET } from '../../version.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { readSettings } from '../read-settings.ts';

type Outcome = { code: number; text: string };

/** Writes the service's file and tells the system's service manager to run it from now on. */
export async function install(input: CommandInput): Promise<ExitCode> {
  const { plan, scope } = readPlan(input);
  const { path, content } = plan.file;
  if (input.values.print === true) {
    input.io.out(typeof content === 'string' ? content : new TextDecoder('utf-16le').decode(content));
    return EXIT.ok;
  }
  const former = existsSync(path) ? readFileSync(path) : undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode: 0o644 });
  } catch (error) {
    throw unwritable(path, error);
  }
  try {
    await runSteps(plan.install);
  } catch (error) {
    // What no service manager knows of is not a service; an earlier one is left as it was.
    if (former === undefined) rmSync(path, { force: true });
    else writeFileSync(path, former, { mode: 0o644 });
    throw error;
  }
  const lines = [`Taskgate runs as a service (${scope}): ${path}`, ...plan.hints, 'Its panel: taskgate open'];
  answer(input, { ok: true, scope, file: path }, lines.join('\n'));
  return EXIT.ok;
}

/** Stops the service and removes its file. The data stays. Exit 0 where there was none, too. */
export async function uninstall(input: CommandInput): Promise<ExitCode> {
  const { plan, scope } = readPlan(input);
  const file = plan.file.path;
  const hadFile = existsSync(file);
  // The service manager may know a service whose file somebody deleted.
  const wasKnown = await runSteps(plan.uninstall);
  rmSync(file, { force: true });
  const removed = hadFile || wasKnown;
  const text = removed
    ? `The service (${scope}) was removed; its data was kept.`
    : `No service (${scope}) is installed; nothing was changed.`;
  answer(input, { ok: true, scope, file, removed }, text);
  return EXIT.ok;
}

/** Exit 0 while the service runs. */
export async function status(input: CommandInput): Promise<ExitCode> {
  const { plan, scope } = readPlan(input);
  const { code, text } = await runStep(plan.status);
  answer(input, { ok: code === 0, scope, running: code === 0, detail: text }, `service (${scope}): ${text}`);
  return code === 0 ? EXIT.ok : EXIT.failed;
}

function readPlan(input: CommandInput): { plan: ServicePlan; scope: ServiceScope } {
  // From source, the program would be the runtime.
  if (TARGET === '') throw new OperatorError('only the compiled program can be a service: npm run build');
  if (input.values.system === true && input.values.user === true) {
    throw new UsageError('--system and --user cannot be used together');
  }
  const { config } = readSettings(input, { staysRoot: true });
  const uid = process.getuid?.() ?? -1;
  const scope = input.values.system === true || (uid === 0 && input.values.user !== true) ? 'system' : 'user';
  const isSystemd = process.platform === 'linux' && scope === 'system';
  const folder = option(input, 'data-dir');
  if (isSystemd && folder !== undefined && resolve(folder) !== SYSTEM_DATA_DIR) {
    throw new OperatorError(
      `--data-dir: the service of the system has its data in ${SYSTEM_DATA_DIR}. For another folder set DATA_DIR in /etc/taskgate/taskgate.env, and ReadWritePaths= by "systemctl edit taskgate"`,
    );
  }
  const args = ['host', 'port'].flatMap((name) => {
    const value = option(input, name);
    return value === undefined ? [] : [`--${name}`, value];
  });
  const dataDir = isSystemd ? SYSTEM_DATA_DIR : resolve(config.dataDir);
  const plan = planService(
    { scope, executable: process.execPath, dataDir, args },
    { platform: process.platform, environment: readEnvironment(), uid },
  );
  return { plan, scope };
}

/** Returns whether a step succeeded. */
async function runSteps(steps: readonly ServiceStep[]): Promise<boolean> {
  let succeeded = false;
  for (const { command, mayFail } of steps) {
    const { code, text } = await runStep(command);
    if (code !== 0 && !mayFail) throw new OperatorError(`${command.join(' ')} failed: ${text}`);
    succeeded ||= code === 0;
  }
  return succeeded;
}

async function runStep(command: readonly string[]): Promise<Outcome> {
  try {
    const child = Bun.spawn([...command], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
    const texts = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()));
    const code = await child.exited;
    return { code, text: texts.join('').trim() || `exit code ${code}` };
  } catch {
    return { code: -1, text: `${command[0]} is not there` };
  }
}
