import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { err, ok, type Result } from '../../kernel/index.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const MAX_BYTES = 64 * 1024;
/** A password manager may ask its server; it must not hold a start without end. */
const COMMAND_MS = 30_000;

/**
 * The value of a secret variable: of itself, else of the file that `…_FILE` names, else what the
 * command of `…_COMMAND` prints, else systemd's credential of the variable's name. A line break at
 * its end is not part of it. The error never holds the value.
 */
export function readSecretSource(
  env: string,
  environment: Environment,
  variables: ReadonlySet<string>,
): Result<string, string> {
  const others = [`${env}_FILE`, `${env}_COMMAND`].filter((name) => !variables.has(name));
  const given = [env, ...others].filter((name) => (environment[name] ?? '').trim() !== '');
  if (given.length > 1) return err(`${given.join(' and ')} are set; allowed: one of them`);
  const [name] = given;
  const text = (environment[name ?? ''] ?? '').trim();
  if (name === env) return ok(text);
  if (name === `${env}_FILE`) return readFile(name, text);
  if (name !== undefined) return runCommand(name, text);
  const folder = environment.CREDENTIALS_DIRECTORY ?? '';
  if (folder === '') return ok('');
  const path = join(folder, env);
  return statSync(path, { throwIfNoEntry: false }) === undefined ? ok('') : readFile(env, path);
}

function readFile(name: string, path: string): Result<string, string> {
  try {
    if (statSync(path).size > MAX_BYTES) return err(`${name}: the file ${path} is longer than 64 KiB`);
    return notEmpty(name, readFileSync(path, 'utf8'), `the file ${path}`);
  } catch (error) {
    return err(
      `${name}: the file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}`,
    );
  }
}

/** The shell runs it, so that it may have arguments and a pipe. Its errors go to standard error. */
function runCommand(name: string, command: string): Result<string, string> {
  const shell = process.platform === 'win32' ? ['cmd.exe', '/c'] : ['/bin/sh', '-c'];
  try {
    const printed = execFileSync(shell[0] ?? '', [shell[1] ?? '', command], {
      encoding: 'utf8',
      timeout: COMMAND_MS,
      maxBuffer: MAX_BYTES,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return notEmpty(name, printed, 'the command');
  } catch (error) {
    const { status, signal, code } = error as { status?: number | null; signal?: string | null; code?: string };
    const how =
      code === 'ETIMEDOUT' ? 'took longer than 30 s' : signal ? `ended by ${signal}` : `ended with ${status ?? code}`;
    return err(`${name}: the command ${how}`);
  }
}

function notEmpty(name: string, text: string, what: string): Result<string, string> {
  const value = text.replace(/\r?\n$/, '');
  return value.trim() === '' ? err(`${name}: ${what} is empty`) : ok(value.trim());
}
