import { postgresFolders } from '../../test/support/find-program.ts';
import { setUp, startGateway } from '../../test/support/gateway.ts';
import { runBeside } from '../../test/support/run-command.ts';
import { startPostgres } from '../../test/support/start-services.ts';
import { until } from '../../test/support/until.ts';
import { checkKeptResults, type KeptOutcome } from './check-kept-results.ts';
import type { Rule } from './check-rules.ts';
import { keepNodes, killInTurn, type Nodes } from './keep-nodes.ts';
import { type Order, placeOrder } from './place-orders.ts';
import { makeDatabase, query } from './query-database.ts';
import { openBucketServer, openSharedFolder, type ResultsStorage } from './results-storage.ts';
import type { SoakReport } from './run-soak.ts';
import { type FleetingVendor, startFleetingVendor } from './start-fleeting-vendor.ts';

export type ResultsPlan = { tasks: number; nodes: number; megabytes: number; place: 'bucket' | 'folder' };

/** The vendor's files are gone this long after the end of their job. */
const LINK_MS = 60_000;
/** The bucket's server is killed after these shares of the results, and is away for a moment. */
const INTERRUPTIONS = [1 / 3, 2 / 3];
const DOWN_MS = 3_000;
/**
 * Clients, each with one task whose result is not kept yet: so many that the nodes are never idle,
 * so few that the machine can keep what it is asked to in time.
 */
const CLIENTS = 24;
const DOWNLOAD_EVERY_MS = 1_000;
const LOOK_EVERY_MS = 300;
const PRICE = '0.0001 * u("seconds")';
/** The run must end at some point, however slow the machine is. */
const LONGEST_MS = 600_000;

/**
 * Keeps the results of many tasks on nodes that are killed in turn, from a vendor that drops its
 * files after a minute, in a place that is interrupted.
 */
export async function runResultsSoak(plan: ResultsPlan, say: (line: string) => void): Promise<SoakReport> {
  const [bin] = postgresFolders();
  if (bin === undefined) throw new Error('PostgreSQL is not installed (apt-get install postgresql)');
  const postgres = await startPostgres(bin);
  const vendor = startFleetingVendor({ bytes: plan.megabytes * 1_000_000, linkMs: LINK_MS });
  const place = plan.place === 'bucket' ? await openBucketServer(DOWN_MS) : openSharedFolder();
  const begun = performance.now();
  const tell = (line: string) => say(`${((performance.now() - begun) / 1000).toFixed(0)} s: ${line}`);
  try {
    const options = {
      databaseUrl: await makeDatabase(postgres.url, 'results'),
      env: { ...place.env, TASK_POLL_INTERVAL_SECONDS: '3', LOG_LEVEL: 'warn', RESULTS_MIN_FREE_MB: '0' },
    };
    const first = await startGateway(options);
    const admin = await setUp(first);
    await admin.createChannel(vendor.url);
    await admin.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: PRICE });
    await admin.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
    const key = await admin.createKey({ name: 'soak' });
    const nodes = await keepNodes(first, plan.nodes, options);
    try {
      const kept = await keepAll({ plan, nodes, key, databaseUrl: options.databaseUrl, vendor, place, tell });
      await cleanUp(nodes, place, options.databaseUrl);
      tell('checking the rules');
      const { databaseUrl } = options;
      const rules = await checkKeptResults({ ...kept, ordered: plan.tasks, databaseUrl, vendor, place });
      const doctor = await runBeside(first, ['doctor', '--results'], { env: options.env });
      const complaint: Rule = { rule: 'the ledger adds up, and files and rows agree', found: 'doctor', violations: [] };
      rules.push(doctor.code === 0 ? complaint : { ...complaint, violations: [`${doctor.out}${doctor.err}`] });
      const seconds = Math.round((performance.now() - begun) / 1000);
      return { rules, facts: { seconds, ...nodes.counts, ...vendor.answered }, complaints: nodes.complaints() };
    } finally {
      await nodes.stop();
    }
  } finally {
    await place.stop();
    await vendor.stop();
    await postgres.stop();
  }
}

type Keeping = {
  plan: ResultsPlan;
  nodes: Nodes;
  key: string;
  databaseUrl: string;
  vendor: FleetingVendor;
  place: ResultsStorage;
  tell: (line: string) => void;
};

