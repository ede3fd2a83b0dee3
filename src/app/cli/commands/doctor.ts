import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  AppError,
  createSecretBox,
  OperatorError,
  type SecretBox,
  silentLogger,
  systemClock,
} from '../../../kernel/index.ts';
import { isDamage } from '../../../operations/doctor/advise-on-damage.ts';
import { checkBackups } from '../../../operations/doctor/check-backups.ts';
import { checkNetwork } from '../../../operations/doctor/check-network.ts';
import { checkResults } from '../../../operations/doctor/check-results.ts';
import { checkLedger, type Finding, runDoctorChecks } from '../../../operations/doctor/doctor-checks.ts';
import { UNCHECKED } from '../../../operations/doctor/weekly-check.ts';
import { describeMissingSecrets, hasSecrets, readSecrets } from '../../../operations/secrets/load-secrets.ts';
import { describeFolder } from '../../../operations/start/prepare-data-dir.ts';
import { openStoreBesideGateway } from '../../../operations/storage/open-store-beside-gateway.ts';
import { openResultFiles } from '../../../operations/storage/result-files.ts';
import { createSandbox } from '../../../sandbox/index.ts';
import { type OptionValues, readOptions } from '../../../settings/index.ts';
import { describeSqlite, findDamage, type Rest } from '../../../store/index.ts';
import type { Store } from '../../../store/ports/index.ts';
import { configuredNetwork, createUpstream } from '../../../upstream/index.ts';
import { isLoopback } from '../../config/check-config.ts';
import type { Config } from '../../config/config-variables.ts';
import { configuredNode, listeningAddress } from '../../config/node-address.ts';
import { panelHostNames } from '../../config/room-settings.ts';
import { sandboxCommand, sandboxLimits } from '../../config/sandbox-settings.ts';
import { answer, type CommandInput, EXIT, type ExitCode, lowerPriority, UsageError } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

/** A start takes a tenth of a second on an idle machine. */
const SANDBOX_START_MS = 10_000;
/** Between two slices of `--data`: as long as the last one took, within these bounds. */
const LEAST_REST_MS = 20;
const LONGEST_REST_MS = 5000;
const MARKS = { ok: 'ok     ', warning: 'warning', error: 'ERROR  ' } as const;

/**
 * Checks database, ledger, secrets, folders and configuration; a gateway may be running. Exit 1 if
 * there is an error; warnings alone exit 0.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config, warnings } = readSettings(input);
  const findings = warnings.map(({ message }): Finding => ({ check: 'configuration', level: 'warning', message }));
  if (warnings.length === 0)
    findings.push({ check: 'configuration', level: 'ok', message: 'the configuration is valid' });
  if (!input.values.data) findings.push(await checkSandbox(config));
  const usable = config.databaseUrl === '' ? checkFolder(config.dataDir, findings) : true;
  const { results, verify, network, data } = input.values;
  const [channel] = input.positionals;
  if (verify && !results) throw new UsageError('--verify belongs to --results');
  if (data && (results || network))
    throw new UsageError('--data checks nothing else: leave out --results and --network');
  if (channel !== undefined && !network) throw new UsageError(`${channel} belongs to --network`);
  if (usable && data) findings.push(...(await checkDataInSlices(config)));
  else if (usable) {
    const wanted = {
      results: results ? { verify: verify === true } : undefined,
      network: network ? { channel } : undefined,
    };
    findings.push(...(await checkDatabase(config, wanted)));
  }

  const failed = findings.some((finding) => finding.level === 'error');
  const text = findings.map((finding) => `${MARKS[finding.level]}  ${finding.check}: ${finding.message}`).join('\n');
  answer(input, { ok: !failed, findings }, text);
  return failed ? EXIT.failed : EXIT.ok;
}

/** Returns false if there is no data directory: doctor creates nothing. */
function checkFolder(path: string, findings: Finding[]): boolean {
  const folder = resolve(path);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    findings.push({ check: 'data_dir', level: 'error', message: `there is no data directory ${folder}` });
    return false;
  }
  const warnings = describeFolder(folder);
  findings.push(...warnings.map((message): Finding => ({ check: 'data_dir', level: 'warning', message })));
  if (warnings.length === 0)
    findings.push({
      check: 'data_dir',
      level: 'ok',
      message: `only its owner can read and write ${folder}, and it has space`,
    });
  return true;
}

type Wanted = { results: { verify: boolean } | undefined; network: { channel: string | undefined } | undefined };

