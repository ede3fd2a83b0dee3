import { type ResultsPlan, runResultsSoak } from '../bench/soak/run-results-soak.ts';
import { runSoak, type SoakPlan, type SoakReport } from '../bench/soak/run-soak.ts';
import { buildExecutable } from './build.ts';

/**
 * npm run soak: orders to several nodes of the executable on one PostgreSQL, while nodes are
 * killed, PostgreSQL is restarted and the vendor answers badly. Exit code 1: a task was lost,
 * bought twice, billed wrongly or not told.
 *
 * With --results, results are kept from a vendor whose files are gone after a minute, first in a
 * bucket whose server is killed twice, then in a shared folder. Exit code 1: one was lost, half,
 * there twice or left behind.
 */
const USAGE =
  'Usage: npm run soak [-- --tasks 5000 --nodes 3 --seconds 180] or [-- --results --tasks 500 --nodes 3 --megabytes 20]';
/** The folder takes less: what it has in common with the bucket has been shown by then. */
const FOLDER_SHARE = 0.1;

async function main(args: string[]): Promise<number> {
  if (args[0] === '--results') return keepResults(args.slice(1));
  const plan: SoakPlan = { tasks: 5000, nodes: 3, seconds: 180 };
  if (!readPlan(plan, args)) return 2;
  await build();
  return print(await runSoak(plan, (line) => console.log(line)));
}

async function keepResults(args: string[]): Promise<number> {
  const plan = { tasks: 500, nodes: 3, megabytes: 20 };
  if (!readPlan(plan, args)) return 2;
  await build();
  const bucket: ResultsPlan = { ...plan, place: 'bucket' };
  const folder: ResultsPlan = { ...plan, tasks: Math.ceil(plan.tasks * FOLDER_SHARE), place: 'folder' };
  const codes: number[] = [];
  for (const each of [bucket, folder]) {
    console.log(`\n${each.tasks} results of ${each.megabytes} MB in a ${each.place}`);
    codes.push(print(await runResultsSoak(each, (line) => console.log(line))));
  }
  return Math.max(...codes);
}

/** Writes the arguments into `plan`; false, with a complaint, where one is not understood. */
function readPlan(plan: Record<string, number>, args: string[]): boolean {
  while (args.length > 0) {
    const [name, value] = args.splice(0, 2);
    const field = name?.replace(/^--/, '') ?? '';
    if (!(field in plan) || !/^[1-9]\d{0,5}$/.test(value ?? '')) {
      console.error(`Not understood: ${[name, value].join(' ')}\n${USAGE}`);
      return false;
    }
    plan[field] = Number(value);
  }
  return true;
}

async function build(): Promise<void> {
  if (process.env.TASKGATE_BINARY === undefined) await buildExecutable();
}

function print({ rules, facts, complaints }: SoakReport): number {
  console.log('\nWhat happened');
  for (const [name, count] of Object.entries(facts)) console.log(`  ${name.padEnd(36)} ${count}`);
  console.log('\nWhat the nodes complained about');
  for (const [message, count] of complaints) console.log(`  ${String(count).padStart(6)} × ${message}`);
  console.log('\nRules');
  for (const { rule, found, violations } of rules) {
    console.log(`  ${violations.length === 0 ? 'kept  ' : 'BROKEN'} ${rule.padEnd(58)} ${found}`);
    for (const violation of violations) console.log(`         ${violation}`);
  }
  return rules.some(({ violations }) => violations.length > 0) ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`\nThe soak failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
