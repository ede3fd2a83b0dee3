import { OperatorError, type Sentence, sentence } from '../../kernel/index.ts';
import { LATEST_MIGRATION } from '../../store/index.ts';
import { withPostgresSnapshot } from '../../store/snapshot/postgres-snapshot.ts';
import { putPart } from './backup-location.ts';
import { requireConsistent } from './check-copy.ts';
import { neededFiles } from './dump-sqlite.ts';
import { runPostgresProgram } from './postgres-programs.ts';
import { openPart, requirePart } from './read-parts.ts';
import { digestStream, readLines } from './streams.ts';
import type { BackupDeps, DumpedDatabase, Manifest } from './types.ts';

const PART = 'database.dump';
/** A row of a dump; prompts and vendors' answers are in it. */
const MAX_LINE = 256 * 1024 * 1024;

/**
 * Stores what `pg_dump` writes of one consistent state. Counts, ledger and the list of results are
 * read from the same state.
 */
export async function dumpPostgres(deps: BackupDeps, id: string): Promise<DumpedDatabase> {
  const { config, clock, location } = deps;
  const { databaseUrl } = config;
  return withPostgresSnapshot({ databaseUrl, clock }, async ({ snapshot, reading }) => {
    const schema = requireOneSchema(await reading.backups.schemas());
    // As a pattern that means this very name: other programs may have tables in the database.
    const only = `--schema="${schema.replaceAll('"', '""')}"`;
    const args = ['--format=custom', '--no-owner', '--no-privileges', `--snapshot=${snapshot}`, only];
    const dumping = runPostgresProgram(deps, { program: 'pg_dump', args });
    const part = await putPart(deps, `${id}/${PART}`, dumping.output());
    const counts = await reading.backups.measure();
    await requireConsistent(reading);
    const results: { sha256: string; bytes: number }[] = [];
    for await (const file of neededFiles(reading.results)) results.push(file);
    const stored = await location.objects.open(`${id}/${PART}`);
    if (!stored || (await digestStream(stored)).sha256 !== part.sha256) {
      throw new OperatorError(sentence('backup.other_bytes'));
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
 * @throws `OperatorError` when it is damaged or holds something else than its manifest says
 */
export async function verifyPostgres(deps: BackupDeps, manifest: Manifest): Promise<void> {
  const { location } = deps;
  const { id, database, counts } = manifest;
  await requirePart(location, id, database);
  const input = await openPart(location, id, database);
  const reading = runPostgresProgram(deps, { program: 'pg_restore', args: ['--file=-'], input });
  const found = await countRows(reading.output());
  const same =
    found.users === counts.users &&
    found.tasks === counts.tasks &&
    found.ledger_entries === counts.ledger_entries &&
    String(found.ledgerSum) === counts.ledger_sum;
  if (!same) throw new OperatorError(sentence('backup.not_as_manifest', { id }));
}

/** With the schema as PostgreSQL writes it: quoted where its name asks for it. */
const COPY = /^COPY ("(?:[^"]|"")+"|[^\s."]+)\."?(users|tasks|ledger_entries)"? \((.*)\) FROM stdin;$/;
const OWN_TABLE = /^CREATE TABLE ("(?:[^"]|"")+"|[^\s."]+)\."?schema_migrations"? \($/;
const LONG_ENOUGH = 4096;

async function countRows(text: AsyncIterable<Uint8Array>) {
  const rows = { users: 0, tasks: 0, ledger_entries: 0 };
  let ledgerSum = 0n;
  let own: string | undefined;
  let table: keyof typeof rows | undefined;
  let amountAt = -1;
  for await (const line of readLines(text, MAX_LINE)) {
    if (table === undefined) {
      if (line.length > LONG_ENOUGH) continue;
      own ??= OWN_TABLE.exec(line)?.[1];
      const [, schema, name, columns = ''] = COPY.exec(line) ?? [];
      table = schema === own ? (name as keyof typeof rows | undefined) : undefined;
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

/**
 * The schema whose tables are those of the gateway, by the layout that the dump holds.
 * @throws `OperatorError` where there is none, or more than one
 */
export async function schemaOfDump(deps: BackupDeps, { id, database }: Manifest): Promise<string> {
  const input = await openPart(deps.location, id, database);
  const reading = runPostgresProgram(deps, { program: 'pg_restore', args: ['--schema-only', '--file=-'], input });
  const found = new Set<string>();
  for await (const line of readLines(reading.output(), MAX_LINE)) {
    const [, schema] = (line.length <= LONG_ENOUGH && OWN_TABLE.exec(line)) || [];
    if (schema !== undefined) found.add(schema.startsWith('"') ? schema.slice(1, -1).replaceAll('""', '"') : schema);
  }
  const [name] = found;
  if (name !== undefined && found.size === 1) return name;
  throw new OperatorError(sentence('backup.two_gateways', { id, count: found.size }));
}

function requireOneSchema(schemas: readonly string[]): string {
  const fault = findSchemasFault(schemas);
  if (fault !== undefined) throw new OperatorError(fault);
  return schemas[0] ?? '';
}

/** Why a backup of tables in these schemas could not be restored; undefined: it could. */
export function findSchemasFault(schemas: readonly string[]): Sentence | undefined {
  if (schemas.length > 1) return sentence('backup.two_schemas', { schemas: schemas.join(', ') });
  const [name = ''] = schemas;
  return /\p{Cc}/u.test(name) ? sentence('backup.schema_name') : undefined;
}