async function checkDatabase(config: Config, { results, network }: Wanted): Promise<Finding[]> {
  try {
    const damage = await checkPages(config);
    if (damage.level === 'error') return [damage];
    await requireDatabase(config);
    const store = await openStoreBesideGateway(config);
    try {
      if (!hasSecrets(config, config.dataDir)) {
        // What they seal would all be named as unreadable.
        const message = describeMissingSecrets(config.dataDir);
        return [damage, await checkLedger(store), { check: 'secrets', level: 'error', message }];
      }
      const secrets = readSecrets(config);
      const box = createSecretBox(secrets.crypto);
      const options = readOptions(await store.options.all(), box);
      const found = await runDoctorChecks({
        store,
        secretBox: box,
        clock: systemClock,
        node: { ...configuredNode(config), listening: listeningAddress(config, config.port) },
      });
      return [
        ...(store.dialect === 'sqlite' ? [sqliteFinding(describeSqlite())] : []),
        damage,
        ...found,
        ...checkNames(config, options),
        ...(await checkBackups({ store, clock: systemClock, config, options })),
        ...(results ? await checkFiles(config, store, results) : []),
        ...(network ? await checkRoute(config, { store, secretBox: box }, network.channel) : []),
        ...secrets.warnings.map((message): Finding => ({ check: 'secrets', level: 'warning', message })),
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!(error instanceof AppError || error instanceof OperatorError)) throw error;
    return [{ check: 'database', level: 'error', message: error.message }];
  }
}

/** Checks the data as the gateway does each week: slowly, since requests are served beside it. */
async function checkDataInSlices(config: Config): Promise<Finding[]> {
  lowerPriority();
  let begun = systemClock.monotonicMs();
  const rest = async (): Promise<void> => {
    const took = systemClock.monotonicMs() - begun;
    await systemClock.sleep(Math.min(Math.max(took, LEAST_REST_MS), LONGEST_REST_MS));
    begun = systemClock.monotonicMs();
  };
  try {
    const damage = await checkPages(config, rest);
    if (damage.level === 'error') return [damage];
    await requireDatabase(config);
    const store = await openStoreBesideGateway(config);
    try {
      return [damage, await checkLedger(store)];
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!(error instanceof AppError || error instanceof OperatorError)) throw error;
    const details = isDamage(error) ? {} : { details: UNCHECKED };
    return [{ check: 'database', level: 'error', message: error.message, ...details }];
  }
}

/** First of all: what stands in broken pages cannot be trusted to be checked. */
async function checkPages(config: Config, rest?: Rest): Promise<Finding> {
  const check = 'database';
  const { faults, unchecked } = await findDamage(config, rest);
  if (faults.length > 0) {
    const advice =
      'stop the gateway, keep a copy of the data as it is, and restore the newest backup: see "A damaged database" in docs/operating/incidents.md';
    return { check, level: 'error', message: `the database is damaged: ${faults.join('; ')}. Now ${advice}` };
  }
  const message = 'every page and index of the database is whole';
  return unchecked === undefined
    ? { check, level: 'ok', message }
    : { check, level: 'warning', message: `no page of the database is known to be damaged, without ${unchecked}` };
}

/** On macOS the runtime loads the library of the system, which is an older one. */
const sqliteFinding = ({ version, lacks }: ReturnType<typeof describeSqlite>): Finding => ({
  check: 'sqlite',
  level: 'ok',
  message: lacks.length === 0 ? `SQLite ${version}` : `SQLite ${version} lacks ${lacks.join('; ')}`,
});

async function checkFiles(config: Config, store: Store, { verify }: { verify: boolean }): Promise<Finding[]> {
  const { files, close } = openResultFiles(config, { clock: systemClock, logger: silentLogger, store });
  try {
    return await checkResults({ store, files }, { verify });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    return [{ check: 'results', level: 'error', message: `the files of kept results cannot be read: ${reason}` }];
  } finally {
    await close();
  }
}

async function checkRoute(
  config: Config,
  deps: { store: Store; secretBox: SecretBox },
  channel: string | undefined,
): Promise<Finding[]> {
  const upstream = createUpstream({
    ...{ allowPrivate: config.upstreamAllowPrivate, clock: systemClock, logger: silentLogger },
    network: configuredNetwork(config),
  });
  try {
    return await checkNetwork({ ...deps, upstream, clock: systemClock }, channel);
  } finally {
    await upstream.close();
  }
}

/** Whether a plugin process starts, and how much of the system code that escapes it could reach. */
async function checkSandbox(config: Config): Promise<Finding> {
  const check = 'sandbox';
  const limits = { ...sandboxLimits(config), processes: 1 };
  const sandbox = createSandbox({ limits, command: sandboxCommand(), clock: systemClock, logger: silentLogger });
  try {
    await Promise.race([sandbox.ready(), systemClock.sleep(SANDBOX_START_MS)]);
    const { unfiltered } = sandbox.stats();
    if (unfiltered === undefined)
      return { check, level: 'error', message: `no process for plugins was ready within ${SANDBOX_START_MS / 1000} s` };
    if (unfiltered === null)
      return { check, level: 'ok', message: 'processes of plugins can open nothing: their system calls are filtered' };
    const message = `processes of plugins run without a filter of system calls: ${unfiltered}. WebAssembly and limits still confine plugins; for this second wall, run the gateway on Linux with seccomp`;
    return { check, level: 'warning', message };
  } finally {
    await sandbox.close();
  }
}

/** The host names of the panel; a listener on loopback refuses all others. */
function checkNames(config: Config, options: OptionValues): Finding[] {
  if (!isLoopback(config.host)) return [];
  const names = [...new Set(panelHostNames(config, options))];
  const others = names.filter((name) => name !== 'localhost');
  const message =
    others.length === 0
      ? 'the panel answers under localhost and IP addresses; behind a proxy, set ServerAddress or TRUSTED_HOSTS to the public name'
      : `the panel answers under localhost, IP addresses, ${others.join(', ')}`;
  return [{ check: 'configuration', level: 'ok', message }];
}
