// What has to run on plain Node before anything of ours is installed: dependencies, then Bun from
// its npm package.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Installs the locked dependencies when they are missing or differ from the lock file. Output goes
 * to stderr.
 */
export function installDependencies() {
  const reason = staleReason();
  if (reason === null) return;
  process.stderr.write(`Installing dependencies (${reason})\n`);
  const npm = process.env.npm_execpath;
  const args = ['ci', '--no-fund', '--no-audit'];
  // `npm start` names its own npm in npm_execpath; started without npm, the one on the path is
  // taken.
  const isNpmScript = npm !== undefined && /npm-cli\.c?js$/.test(npm);
  const result = isNpmScript
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio: ['ignore', 2, 2] })
    : spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (result.status !== 0) fail(`npm ci failed${result.error ? `: ${result.error.message}` : ''}.`);
}

/**
 * null when node_modules holds what package-lock.json asks for; npm records what it installed in
 * its own hidden lock file.
 */
function staleReason() {
  const installedLock = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedLock)) return 'node_modules is missing';
  const wanted = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(installedLock);
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue;
    const found = installed[path];
    // Packages for other platforms are optional and never installed here.
    if (found === undefined ? !entry.optional : found.version !== entry.version) return 'the lock file has changed';
  }
  return null;
}

function readPackages(path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages ?? {};
}

/**
 * The Bun executable. The npm package replaces its placeholder in a postinstall script, which npm
 * may leave out, so each candidate is tried: first the package itself, then the platform packages
 * that it picks from.
 */
export function findBun() {
  const modules = join(root, 'node_modules');
  const platformPackages = existsSync(join(modules, '@oven')) ? readdirSync(join(modules, '@oven')).sort() : [];
  const candidates = [
    join(modules, '.bin', process.platform === 'win32' ? 'bun.exe' : 'bun'),
    join(modules, 'bun', 'bin', 'bun.exe'),
    ...platformPackages.flatMap((name) => [
      join(modules, '@oven', name, 'bin', 'bun'),
      join(modules, '@oven', name, 'bin', 'bun.exe'),
    ]),
  ];
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies.bun;
  for (const path of candidates) {
    if (!existsSync(path)) continue;
    const probe = spawnSync(path, ['--version'], { encoding: 'utf8' });
    if (probe.status === 0 && probe.stdout.trim() === wanted) return path;
  }
  return fail(`Bun ${wanted} is not usable in node_modules. Remove node_modules and try again.`);
}

/**
 * Runs a program to its end with our own terminal and passes on what asks for an end. Resolves its
 * exit code. npm runs us below a shell that dies of SIGTERM without passing it on: a parent that is
 * gone counts as that signal.
 */
export function runToEnd(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: 'inherit' });
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      child.kill('SIGTERM');
    }, 500);
    const forward = (signal) => {
      // A terminal sends its interrupt to the whole group: passed on, the child would see a second
      // one.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward);
    child.on('error', (error) => fail(`${program}: ${error.message}`));
    child.on('exit', (code, signal) => {
      clearInterval(watch);
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(name, forward);
      resolve(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
