import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../hash-inputs.ts';
import type { Release } from './describe-release.ts';

type Bom = { serialNumber?: string; metadata: { timestamp?: string; component?: { version?: string } } };

/**
 * The software bill of materials (CycloneDX) that npm writes of the lock file, without what differs
 * from run to run. Says its name.
 */
export async function writeSbom(release: Release, out: string): Promise<string> {
  const command = ['npm', 'sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only'];
  const child = Bun.spawn(command, { cwd: root, stdout: 'pipe', stderr: 'inherit' });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error('npm sbom failed');
  const bom = JSON.parse(text) as Bom;
  bom.serialNumber = `urn:uuid:${uuidFor(`${release.version} ${release.commit}`)}`;
  bom.metadata.timestamp = new Date(release.time * 1000).toISOString();
  const name = `taskgate-${release.version}.cdx.json`;
  writeFileSync(join(out, name), `${JSON.stringify(bom, null, 2)}\n`);
  return name;
}

/** A UUID of the eighth kind: of our own making, from a digest. */
function uuidFor(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return groups.join('-');
}
