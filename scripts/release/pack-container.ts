import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../hash-inputs.ts';
import type { Release } from './describe-release.ts';
import { compress } from './pack-archive.ts';
import type { ReleaseTarget } from './targets.ts';
import { type ArchiveFile, writeTar } from './write-tar.ts';

type Built = { target: ReleaseTarget; executable: string };

/**
 * What `docker compose up` needs, in one archive: Dockerfile and executables, and compose files for
 * one node and for several. Says its name.
 */
export function packContainer(release: Release, built: readonly Built[], out: string): string {
  const folder = `taskgate-${release.version}-container`;
  const ops = join(root, 'ops/container');
  const files: ArchiveFile[] = readdirSync(ops).map((name) => ({
    path: `${folder}/${name}`,
    content: readFileSync(join(ops, name)),
    mode: 0o644,
  }));
  // The data directory of the image, empty. A new volume gets its mode, which stays.
  files.push({ path: `${folder}/data/`, content: new Uint8Array(), mode: 0o700 });
  files.push({ path: `${folder}/LICENSE`, content: readFileSync(join(root, 'LICENSE')), mode: 0o644 });
  for (const { target, executable } of built) {
    if (target.packages === undefined) continue;
    const path = `${folder}/linux-${target.packages}/taskgate`;
    files.push({ path, content: readFileSync(executable), mode: 0o755 });
  }
  const name = `${folder}.tar.gz`;
  writeFileSync(join(out, name), compress(writeTar(files, release.time)));
  return name;
}
