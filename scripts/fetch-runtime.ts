import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './hash-inputs.ts';

/** The package of each platform's runtime, as the package `bun` lists them. */
const packages: Readonly<Record<string, string>> = {
  'bun-linux-x64': '@oven/bun-linux-x64',
  'bun-linux-x64-musl': '@oven/bun-linux-x64-musl',
  'bun-linux-arm64': '@oven/bun-linux-aarch64',
  'bun-linux-arm64-musl': '@oven/bun-linux-aarch64-musl',
  'bun-darwin-x64': '@oven/bun-darwin-x64',
  'bun-darwin-arm64': '@oven/bun-darwin-aarch64',
  'bun-windows-x64': '@oven/bun-windows-x64',
};

/** Bun's names of the platforms that an executable can be built for. */
export const buildTargets = Object.keys(packages);

/**
 * The Bun executable of another platform: the locked version from the npm registry, whose digest
 * must be the one in package-lock.json. Fetched once.
 */
export async function fetchRuntime(target: string): Promise<string> {
  const name = packages[target] ?? '';
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string } | undefined>;
  };
  const locked = lock.packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`package-lock.json has no runtime for ${target}`);
  const folder = join(root, 'build/runtimes');
  const path = join(folder, `${target}-${locked.version}${target.includes('windows') ? '.exe' : ''}`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const temporary = mkdtempSync(join(folder, '.fetch-'));
  try {
    await run(['npm', 'pack', `${name}@${locked.version}`, '--silent', '--pack-destination', temporary]);
    const archive = join(temporary, readdirSync(temporary)[0] ?? '');
    const digest = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
    if (digest !== locked.integrity) throw new Error(`${name}@${locked.version} is not what package-lock.json expects`);
    await run(['tar', '-xzf', archive, '-C', temporary]);
    const bin = join(temporary, 'package/bin');
    renameSync(join(bin, existsSync(join(bin, 'bun.exe')) ? 'bun.exe' : 'bun'), path);
    return path;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

async function run(command: string[]): Promise<void> {
  // npm is a script on Windows.
  const shell = process.platform === 'win32' && command[0] === 'npm' ? ['cmd', '/c'] : [];
  const child = Bun.spawn([...shell, ...command], { cwd: root, stdout: 'ignore', stderr: 'inherit' });
  if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 3).join(' ')} failed`);
}
