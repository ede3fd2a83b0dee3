import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { findProgram } from './find-program.ts';

/** Whether `installPackages` can work: Debian or Ubuntu, and root. */
export function canInstallPackages(): boolean {
  return process.getuid?.() === 0 && findProgram(['apt-get']) !== null;
}

/**
 * Installs distribution packages with apt-get, output to stderr. It takes the first name of each
 * entry that the distribution knows. Says false when apt-get failed. Services that come with the
 * packages are not started: tests start their own.
 */
export async function installPackages(wanted: readonly (readonly string[])[]): Promise<boolean> {
  const policy = '/usr/sbin/policy-rc.d';
  const ownPolicy = !existsSync(policy);
  // Debian asks this file before a package's script starts a service; 101 means "not allowed".
  if (ownPolicy) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await aptGet(['update', '-q']);
    const names = await Promise.all(wanted.map(firstKnownPackage));
    return await aptGet(['install', '-y', '-q', '--no-install-recommends', ...names]);
  } finally {
    if (ownPolicy) rmSync(policy, { force: true });
  }
}

async function firstKnownPackage(names: readonly string[]): Promise<string> {
  for (const name of names) {
    const shown = Bun.spawn(['apt-cache', 'show', name], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
    if ((await shown.exited) === 0) return name;
  }
  return names[0] ?? '';
}

async function aptGet(args: string[]): Promise<boolean> {
  const child = Bun.spawn(['apt-get', '-o', 'DPkg::Lock::Timeout=300', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdin: 'ignore',
    stdout: 2,
    stderr: 'inherit',
  });
  return (await child.exited) === 0;
}
