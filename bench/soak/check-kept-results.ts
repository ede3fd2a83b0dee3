import type { Rule } from './check-rules.ts';
import { query } from './query-database.ts';
import type { ResultsStorage } from './results-storage.ts';
import type { FleetingVendor } from './start-fleeting-vendor.ts';

type Row = {
  task_id: string;
  upstream_task_id: string;
  status: string;
  state: string;
  sha256: string;
  bytes: number;
  reason: string;
};
const SHOWN = 10;
const READERS = 4;

export type KeptOutcome = {
  databaseUrl: string;
  /** Tasks that clients know to be theirs. */
  taken: readonly string[];
  ordered: number;
  vendor: FleetingVendor;
  place: ResultsStorage;
  /** Downloads during the run, and those with other bytes than the vendor's. */
  downloads: { whole: number; failed: number; wrong: string[] };
};

/** Says which rules of kept results were broken: by the database, the vendor and the files. */
export async function checkKeptResults(outcome: KeptOutcome): Promise<Rule[]> {
  const { databaseUrl, taken, ordered, vendor, place, downloads } = outcome;
  const rules: Rule[] = [];
  const say = (rule: string, found: string, violations: string[]) =>
    rules.push({ rule, found, violations: violations.slice(0, SHOWN) });

  const rows = await query<Row>(
    databaseUrl,
    `select t.task_id, t.upstream_task_id, t.status, coalesce(r.state, 'no row') as state, coalesce(r.sha256, '') as sha256,
       coalesce(r.bytes, 0)::int as bytes, coalesce(r.reason, '') as reason
     from tasks t left join kept_results r on r.task_id = t.task_id`,
  );
  const byId = Map.groupBy(rows, ({ task_id }) => task_id);
  const own = taken.map((id) => byId.get(id)?.[0] ?? { ...NOTHING, task_id: id });
  say('every order was accepted', `${taken.length} of ${ordered}`, taken.length === ordered ? [] : ['some were not']);
  const failed = own.filter(({ status }) => status !== 'SUCCESS');
  say(
    'every task succeeded',
    `${own.length - failed.length}`,
    failed.map((row) => `${row.task_id}: ${row.status}`),
  );
  const unkept = own.filter(({ state }) => state !== 'kept');
  say(
    'every result was kept before its link died',
    `${own.length - unkept.length} of ${own.length}`,
    unkept.map(({ task_id, state, reason }) => `${task_id}: ${state} (${reason})`),
  );
  const kept = rows.filter(({ state }) => state === 'kept');
  const unequal = kept.filter(({ sha256, upstream_task_id }) => sha256 !== vendor.digestFor(upstream_task_id));
  say(
    'every result has the digest of the vendor’s file',
    `${kept.length}`,
    unequal.map(({ task_id }) => task_id),
  );

  const files = place.files();
  const broken = await findBroken([...files]);
  say('every file has the bytes of its digest: none is half', `${files.size}`, broken);
  const missing = kept.filter(({ sha256 }) => !files.has(sha256));
  say(
    'every kept result has its file',
    `${kept.length}`,
    missing.map(({ task_id }) => task_id),
  );

  const twice = [...byId].filter(([, found]) => found.length > 1).map(([id]) => id);
  const counted = await query<{ sha256: string; refs: number }>(
    databaseUrl,
    'select sha256, refs::int from kept_files',
  );
  const miscounted = counted.filter(({ refs }) => refs !== 1).map(({ sha256, refs }) => `${sha256}: ${refs} results`);
  say('none was kept twice', `${counted.length} files counted`, [...twice, ...miscounted]);
  const known = new Set(kept.map(({ sha256 }) => sha256));
  const orphans = [...files.keys()].filter((digest) => !known.has(digest));
  say('after the clean-up nothing is orphaned', `${files.size} files`, [...orphans, ...place.partial()]);
  say(
    'a download had the vendor’s bytes or failed',
    `${downloads.whole} whole, ${downloads.failed} failed`,
    downloads.wrong,
  );

  const ends = await query<{ task_id: string; ends: number; bills: number }>(
    databaseUrl,
    `select t.task_id,
        count(*) filter (where e.kind = 'transition' and e.status in ('SUCCESS', 'FAILURE'))::int as ends,
        count(*) filter (where e.kind in ('refunded', 'settled'))::int as bills
      from tasks t left join task_events e on e.task_id = t.task_id group by t.task_id`,
  );
  const wrongEnds = ends.filter((task) => task.ends !== 1 || task.bills !== 1);
  say(
    'every task ended and was billed once',
    `${ends.length} tasks`,
    wrongEnds.map(({ task_id, ends: times, bills }) => `${task_id}: ${times} ends, ${bills} bills`),
  );
  return rules;
}

const NOTHING: Row = {
  task_id: '',
  upstream_task_id: '',
  status: 'none',
  state: 'none',
  sha256: '',
  bytes: 0,
  reason: '',
};

/** The files whose bytes are not those of their digest. */
async function findBroken(files: readonly [digest: string, path: string][]): Promise<string[]> {
  const broken: string[] = [];
  const left = [...files];
  const read = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [digest, path] = next;
      const found = new Bun.CryptoHasher('sha256').update(await Bun.file(path).bytes()).digest('hex');
      if (found !== digest) broken.push(path);
    }
  };
  await Promise.all(Array.from({ length: READERS }, read));
  return broken;
}
