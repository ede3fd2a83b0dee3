import { runSoak, type SoakPlan, type SoakReport } from '../bench/soak/run-soak.ts';
import { buildExecutable } from './build.ts';

/**
 * npm run soak: orders to several nodes of the executable on one PostgreSQL, while nodes are
 * killed, PostgreSQL is restarted and the vendor answers badly. Exit code 1: a task was lost,
 * bought twice, billed wrongly or not told.
 */
const USAGE = 'Usage: npm run soak [-- --tasks 5000 --nodes 3 --seconds 180]';

async function main(args: string[]): Promise<number> {
  const plan: SoakPlan = { tasks: 5000, nodes: 3, seconds: 180 };
  while (args.length > 0) {
    const [name, value] = args.splice(0, 2);
    const field = name?.replace(/^--/, '') ?? '';
    if (!(field in plan) || !/^[1-9]\d{0,5}$/.test(value ?? '')) {
      console.error(`Not understood: ${[name, value].join(' ')}\n${USAGE}`);
      return 2;
    }
    plan[field as keyof SoakPlan] = Number(value);
  }
  if (process.env.TASKGATE_BINARY === undefined) await buildExecutable();
  const report = await runSoak(plan, (line) => console.log(line));
  return print(report);
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
