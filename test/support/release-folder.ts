import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compress } from '../../scripts/release/pack-archive.ts';
import { CHECKSUMS, writeChecksums } from '../../scripts/release/write-checksums.ts';
import { writeTar } from '../../scripts/release/write-tar.ts';
import { releaseComment } from '../../src/operations/upgrade/fetch-release.ts';
import { generateSigningKey, type SigningKey, signData } from '../../src/plugins/index.ts';
import { BINARY, runCommand } from './run-command.ts';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * A program that answers as an executable of this version would; `problem` is what its dry run
 * finds.
 */
export const fakeExecutable = (version: string, { database = 20, problem = '' } = {}): string => `#!/bin/sh
if [ "$1" = version ]; then
  echo '{"name":"taskgate","version":"${version}","database":${database}}'
elif [ "$1" = migrate ]; then
  echo '{"ok":${problem === ''},"problems":[${problem === '' ? '' : JSON.stringify(problem)}]}'
fi
`;

export type ReleaseFolder = { folder: string; key: SigningKey; archive: string };

type ReleaseParts = { version: string; executable?: string | Uint8Array; key?: SigningKey; comment?: string };

/** Writes a signed release of one platform into a new folder. */
export async function writeReleaseFolder(parts: ReleaseParts): Promise<ReleaseFolder> {
  const { version, executable = fakeExecutable(version), key = generateSigningKey() } = parts;
  const folder = temporaryFolder();
  const { out } = await runCommand(['version', '--json']);
  const name = `taskgate-${version}-${(JSON.parse(out) as { target: string }).target}`;
  const files = [{ path: `${name}/taskgate`, content: Buffer.from(executable), mode: 0o755 }];
  const archive = join(folder, `${name}.tar.gz`);
  writeFileSync(archive, compress(writeTar(files, 0)));
  writeChecksums([`${name}.tar.gz`], folder);
  signFolder(folder, key, parts.comment ?? releaseComment(version));
  return { folder, key, archive };
}

export function signFolder(folder: string, key: SigningKey, comment: string): void {
  const checksums = new Uint8Array(readFileSync(join(folder, CHECKSUMS)));
  writeFileSync(join(folder, `${CHECKSUMS}.minisig`), signData(key, checksums, comment));
}

/** A copy of the executable in a folder of its own, which may be replaced. */
export function installedCopy(): string {
  const path = join(temporaryFolder(), 'taskgate');
  copyFileSync(BINARY, path);
  chmodSync(path, 0o755);
  return path;
}
