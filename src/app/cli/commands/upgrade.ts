import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isObject, OperatorError } from '../../../kernel/index.ts';
import { backUpDatabase } from '../../../operations/upgrade/back-up-database.ts';
import {
  CHECKSUMS_FILE,
  type OfferedRelease,
  openRelease,
  type ReadFile,
  readRelease,
  SIGNATURE_FILE,
} from '../../../operations/upgrade/fetch-release.ts';
import {
  executablePaths,
  isPackaged,
  probeExecutable,
  runForJson,
  swapBack,
  swapInNext,
  unpackExecutable,
  writeNext,
} from '../../../operations/upgrade/swap-executable.ts';
import { parsePublicKey } from '../../../plugins/index.ts';
import { databaseVersion, LATEST_MIGRATION, revertStore } from '../../../store/index.ts';
import { configuredNetwork } from '../../../upstream/index.ts';
import type { Config } from '../../config/config-variables.ts';
import { TARGET, VERSION } from '../../version.ts';
import { answer, type CommandInput, EXIT, type ExitCode, stopSignals } from '../command.ts';
import { dropRoot, runAsOwner } from '../drop-root.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

const MAX_LIST_BYTES = 64 * 1024;
const MAX_ARCHIVE_BYTES = 300 * 1024 * 1024;
/** A dry run checks whole tables. */
const DRY_RUN_MS = 600_000;

const RESTART = 'Restart the gateway to run it: "systemctl restart taskgate" where it is a service.';

/**
 * Replaces the executable by the one of a newer release, or with `--back` by the former one. The
 * gateway that runs during the upgrade is the old one until it is restarted.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
  // From source, the program would be the runtime.
  if (TARGET === '') throw new OperatorError('only the compiled program can be upgraded');
  const { config } = readSettings(input, { staysRoot: true });
  if (input.values.check !== true && isPackaged(process.execPath)) {
    throw new OperatorError('this taskgate belongs to a package: install the newer package instead');
  }
  // The owner of the executable could put another one into its place at any time.
  dropRoot(dirname(process.execPath));
  if (input.values.back === true) return goBack(input, config);
  const release = openRelease(requireReleaseLocation(config), { network: configuredNetwork(config) });
  try {
    return await upgrade(input, config, release.read);
  } finally {
    await release.close();
  }
}

function requireReleaseLocation({ upgradeUrl, upgradeKey }: Config): string {
  if (upgradeUrl === '') throw new OperatorError('UPGRADE_URL is not set: it says where releases are');
  if (upgradeKey === '') throw new OperatorError('UPGRADE_PUBLIC_KEY is not set: it says who signs releases');
  return upgradeUrl;
}

async function upgrade(input: CommandInput, config: Config, read: ReadFile): Promise<ExitCode> {
  const offered = await findRelease(config, read);
  const { version } = offered;
  // An old release with its genuine signature is not an upgrade: its faults may be known.
  if (Bun.semver.order(version, VERSION) <= 0) {
    const text = `taskgate ${VERSION} is the latest: the release is ${version}`;
    answer(input, { ok: true, version: VERSION, release: version, available: false }, text);
    return EXIT.ok;
  }
  if (input.values.check === true) {
    const text = `taskgate ${version} is available; this is ${VERSION}`;
    answer(input, { ok: true, version: VERSION, release: version, available: true }, text);
    return EXIT.ok;
  }
  const isCopied = input.values['no-backup'] !== true;
  // Another user's settings lead elsewhere: then nothing would be backed up, and nobody told.
  if (isCopied) await runAsOwner(config.dataDir, () => requireDatabase(config));
  const paths = executablePaths(process.execPath);
  try {
    writeNext(paths, await fetchExecutable(offered, read));
    await requireUsable(paths.next, version, config);
    const backup = { config, version: VERSION, next: version };
    const { copy, warnings } = isCopied
      ? await runAsOwner(config.dataDir, () => backUpDatabase({ ...backup, signal: stopSignals() }))
      : { copy: undefined, warnings: [] };
    swapInNext(paths);
    const lines = [
      `taskgate ${version} is installed; ${VERSION} is kept as ${paths.previous}`,
      ...(copy ? [`Backed up: ${copy}`] : []),
      ...warnings.map((each) => `warning: ${each}`),
      RESTART,
    ];
    answer(
      input,
      { ok: true, version, former: VERSION, previous: paths.previous, backup: copy, warnings },
      lines.join('\n'),
    );
    return EXIT.ok;
  } finally {
    rmSync(paths.next, { force: true });
  }
}

async function findRelease({ upgradeKey }: Config, read: ReadFile): Promise<OfferedRelease> {
  const key = parsePublicKey(upgradeKey);
  const checksums = await read(CHECKSUMS_FILE, MAX_LIST_BYTES);
  if (!checksums.ok) throw new OperatorError(`the release cannot be read: ${checksums.error.message}`);
  const signature = await read(SIGNATURE_FILE, MAX_LIST_BYTES);
  if (!signature.ok && !signature.error.absent) {
    throw new OperatorError(`the release cannot be read: ${signature.error.message}`);
  }
  if (!key) throw new OperatorError('UPGRADE_PUBLIC_KEY is not a public key');
  const files = { checksums: checksums.value, signature: signature.ok ? signature.value : undefined };
  const release = readRelease({ ...files, key, target: TARGET });
  if (!release.ok) throw new OperatorError(`${release.error}; nothing was replaced`);
  return release.value;
}

async function fetchExecutable({ file, sha256 }: OfferedRelease, read: ReadFile): Promise<Uint8Array> {
  const archive = await read(file, MAX_ARCHIVE_BYTES);
  if (!archive.ok) throw new OperatorError(`the release cannot be read: ${archive.error.message}`);
  if (createHash('sha256').update(archive.value).digest('hex') !== sha256) {
    throw new OperatorError(
      `${file} does not match ${CHECKSUMS_FILE}: it was changed or truncated; nothing was replaced`,
    );
  }
  const executable = unpackExecutable(archive.value, file);
  if (!executable) throw new OperatorError(`${file} holds no executable; nothing was replaced`);
  return executable;
}

/** The new executable must run on this machine, and a start of it must not be refused. */
async function requireUsable(path: string, version: string, { dataDir }: Config): Promise<void> {
  const probed = await probeExecutable(path);
  if (probed?.version !== version) {
    throw new OperatorError(`the executable of ${version} does not run here; nothing was replaced`);
  }
  const command = [path, 'migrate', '--dry-run', '--json', '--data-dir', resolve(dataDir)];
  // A gateway that runs holds its data directory; its next start checks the rest.
  const serious = readProblems((await runForJson(command, DRY_RUN_MS)).body).filter(
    (problem) => !problem.startsWith('Another gateway is running'),
  );
  if (serious.length > 0) {
    throw new OperatorError(`taskgate ${version} would not start; nothing was replaced:\n  ${serious.join('\n  ')}`);
  }
}

