/**
 * The least that polls: `bun bench/least/polls.ts DATABASE VENDOR_PORT SECONDS one|batches`. It
 * takes due tasks, asks the vendor over kept connections, knows an answer again by its digest and
 * writes the next due time, grouped in durable commits. No plugin, no lease, no state machine.
 * Prints polls and processor seconds as JSON.
 */
import { formatRequest, sendOverConnections } from '../load/http-client.ts';
import { createGroupCommit, openTables, sha256 } from './tables.ts';

const [path = '', port = '', seconds = '', mode = 'one'] = process.argv.slice(2);
const TASKS = 100_000;
const CONNECTIONS = 16;
const INTERVAL_MS = 3_000;
const groupSize = mode === 'batches' ? 100 : 1;

type Due = { id: number; vendor_id: string; digest: string };

const database = openTables(path, 'FULL');
const commit = createGroupCommit(database);
const insert = database.query("insert into due values (?, 'QUEUED', ?, 0, '')");
database.transaction(() => {
  for (let id = 1; id <= TASKS; id += 1) insert.run(id, `run-${id}`);
})();
const claim = database.query(
  'select id, vendor_id, digest from due where next_poll_at <= ? order by next_poll_at limit 512',
);
const postpone = database.query('update due set next_poll_at = ?, digest = ? where id = ?');

const queue: Due[] = [];
const underway = new Set<number>();
const groups: Due[][] = [];
let polls = 0;

function takeGroup(): Due[] {
  if (queue.length < groupSize) {
    const found = claim.all(Date.now()) as Due[];
    const waiting = new Set(queue.map(({ id }) => id));
    queue.push(...found.filter(({ id }) => !underway.has(id) && !waiting.has(id)));
  }
  const group = queue.splice(0, groupSize);
  for (const { id } of group) underway.add(id);
  return group;
}

function record(group: Due[], digests: string[]): void {
  polls += group.length;
  void commit(() => {
    const next = Date.now() + INTERVAL_MS;
    for (const [index, { id }] of group.entries()) postpone.run(next, digests[index] ?? '', id);
  }).then(() => {
    for (const { id } of group) underway.delete(id);
  });
}

const before = process.cpuUsage();
const { took } = await sendOverConnections({
  port: Number(port),
  connections: CONNECTIONS,
  seconds: Number(seconds),
  next(client) {
    const group = takeGroup();
    groups[client] = group;
    const ids = group.map(({ vendor_id }) => vendor_id).join();
    const target = mode === 'batches' ? `/v1/jobs?ids=${ids}` : `/v1/jobs/${ids}`;
    return formatRequest('GET', target, { headers: { authorization: 'Bearer key' } });
  },
  take({ body }, client) {
    const text = body.toString();
    const group = groups[client] ?? [];
    if (mode !== 'batches') return record(group, [sha256(text)]);
    const { jobs } = JSON.parse(text) as { jobs: object[] };
    record(
      group,
      jobs.map((job) => sha256(JSON.stringify(job))),
    );
  },
});
const used = process.cpuUsage(before);
process.stdout.write(JSON.stringify({ polls, took, cpu: (used.user + used.system) / 1e6 }));
process.exit(0);
