import { availableParallelism } from 'node:os';
import { openSimulation } from '../test/simulation/run-seeds.ts';
import { runMutants } from './simulate-mutants.ts';

/**
 * npm run simulate: histories of the real engine with simulated time, vendors, networks and deaths
 * of processes, held to what the specification says. One seed is one history on SQLite; on
 * PostgreSQL a seed fixes the faults. Exit code 1: a history broke a rule.
 */
const USAGE = `Usage: npm run simulate -- --seeds N [--seed FIRST] [--postgres]
       npm run simulate -- --seed S [--postgres]     one history, told line by line
       npm run simulate -- --mutants [TEXT]          whether faults planted in the source are found`;

type Options = {
  seeds: number;
  seed: number | undefined;
  postgres: boolean;
  shard: string | undefined;
  first: boolean;
};

async function main(args: string[]): Promise<number> {
  if (args[0] === '--mutants' && args.length <= 2) return runMutants(args[1]);
  const options = readOptions(args);
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  if (options.shard !== undefined) return runShard(options);
  if (options.seed !== undefined && options.seeds === 0) return tell(options.seed, options);
  return runAll(options);
}

function readOptions(args: string[]): Options | undefined {
  const options: Options = { seeds: 0, seed: undefined, postgres: false, shard: undefined, first: false };
  const left = [...args];
  while (left.length > 0) {
    const name = left.shift();
    if (name === '--postgres') options.postgres = true;
    else if (name === '--first') options.first = true;
    else if (name === '--shard') options.shard = left.shift() ?? '';
    else if (name === '--seeds' || name === '--seed') {
      const value = left.shift() ?? '';
      if (!/^\d{1,9}$/.test(value)) return undefined;
      options[name === '--seeds' ? 'seeds' : 'seed'] = Number(value);
    } else return undefined;
  }
  return options.seeds > 0 || options.seed !== undefined ? options : undefined;
}

/** Tells one history, and where it broke a rule. */
async function tell(seed: number, { postgres }: Options): Promise<number> {
  const simulation = await openSimulation({ postgres });
  const { history, violations } = await simulation.run(seed);
  for (const note of history.notes) console.log(note);
  console.log(`rates: ${JSON.stringify(history.plan.rates)}`);
  print(seed, violations);
  await simulation.close();
  return violations.length > 0 ? 1 : 0;
}

/** Each process takes every nth seed. */
async function runAll({ seeds, seed: first = 1, postgres }: Options): Promise<number> {
  const begun = performance.now();
  const shards = Math.min(availableParallelism(), seeds);
  const exits = await Promise.all(
    Array.from({ length: shards }, (_, index) => {
      const args = ['--seed', `${first + index}`, '--seeds', `${Math.ceil((seeds - index) / shards)}`];
      const more = [...(postgres ? ['--postgres'] : []), '--shard', `${shards}`];
      const command = [process.execPath, import.meta.path, ...args, ...more];
      return Bun.spawn(command, { stdio: ['ignore', 'inherit', 'inherit'] }).exited;
    }),
  );
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const code = Math.max(...exits);
  console.log(
    `${seeds} seeds from ${first} on ${postgres ? 'PostgreSQL' : 'SQLite'} in ${seconds} s: ${code === 0 ? 'no rule was broken' : 'rules were broken'}`,
  );
  return code;
}

/** `first`: stops at the first seed that breaks a rule. */
async function runShard({ seed: begin = 1, seeds, postgres, shard, first }: Options): Promise<number> {
  const simulation = await openSimulation({ postgres });
  let broken = 0;
  for (let index = 0; index < seeds; index += 1) {
    const { seed, violations } = await simulation.run(begin + index * Number(shard));
    if (violations.length === 0) continue;
    broken += 1;
    print(seed, violations);
    if (first) break;
  }
  await simulation.close();
  return broken > 0 ? 1 : 0;
}

function print(seed: number, violations: readonly { rule: string; what: string }[]): void {
  for (const { rule, what } of violations) console.log(`seed ${seed} broke "${rule}": ${what}`);
}

process.exit(await main(process.argv.slice(2)));