/** An executable that refuses the settings answers with one error instead of problems. */
function readProblems(answer: unknown): string[] {
  const { problems, error } = isObject(answer) ? answer : {};
  if (Array.isArray(problems)) return problems.map(String);
  return [typeof error === 'string' ? error : `its check, "migrate --dry-run", gave no answer`];
}

async function goBack(input: CommandInput, config: Config): Promise<ExitCode> {
  const paths = executablePaths(process.execPath);
  const previous = await probeExecutable(paths.previous);
  if (!previous) throw new OperatorError(`there is no previous executable that runs: ${paths.previous}`);
  const { version, database } = previous;
  if (database === undefined) {
    throw new OperatorError(`taskgate ${version} does not say which database it knows: restore the backup from before`);
  }
  const reverted = await runAsOwner(config.dataDir, async () => {
    await requireDatabase(config);
    return (await databaseVersion(config)) > database ? revertStore({ ...config, to: database }) : [];
  });
  try {
    swapBack(paths);
  } finally {
    rmSync(paths.next, { force: true });
  }
  const lines = [
    `taskgate ${version} is back; ${VERSION} is kept as ${paths.previous}`,
    ...reverted.map((name) => `Taken back: ${name}`),
    RESTART,
  ];
  answer(input, { ok: true, version, former: VERSION, previous: paths.previous, reverted }, lines.join('\n'));
  return EXIT.ok;
}

export async function showVersion(input: CommandInput): Promise<ExitCode> {
  const platform = TARGET === '' ? {} : { target: TARGET };
  answer(
    input,
    { name: 'taskgate', version: VERSION, ...platform, database: LATEST_MIGRATION, runtime: `bun ${Bun.version}` },
    `taskgate ${VERSION}`,
  );
  return EXIT.ok;
}
