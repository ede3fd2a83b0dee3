import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../hash-inputs.ts';
import type { Release } from './describe-release.ts';
import type { ReleaseTarget } from './targets.ts';
import { type ArchiveFile, writeTar } from './write-tar.ts';
import { writeZip } from './write-zip.ts';

/** Packs one executable with licence, readme and changelog. Says the archive's name. */
export function packArchive(
  release: Release,
  target: ReleaseTarget,
  from: { executable: string; out: string },
): string {
  const folder = `taskgate-${release.version}-${target.name}`;
  const read = (name: string): ArchiveFile => ({
    path: `${folder}/${name}`,
    content: readFileSync(join(root, name)),
    mode: 0o644,
  });
  const files: ArchiveFile[] = [
    { path: `${folder}/${target.executable}`, content: readFileSync(from.executable), mode: 0o755 },
    ...['LICENSE', 'README.md', 'CHANGELOG.md'].map(read),
  ];
  const name = `${folder}.${target.archive}`;
  const isZip = target.archive === 'zip';
  const bytes = isZip ? writeZip(files, release.time) : compress(writeTar(files, release.time));
  writeFileSync(join(from.out, name), bytes);
  return name;
}

/** Without name and time of its own, so that the same archive gives the same bytes. */
export const compress = (bytes: Uint8Array<ArrayBuffer>): Uint8Array => gzipSync(bytes, { level: 9 });
