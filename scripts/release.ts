import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildForRelease } from './build.ts';
import { root } from './hash-inputs.ts';
import { cutNotes } from './release/cut-notes.ts';
import { describeRelease } from './release/describe-release.ts';
import { packArchive } from './release/pack-archive.ts';
import { packContainer } from './release/pack-container.ts';
import { packDeb } from './release/pack-deb.ts';
import { packRpm } from './release/pack-rpm.ts';
import { requireReplaceable } from './release/require-replaceable.ts';
import { openReleaseKey, signRelease } from './release/sign-release.ts';
import { releaseTargets } from './release/targets.ts';
import { CHECKSUMS, writeChecksums } from './release/write-checksums.ts';
import { writeSbom } from './release/write-sbom.ts';

const USAGE = `Usage: npm run release -- [--targets=${releaseTargets.map(({ name }) => name).join(',')}] [--out=DIR] [--allow-changes]`;

/**
 * npm run release: everything that a release publishes, in `dist/release`. The same commit gives
 * the same bytes: nothing in them depends on the machine, the folder or the time.
 */
async function main(args: string[]): Promise<number> {
  const value = (name: string) => args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
  const unknown = args.filter((arg) => arg !== '--allow-changes' && !/^--(?:targets|out)=./.test(arg));
  const names = value('targets')?.split(',') ?? releaseTargets.map(({ name }) => name);
  const targets = releaseTargets.filter(({ name }) => names.includes(name));
  if (unknown.length > 0 || targets.length !== names.length) {
    console.error(USAGE);
    return 2;
  }
  const release = await describeRelease({ mayDiffer: args.includes('--allow-changes') });
  const key = openReleaseKey();
  // Someone who rebuilds a signed release has only its public key.
  const publicKey = key?.publicKey.text ?? process.env.RELEASE_PUBLIC_KEY ?? '';
  const out = resolve(value('out') ?? join(root, 'dist/release'));
  const work = join(root, 'dist/.release');
  requireReplaceable(out);
  for (const folder of [out, work]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }
  const made: string[] = [];
  const add = (name: string) => {
    made.push(name);
    console.log(`${name}: ${(statSync(join(out, name)).size / 1e6).toFixed(1)} MB`);
  };
  const built: { target: (typeof targets)[number]; executable: string }[] = [];
  for (const target of targets) {
    const executable = join(work, target.name, target.executable);
    mkdirSync(join(work, target.name));
    await buildForRelease({ target: target.bun, outfile: executable, publicKey });
    built.push({ target, executable });
    add(packArchive(release, target, { executable, out }));
    if (target.packages === undefined) continue;
    add(await packDeb({ release, target, executable, out }));
    add(await packRpm({ release, target, executable, out }));
  }
  if (built.some(({ target }) => target.packages)) add(packContainer(release, built, out));
  add(await writeSbom(release, out));
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  writeFileSync(join(out, 'NOTES.md'), cutNotes(changelog, release.isTagged ? release.version : 'Unreleased'));
  add('NOTES.md');
  writeChecksums(made, out);
  console.log(key ? signRelease(release, key, out) : `${CHECKSUMS} is not signed: RELEASE_KEY_FILE names no key`);
  rmSync(work, { recursive: true, force: true });
  console.log(
    `Taskgate ${release.version} (${release.commit.slice(0, 10)}${release.isTagged ? '' : ', not tagged'}) in ${out}`,
  );
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
