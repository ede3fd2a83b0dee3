import { LATEST_MIGRATION } from '../../store/index.ts';
import { withPostgresSnapshot } from '../../store/postgres-backup.ts';
import { CommandError } from '../cli/command.ts';
import { requireConsistent } from './check-copy.ts';
import { neededFiles } from './dump-sqlite.ts';
import { runPostgresProgram } from './postgres-programs.ts';
import { putPart } from './put-part.ts';
import { openPart, requirePart } from './read-parts.ts';
import { digestOf, linesOf } from './streams.ts';
import type { BackupDeps, DumpedDatabase, Manifest } from './types.ts';

const PART = 'database.dump';
/** A row of a dump; prompts and vendors' answers are in it. */
const MAX_LINE = 256 * 1024 * 1024;

/**
 * Stores what `pg_dump` writes of one consistent state. Counts, ledger and the list of results are
 * read from the same state.
 */
export async function dumpPostgres(deps: BackupDeps, id: string): Promise<DumpedDatabase> {
  const { config, clock, place } = deps;
  const { databaseUrl } = config;
  return withPostgresSnapshot({ databaseUrl, clock }, async ({ snapshot, reading }) => {
    const args = ['--format=custom', '--no-owner', '--no-privileges', `--snapshot=${snapshot}`];
    const dumping = runPostgresProgram(deps, { program: 'pg_dump', args });
    const part = await putPart(deps, `${id}/${PART}`, dumping.output());
    const counts = await reading.backups.measure();
    await requireConsistent(reading);
    const results: { sha256: string; bytes: number }[] = [];
    for await (const file of neededFiles(reading.results)) results.push(file);
    const stored = await place.objects.open(`${id}/${PART}`);
    if (!stored || (await digestOf(stored)).sha256 !== part.sha256) {
      throw new CommandError('the backup location returns different bytes than were written');
    }
    return {
      database: { kind: 'postgres', migration: LATEST_MIGRATION, file: PART, ...part, unpacked: null },
      counts,
      results: toAsync(results),
      close: async () => {},
    };
  });
}

async function* toAsync<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/**
 * Reads the whole dump with `pg_restore`, which writes it as text, and counts rows and money there.
 * @throws `CommandError` when it is damaged or holds something else than its manifest says
 */
export async function verifyPostgres(deps: BackupDeps, manifest: Manifest): Promise<void> {
  const { place } = deps;
  const { id, database, counts } = manifest;
  await requirePart(place, id, database);
  const input = await openPart(place, id, database);
  const reading = runPostgresProgram(deps, { program: 'pg_restore', args: ['--file=-'], input });
  const found = await countRows(reading.output());
  const same =
    found.users === counts.users &&
    found.tasks === counts.tasks &&
    found.ledger_entries === counts.ledger_entries &&
    String(found.ledgerSum) === counts.ledger_sum;
  if (!same) throw new CommandError(`the backup ${id} does not hold what its manifest says`);
}

const COPY = /^COPY (?:"?[\w$]+"?\.)?"?(users|tasks|ledger_entries)"? \((.*)\) FROM stdin;$/;
const LONG_ENOUGH_FOR_COPY = 4096;

async function countRows(text: AsyncIterable<Uint8Array>) {
  const rows = { users: 0, tasks: 0, ledger_entries: 0 };
  let ledgerSum = 0n;
  let table: keyof typeof rows | undefined;
  let amountAt = -1;
  for await (const line of linesOf(text, MAX_LINE)) {
    if (table === undefined) {
      const [, name, columns = ''] = (line.length <= LONG_ENOUGH_FOR_COPY && COPY.exec(line)) || [];
      table = name as keyof typeof rows | undefined;
      amountAt = table === 'ledger_entries' ? columns.split(', ').indexOf('amount') : -1;
    } else if (line === '\\.') {
      table = undefined;
    } else {
      rows[table] += 1;
      if (amountAt >= 0) ledgerSum += BigInt(line.split('\t')[amountAt] ?? '0');
    }
  }
  return { ...rows, ledgerSum };
}