/** Orders everything and waits until it is kept or lost, while nodes and place are killed. */
async function keepAll(keeping: Keeping): Promise<Pick<KeptOutcome, 'taken' | 'downloads'>> {
  const { plan, nodes, key, databaseUrl, place, tell } = keeping;
  const playing = new AbortController();
  const settled = new Map<string, string>();
  const taken: string[] = [];
  const downloads: KeptOutcome['downloads'] = { whole: 0, failed: 0, wrong: [] };
  const watching = watchResults(databaseUrl, settled, playing.signal);
  const killing = killInTurn(nodes.killNext, playing.signal);
  const reading = readResults(keeping, { settled, downloads, signal: playing.signal });
  const interruptions = INTERRUPTIONS.map((share) => Math.floor(share * plan.tasks));
  let next = 0;
  const deadline = performance.now() + LONGEST_MS;
  try {
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (let index = next++; index < plan.tasks && performance.now() < deadline; index = next++) {
          if (place.interrupt && interruptions.includes(index)) {
            tell(`${settled.size} results kept, ${nodes.counts.kills} kills; the bucket is interrupted`);
            void place.interrupt();
          }
          const { tasks } = await placeOrder(makeOrder(index, key), index, nodes.urls);
          const [id] = tasks;
          if (id === undefined) continue;
          taken.push(id);
          await until(`${id} is kept`, () => settled.has(id), LONGEST_MS).catch(() => tell(`${id} was never kept`));
        }
      }),
    );
    tell(`${settled.size} results kept, ${nodes.counts.kills} kills`);
    return { taken, downloads };
  } finally {
    playing.abort();
    await Promise.allSettled([watching, killing, reading]);
  }
}

/** Notes the digest of each result that is kept, '' for one that is lost. */
async function watchResults(databaseUrl: string, settled: Map<string, string>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const rows = await query<{ task_id: string; sha256: string | null }>(
      databaseUrl,
      `select task_id, sha256 from kept_results where state <> 'wanted'`,
    ).catch(() => []);
    for (const { task_id, sha256 } of rows) settled.set(task_id, sha256 ?? '');
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

/** Downloads a kept result now and then, from any node, and compares its bytes. */
async function readResults(
  { nodes: { urls }, key }: Keeping,
  {
    settled,
    downloads,
    signal,
  }: { settled: Map<string, string>; downloads: KeptOutcome['downloads']; signal: AbortSignal },
): Promise<void> {
  for (let n = 0; !signal.aborted; n += 1) {
    await Bun.sleep(DOWNLOAD_EVERY_MS);
    const [id, expected] = [...settled].at(-1) ?? [];
    if (id === undefined) continue;
    try {
      const answer = await fetch(`${urls[n % urls.length]}/v1/videos/${id}/content`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const hash = new Bun.CryptoHasher('sha256').update(await answer.bytes()).digest('hex');
      if (answer.status !== 200) downloads.failed += 1;
      else if (hash === expected) downloads.whole += 1;
      else downloads.wrong.push(`${id}: ${hash}`);
    } catch {
      downloads.failed += 1;
    }
  }
}

/** What is left behind is made old, and a start runs the clean-up that is hourly otherwise. */
async function cleanUp(nodes: Nodes, place: ResultsStorage, databaseUrl: string): Promise<void> {
  const orphans = async (): Promise<number> => {
    const rows = await query<{ sha256: string }>(databaseUrl, `select sha256 from kept_results where state = 'kept'`);
    const known = new Set(rows.map(({ sha256 }) => sha256));
    return [...place.files().keys()].filter((digest) => !known.has(digest)).length + place.partial().length;
  };
  place.age();
  await query(databaseUrl, 'update kept_files set changed_at = changed_at - 7200');
  await nodes.killNext();
  await until('nothing is orphaned', async () => (await orphans()) === 0, 30_000).catch(() => undefined);
}

const makeOrder = (index: number, key: string): Order => ({
  plugin: 'demo',
  model: 'demo-video',
  prompt: `order ${index} [duration=${1 + (index % 3)}]`,
  fails: false,
  key,
});
