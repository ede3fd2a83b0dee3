import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemdUnit } from '../../src/operations/system-service/service-files.ts';
import { root } from '../hash-inputs.ts';
import type { Release } from './describe-release.ts';
import type { ReleaseTarget } from './targets.ts';

/** Makes packages of Linux distributions; written in Go, so the Go toolchain brings it. */
const NFPM = 'github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2';

export type PackageInput = { release: Release; target: ReleaseTarget; executable: string; out: string };

/**
 * Makes the package of one format, by the conventions of Debian's and RPM's systems: the executable
 * in /usr/bin, a hardened service with a user of its own, its settings in /etc. Says its name.
 */
export async function runNfpm(packager: 'deb' | 'rpm', input: PackageInput, depends: string[]): Promise<string> {
  const { release, target, out } = input;
  const nfpm = await findNfpm();
  const folder = mkdtempSync(join(tmpdir(), 'taskgate-package-'));
  try {
    const unit = join(folder, 'taskgate.service');
    writeFileSync(
      unit,
      systemdUnit({ scope: 'system', executable: '/usr/bin/taskgate', dataDir: '/var/lib/taskgate', args: [] }),
    );
    const mark = join(folder, 'package');
    writeFileSync(mark, `${packager}\n`);
    const name = `taskgate_${release.version}_linux_${target.packages}.${packager}`;
    const config = join(folder, 'nfpm.yaml');
    // Every text in JSON is one in YAML.
    writeFileSync(config, JSON.stringify(describePackage(input, { unit, mark, depends })));
    const command = [nfpm, 'package', '--config', config, '--packager', packager, '--target', join(out, name)];
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(release.time) };
    const child = Bun.spawn(command, { cwd: root, env, stdout: 'ignore', stderr: 'inherit' });
    if ((await child.exited) !== 0) throw new Error(`nfpm made no ${name}`);
    return name;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Parts = { unit: string; mark: string; depends: string[] };

function describePackage({ release, target, executable }: PackageInput, { unit, mark, depends }: Parts): object {
  const mtime = new Date(release.time * 1000).toISOString();
  const file = (src: string, dst: string, mode: number) => ({
    src,
    dst,
    type: dst.startsWith('/etc/') ? 'config|noreplace' : '',
    file_info: { mode, owner: 'root', group: 'root', mtime },
  });
  const ops = (name: string) => join(root, 'ops/linux', name);
  return {
    name: 'taskgate',
    arch: target.packages,
    platform: 'linux',
    version: release.version,
    release: '1',
    maintainer: 'Taskgate <https://github.com/taskgate/taskgate/issues>',
    homepage: 'https://github.com/taskgate/taskgate',
    description:
      "Gateway for vendors' asynchronous task APIs\nPuts vendors' APIs behind your own authenticated, billed, OpenAI-compatible endpoints.",
    license: 'Apache-2.0',
    section: 'web',
    priority: 'optional',
    mtime,
    depends,
    contents: [
      file(executable, '/usr/bin/taskgate', 0o755),
      file(ops('taskgatectl'), '/usr/bin/taskgatectl', 0o755),
      file(unit, '/usr/lib/systemd/system/taskgate.service', 0o644),
      file(ops('taskgate.env'), '/etc/taskgate/taskgate.env', 0o640),
      file(mark, '/usr/share/taskgate/package', 0o644),
      file(join(root, 'LICENSE'), '/usr/share/doc/taskgate/copyright', 0o644),
    ],
    scripts: {
      postinstall: ops('postinstall.sh'),
      preremove: ops('preremove.sh'),
      postremove: ops('postremove.sh'),
    },
    // Else the name of the machine that builds it.
    rpm: { buildhost: 'taskgate', packager: 'Taskgate' },
  };
}

async function findNfpm(): Promise<string> {
  // Another version is another file.
  const folder = join(root, 'build/tools', NFPM.slice(NFPM.lastIndexOf('/') + 1));
  const path = join(folder, 'nfpm');
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const go = Bun.which('go') ?? '/usr/local/go/bin/go';
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
  const child = Bun.spawn([go, 'install', NFPM], { cwd: folder, env, stdout: 'ignore', stderr: 'pipe' });
  const problem = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`go install ${NFPM} failed:\n${problem}`);
  return path;
}
