import { AsyncLocalStorage } from 'node:async_hooks';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { BindRepositories } from '../../src/store/drivers/connection.ts';
import { migrateStore } from '../../src/store/index.ts';
import { assembleStore } from '../../src/store/open-store.ts';
import type { Repositories, Store } from '../../src/store/ports/index.ts';
import { openPostgres } from '../../src/store/postgres/open-postgres.ts';
import { findDeclaration } from '../../src/store/repositories/context.ts';
import { createRepositories } from '../../src/store/repositories/index.ts';
import { tablesFor } from '../../src/store/schema/index.ts';
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts';

type Call = { name: string; statements: string[] };

/**
 * A store as `openStore` opens it, and the methods that ran several statements outside of a
 * transaction of which one writes: a process that dies between them leaves half of the change.
 */
export async function openWatchedStore(options: {
  databaseUrl: string;
  dataDir: string;
}): Promise<{ store: Store; torn: Map<string, string[]> }> {
  const opening = { ...options, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger } as const;
  await migrateStore(opening);
  const dialect = options.databaseUrl === '' ? 'sqlite' : 'postgres';
  const tables = tablesFor(dialect);
  const calls = new AsyncLocalStorage<Call>();
  const torn = new Map<string, string[]>();
  const separate = new Set<string>();
  let isRoot = true;
  const bind: BindRepositories = (run, memory) => {
    // The driver binds the store itself first, and transactions later.
    if (!isRoot) return createRepositories({ dialect, tables, clock: systemClock, run }, memory);
    isRoot = false;
    const watched: typeof run = (text, params) => {
      const call = calls.getStore();
      call?.statements.push(text);
      if (call && !separate.has(call.name) && call.statements.length > 1 && call.statements.some(writes))
        torn.set(call.name, call.statements);
      return run(text, params);
    };
    const root = createRepositories({ dialect, tables, clock: systemClock, run: watched }, memory);
    for (const [repository, its] of Object.entries(root))
      for (const [name, method] of Object.entries(its))
        if (findDeclaration(method as never) === 'separate') separate.add(`${repository}.${name}`);
    return root;
  };
  const driver =
    dialect === 'sqlite'
      ? openSqlite({ ...opening, bind, release: () => {} })
      : await openPostgres({ ...opening, bind });
  return { store: nameCalls(assembleStore(dialect, driver), calls), torn };
}

const writes = (text: string): boolean =>
  /\b(insert into|update|delete from)\b/i.test(text.replace(/for (no key )?update/gi, ''));

/** `store` whose methods run as calls of their names. */
function nameCalls(store: Store, calls: AsyncLocalStorage<Call>): Store {
  const named = Object.entries(store).map(([repository, its]) => {
    if (its === null || typeof its !== 'object') return [repository, its];
    const methods = Object.entries(its as Record<string, (...args: unknown[]) => unknown>).map(([name, method]) => [
      name,
      (...args: unknown[]) => calls.run({ name: `${repository}.${name}`, statements: [] }, () => method(...args)),
    ]);
    return [repository, Object.fromEntries(methods)];
  });
  return Object.fromEntries(named) as Store & Repositories;
}
