import { checkHistory } from './check-history.ts';
import { preparePostgres, prepareSqlite } from './databases.ts';
import type { Violation } from './facts.ts';
import { type History, type HistoryParts, runHistory } from './history.ts';
import { loadPlugins, prepareWorld } from './prepared-world.ts';

/** The history of one seed, and the rules that it broke. */
export type CheckedHistory = { seed: number; violations: readonly Violation[]; history: History };

export type Simulation = {
  run(seed: number): Promise<CheckedHistory>;
  close(): Promise<void>;
};

/** Prepares what all histories begin with; each `run` begins with a new copy of it. */
export async function openSimulation({ postgres = false }: { postgres?: boolean } = {}): Promise<Simulation> {
  const plugins = await loadPlugins();
  const prepare = postgres ? preparePostgres : prepareSqlite;
  const parts: HistoryParts = { plugins, databases: await prepare((store) => prepareWorld(store, plugins)) };
  return {
    async run(seed) {
      const history = await runHistory(seed, parts);
      return { seed, violations: checkHistory(history), history };
    },
    close: () => parts.databases.close(),
  };
}
