import { cpus, loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';
import { type Build, prepareOtherBuild, prepareThisBuild } from '../bench/builds.ts';
import type { Compared } from '../bench/compare-figures.ts';
import type { Part } from '../bench/part.ts';
import { benchAlone, benchChats } from '../bench/parts/alone.ts';
import { benchBackups } from '../bench/parts/backups.ts';
import { benchBudget } from '../bench/parts/budget.ts';
import { benchImport, benchMove, benchRotation } from '../bench/parts/data-commands.ts';
import { benchDownloads } from '../bench/parts/downloads.ts';
import { benchEndedTasks } from '../bench/parts/ended-tasks.ts';
import { benchFairness } from '../bench/parts/fairness.ts';
import { benchHooks } from '../bench/parts/hooks.ts';
import { benchIdle } from '../bench/parts/idle.ts';
import { benchKept } from '../bench/parts/kept.ts';
import { benchLargeDatabase } from '../bench/parts/large-database.ts';
import { benchLeast } from '../bench/parts/least.ts';
import { benchLists } from '../bench/parts/lists.ts';
import { benchManySessions } from '../bench/parts/many-sessions.ts';
import { benchObservers } from '../bench/parts/observers.ts';
import { benchPeers } from '../bench/parts/peers.ts';
import { benchManyPolls, benchPollsWhileKeeping, benchTimelyPolls } from '../bench/parts/polls.ts';
import { benchPostgres } from '../bench/parts/postgres.ts';
import { benchQueue } from '../bench/parts/queue.ts';
import { benchRelay } from '../bench/parts/relay.ts';
import { benchRequests } from '../bench/parts/requests.ts';
import { benchRetention } from '../bench/parts/retention.ts';
import { benchStart } from '../bench/parts/start.ts';
import { benchStores } from '../bench/parts/stores.ts';
import { benchSubmissions } from '../bench/parts/submissions.ts';
import { benchTransfers } from '../bench/parts/transfers.ts';
import { benchUpgrade } from '../bench/parts/upgrade.ts';
import { formatFigures } from '../bench/print-figures.ts';
import { type BenchOptions, readOptions, usage } from '../bench/read-options.ts';
import { runPart } from '../bench/run-parts.ts';
import { formatMarkdown } from '../bench/write-markdown.ts';

/**
 * npm run bench: one table of what the executable does, over real HTTP, with a vendor as a process
 * of its own. `--beside DIR` runs the same load on an earlier build, in turns. Exit code 1: an aim
 * was missed.
 */
const PARTS: Record<string, Part> = {
  least: benchLeast,
  start: benchStart,
  idle: benchIdle,
  hooks: benchHooks,
  requests: benchRequests,
  normal: (run) => benchSubmissions(run, 'NORMAL'),
  full: (run) => benchSubmissions(run, 'FULL'),
  alone: benchAlone,
  queue: benchQueue,
  fairness: benchFairness,
  downloads: benchDownloads,
  kept: benchKept,
  polls: benchTimelyPolls,
  'kept-polls': benchPollsWhileKeeping,
  'many-polls': benchManyPolls,
  'ended-tasks': benchEndedTasks,
  relay: benchRelay,
  chats: benchChats,
  observers: benchObservers,
  database: benchLargeDatabase,
  lists: benchLists,
  retention: benchRetention,
  upgrade: benchUpgrade,
  backups: benchBackups,
  import: benchImport,
  rotation: benchRotation,
  move: benchMove,
  sessions: benchManySessions,
  transfers: benchTransfers,
  stores: benchStores,
  postgres: benchPostgres,
  budget: benchBudget,
  peers: benchPeers,
};
/** Measures programs of the bench itself: the other build has no turn. */
const OF_NO_BUILD = ['least'];
/** Needs programs that are not ours: run where it is asked for. */
const ASKED_FOR = ['peers'];

async function main(args: string[]): Promise<number> {
  let options: BenchOptions;
  try {
    options = readOptions(args, Object.keys(PARTS));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage(Object.keys(PARTS))}`);
    return 2;
  }
  if (process.platform !== 'linux') {
    console.error('The bench reads memory and processor time from /proc and runs on Linux alone.');
    return 2;
  }
  const { only, beside, repeat, json, markdown, ...sizes } = options;
  const builds = {
    this: await prepareThisBuild(),
    other: beside === undefined ? undefined : await prepareOtherBuild(beside),
  };
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`;
  console.log(`${machine}; load before the bench ${loadavg()[0]?.toFixed(1)}`);
  console.log(headline(builds, repeat));

  const begun = performance.now();
  const figures: Compared[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    if (only.length > 0 ? !only.includes(name) : ASKED_FOR.includes(name)) continue;
    const started = performance.now();
    const other = OF_NO_BUILD.includes(name) ? undefined : builds.other;
    const result = await runPart(part, { builds: { this: builds.this, other }, repeat, sizes });
    console.log(`\n[${name}, ${((performance.now() - started) / 1000).toFixed(0)} s]`);
    if (result.otherFailed !== undefined) console.log(`The other build cannot do this: ${result.otherFailed}`);
    for (const line of formatFigures(result.figures, beside !== undefined)) console.log(line);
    figures.push(...result.figures);
  }
  console.log(`\n${figures.length} figures in ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  if (json !== undefined) {
    const names = { this: builds.this.name, other: builds.other?.name };
    await Bun.write(json, `${JSON.stringify({ machine, builds: names, repeat, sizes, figures }, null, 2)}\n`);
  }
  if (markdown !== undefined) await Bun.write(markdown, formatMarkdown(figures, beside !== undefined));
  return figures.every(({ aimMet }) => aimMet !== false) ? 0 : 1;
}

function headline({ this: own, other }: { this: Build; other: Build | undefined }, repeat: number): string {
  const runs = `medians of ${repeat} (lowest–highest)`;
  if (other === undefined) return `${own.name}; ${runs}`;
  return `this ${own.name} · other ${other.name}; ${runs}; × above 1: this build is better`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`\nThe bench failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
