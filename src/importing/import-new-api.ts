import { type Clock, OperatorError, pluralize, QUOTA_PER_USD, type SecretBox, sha256Hex } from '../kernel/index.ts';
import type { SourceDatabase } from '../store/index.ts';
import { ROLE, type Store } from '../store/ports/index.ts';
import { SKIPPED_TABLES } from './new-api-mapping.ts';
import { planChannels } from './plan-channels.ts';
import type { PlanContext } from './plan-context.ts';
import { planOptions } from './plan-options.ts';
import { planPlugins, planProviders } from './plan-plugins-and-providers.ts';
import { planPrices } from './plan-prices.ts';
import { planUsers } from './plan-users.ts';
import { findFault, readNumber, readSource, readText, type SourceReader } from './read-source.ts';
import { createReporter, type ImportReport, silentReporter } from './report.ts';
import { KEEPS_IDS, writeSettings, writeUsers } from './write-import.ts';

/** Users in one transaction. A gateway that runs beside the import waits for it. */
const WRITTEN_AT_ONCE = 8;
/** The longest rest after a page of users. */
const MAX_REST_MS = 100;
const UNIT = 'QuotaPerUnit';
/** The quota that new-api counts as one USD where the option is not set. */
const DEFAULT_UNIT = 500_000;

export type ImportDeps = { store: Store; secretBox: SecretBox; clock: Clock };
export type ImportOptions = {
  dryRun: boolean;
  /** Called after each page of users that was written. */
  onProgress?: (users: number) => void;
};

/**
 * Imports users, channels, prices and settings from a database of new-api. Reads and checks the
 * whole source first; a dry run ends there. Then it writes the settings in one transaction, and
 * the users a few at a time: an interrupted import goes on where it stopped, and importing again
 * changes nothing.
 *
 * @throws `OperatorError` where the source cannot be read or understood
 */
export async function importNewApi(
  { store, secretBox, clock }: ImportDeps,
  database: SourceDatabase,
  { dryRun, onProgress }: ImportOptions,
): Promise<ImportReport> {
  const source = await readSource(database);
  const identity = await identify(source);
  const { key: sourceKey } = identity;
  const { options, unreadable } = await readSourceOptions(source);
  const reporter = createReporter();
  const keepsIds = await findKeepsIds(store, sourceKey);
  const common = {
    ...{ source, sourceKey, store, secretBox, report: reporter, options, unreadable, keepsIds },
    scale: QUOTA_PER_USD / readUnit(options, unreadable),
    hasRoot: (await store.users.countByRole(ROLE.root)) > 0,
    now: clock.unix(),
  };
  const providers = await planProviders(common);
  const context: PlanContext = { ...common, providers: providers.slugs };
  const plugins = await planPlugins(context);
  const channels = await planChannels(context);
  const prices = await planPrices(context, channels);
  const settings = await planOptions(context);
  let lastUserId = 0;
  for await (const page of withRests(clock, planUsers(context))) {
    for (const { sourceId } of page) lastUserId = Math.max(lastUserId, Number(sourceId));
  }
  await reportSkipped(source, reporter);

  if (!dryRun) {
    const deps = { store, clock, secretBox, sourceKey };
    const planned = {
      providers: providers.planned,
      channels: channels.planned,
      plugins,
      prices,
      options: settings,
      keepsIds,
      lastUserId,
    };
    await writeSettings(deps, planned);
    let written = 0;
    for await (const page of withRests(clock, planUsers({ ...context, report: silentReporter }))) {
      for (let at = 0; at < page.length; at += WRITTEN_AT_ONCE) {
        await writeUsers(deps, page.slice(at, at + WRITTEN_AT_ONCE));
      }
      written += page.length;
      onProgress?.(written);
    }
  }
  return reporter.report({ source: { kind: database.kind, ...identity }, dry_run: dryRun });
}

/** Rests after each page for as long as the page took: a running gateway keeps half a processor. */
async function* withRests<T>(clock: Clock, pages: AsyncIterable<T>): AsyncGenerator<T> {
  let began = clock.monotonicMs();
  for await (const page of pages) {
    await clock.sleep(Math.min(clock.monotonicMs() - began, MAX_REST_MS));
    yield page;
    began = clock.monotonicMs();
  }
}

/**
 * Identifies the installation by when it was set up, or by its first account. A copy of its
 * database, a dump on another kind of server and a later state have the same key.
 */
async function identify(source: SourceReader): Promise<{ key: string; version: string }> {
  const [setup] = await source.all('setups');
  const initialized = setup === undefined ? undefined : readNumber(setup, 'initialized_at');
  const [first] = await source.page('users', Number.MIN_SAFE_INTEGER, 1);
  const mark = initialized || `${first ? readText(first, 'id') : ''} ${first ? readText(first, 'created_at') : ''}`;
  return {
    key: `new-api-${sha256Hex(`new-api ${mark}`).slice(0, 16)}`,
    version: setup ? readText(setup, 'version') : '',
  };
}

type SourceOptions = { options: Map<string, string>; unreadable: string[] };

async function readSourceOptions(source: SourceReader): Promise<SourceOptions> {
  const options = new Map<string, string>();
  const unreadable: string[] = [];
  for (const row of await source.all('options')) {
    const key = readText(row, 'key');
    if (findFault(row, ['key', 'value']) === undefined) options.set(key, readText(row, 'value'));
    else unreadable.push(key);
  }
  return { options, unreadable };
}

function readUnit(options: ReadonlyMap<string, string>, unreadable: readonly string[]): number {
  const text = unreadable.includes(UNIT) ? '?' : options.get(UNIT);
  const unit = text === undefined || text.trim() === '' ? DEFAULT_UNIT : Number(text);
  if (Number.isFinite(unit) && unit >= 1 && unit <= 1e12) return unit;
  throw new OperatorError(
    `the option ${UNIT} of the source is not a number that balances can be counted by: ${text?.slice(0, 40)}`,
  );
}

/** Whether users keep their ids: only in an empty gateway. Passkeys and people refer to them. */
async function findKeepsIds(store: Store, sourceKey: string): Promise<boolean> {
  const known = (await store.imports.targets(sourceKey, 'run', [KEEPS_IDS])).get(KEEPS_IDS);
  return known === undefined ? (await store.imports.lastUserId()) === 0 : known === 1;
}

async function reportSkipped(source: SourceReader, reporter: ReturnType<typeof createReporter>): Promise<void> {
  for (const [table, message] of Object.entries(SKIPPED_TABLES)) {
    const count = await source.count(table);
    if (!count) continue;
    reporter.remark({
      kind: 'table',
      id: table,
      name: pluralize(count, 'row'),
      effect: 'left',
      code: 'stays',
      message,
    });
  }
}
