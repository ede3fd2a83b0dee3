import { defineAccounts, defineAlerts } from './accounts.ts';
import { defineFigures } from './figures.ts';
import { defineBackups, defineGateway, defineImports, definePluginHistory } from './gateway.ts';
import { type Kit, postgresKit, sqliteKit } from './kits.ts';
import { defineBatches, defineRelay, defineResults, defineTasks, defineWaiting } from './tasks.ts';

const defineTables = (kit: Kit) => ({
  ...defineAccounts(kit),
  ...defineGateway(kit),
  ...defineTasks(kit),
  ...defineWaiting(kit),
  ...defineRelay(kit),
  ...defineBatches(kit),
  ...definePluginHistory(kit),
  ...defineResults(kit),
  ...defineAlerts(kit),
  ...defineBackups(kit),
  ...defineImports(kit),
  ...defineFigures(kit),
});

export type Tables = ReturnType<typeof defineTables>;

/**
 * Every table, as drizzle sees it in one dialect. The migrations create the same tables; a test
 * compares the two.
 */
export const tablesFor = (dialect: 'sqlite' | 'postgres'): Tables =>
  defineTables(dialect === 'sqlite' ? sqliteKit : postgresKit);
