import type { SQL } from 'bun';
import { migrations } from '../../../migrations/index.ts';

/** What acts by itself in the current schema, and the statement that removes it. */
const ACTING = `
  select 'rule ' || rulename, format('drop rule %I on %s', rulename, ev_class::regclass)
    from pg_rewrite join pg_class on pg_class.oid = ev_class
    where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p')
  union all
  select 'policy ' || polname, format('drop policy %I on %s', polname, polrelid::regclass)
    from pg_policy join pg_class on pg_class.oid = polrelid where relnamespace = quote_ident(current_schema())::regnamespace
  union all
  select 'row security of ' || relname, format('alter table %s disable row level security, no force row level security', oid::regclass)
    from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and (relrowsecurity or relforcerowsecurity)
  union all
  select 'trigger ' || tgname, format('drop trigger %I on %s', tgname, tgrelid::regclass)
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = quote_ident(current_schema())::regnamespace and not tgisinternal
  union all
  select 'view ' || relname, format('drop %s if exists %s cascade', case relkind when 'm' then 'materialized view' else 'view' end, oid::regclass)
    from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('v', 'm')
  union all
  select 'function ' || proname, format('drop routine if exists %s cascade', oid::regprocedure)
    from pg_proc where pronamespace = quote_ident(current_schema())::regnamespace`;

const OWN = /^(?:create (?:or replace )?function|create trigger|drop function|drop trigger) (?:if exists )?(\w+)/;

/**
 * Removes from a database that was just loaded all that acts by itself, and makes this program's
 * own functions and triggers anew, as of the migration `until`: those of the backup may do
 * anything. Returns the names of the others. Call it in a transaction.
 */
export async function renewOwnSchema(tx: SQL, until: number): Promise<string[]> {
  const own = migrations.filter(({ number }) => number <= until).flatMap(({ sql }) => actingIn(sql.postgres));
  const names = new Set(own.map((statement) => OWN.exec(statement)?.[1]));
  const found = (await tx.unsafe(ACTING).values()) as unknown[][];
  for (const [, statement] of found) await tx.unsafe(String(statement));
  for (const statement of own) await tx.unsafe(statement);
  return found
    .map(([name]) => String(name).slice(0, 100))
    .filter((name) => !names.has(name.slice(name.indexOf(' ') + 1)));
}

/** The statements of a migration that make or remove functions and triggers, in their order. */
function actingIn(text: string): string[] {
  const statements = [''];
  for (const [at, part] of text
    .replaceAll(/--[^\n]*/g, '')
    .split('$$')
    .entries()) {
    // Every other part is the body of a function.
    const pieces = at % 2 === 1 ? [`$$${part}$$`] : part.split(';');
    statements.push(`${statements.pop()}${pieces[0]}`, ...pieces.slice(1));
  }
  return statements.map((statement) => statement.trim()).filter((statement) => OWN.test(statement));
}
