import { defineAccounts, defineAlerts } from './accounts.ts';
import { type DialectColumns, postgresColumns, sqliteColumns } from './dialect-columns.ts';
import { defineFigures } from './figures.ts';
import { defineBackups, defineGateway, defineImports, definePluginHistory } from './gateway.ts';
import { defineBatches, defineRelay, defineResults, defineTasks, defineWaiting } from './tasks.ts';

const defineTables = (columns: DialectColumns) => ({
  ...defineAccounts(columns),
  ...defineGateway(columns),
  ...defineTasks(columns),
  ...defineWaiting(columns),
  ...defineRelay(columns),
  ...defineBatches(columns),
  ...definePluginHistory(columns),
  ...defineResults(columns),
  ...defineAlerts(columns),
  ...defineBackups(columns),
  ...defineImports(columns),
  ...defineFigures(columns),
});

export type Tables = ReturnType<typeof defineTables>;

/**
 * Every table, as drizzle sees it in one dialect. The migrations create the same tables; a test
 * compares the two.
 */
export const tablesFor = (dialect: 'sqlite' | 'postgres'): Tables =>
  defineTables(dialect === 'sqlite' ? sqliteColumns : postgresColumns);
