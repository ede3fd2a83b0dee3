import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { signIn } from '../../test/support/gateway.ts';
import { type Figure, lower, row } from '../figures.ts';
import { fillWithCopies } from '../fill-tasks.ts';
import { formatRequest } from '../load/http-client.ts';
import { measureRequests } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { readMemory } from '../read-processes.ts';
import { openStage, startBuild } from '../stage.ts';

const SUBMITTED = 200;
const READ = 10_000;
const SETTLE_MS = 3_000;

type Prepared = { dataDir: string; key: string };

/** By build and size: a large one takes a minute to fill. */
const prepared = new Map<string, Promise<Prepared>>();

/** A gateway with many finished tasks in its database: start, memory, reads, the panel's list. */
export async function benchLargeDatabase({ build, seconds, tasks }: Run): Promise<Figure[]> {
  const size = Math.max(SUBMITTED, tasks - (tasks % SUBMITTED));
  const { dataDir, key } = await prepareTasks(build, size);
  const ids = pickIds(dataDir);
  const begun = performance.now();
  const gateway = await startBuild(build, { dataDir });
  try {
    const started = performance.now() - begun;
    const admin = await signIn(gateway.url);
    await Bun.sleep(SETTLE_MS);
    const before = readMemory(gateway.pid);
    const what = `${size.toLocaleString('en')} tasks in the database`;
    let next = 0;
    const reads = await measureRequests({
      what: `${what}: read by key, any task`,
      gateway,
      seconds,
      next: () => {
        next += 1;
        const id = ids[next % ids.length];
        return formatRequest('GET', `/v1/tasks/${id}`, { headers: { authorization: `Bearer ${key}` } });
      },
    });
    const list = formatRequest('GET', '/api/task?page=1&page_size=20', {
      headers: { authorization: `Bearer ${admin.token}` },
    });
    const lists = await measureRequests({
      what: `${what}: first page of the panel's list, one at a time`,
      gateway,
      seconds,
      connections: 1,
      warmUpRequests: 50,
      next: () => list,
    });
    const after = readMemory(gateway.pid);
    return [
      ...row(what, [
        lower('start', started, 'ms'),
        lower('PSS after the start', before.pssMb, 'MB'),
        lower('PSS after the reads', after.pssMb, 'MB'),
      ]),
      ...reads,
      ...lists,
    ];
  } finally {
    await gateway.stop();
  }
}

/** A data directory with this many finished tasks of root, and a key of theirs. */
export function prepareTasks(build: Run['build'], size: number): Promise<Prepared> {
  const name = `${build.binary} ${size}`;
  const filled = prepared.get(name) ?? prepare(build, size);
  prepared.set(name, filled);
  return filled;
}

async function prepare(build: Run['build'], size: number): Promise<Prepared> {
  const stage = await openStage(build);
  try {
    for (let i = 0; i < SUBMITTED; i += 1) await stage.submit('a lighthouse in the fog [file=1]');
    await stage.gateway.stop();
    fillWithCopies(stage.gateway.dataDir, size);
    return { dataDir: stage.gateway.dataDir, key: stage.key };
  } finally {
    await stage.stop();
  }
}

/** Ten thousand tasks out of all. */
export function pickIds(dataDir: string): string[] {
  const database = new Database(join(dataDir, 'taskgate.db'), { readonly: true });
  const { last } = database.query('select max(id) as last from tasks').get() as { last: number };
  const byId = database.query('select task_id from tasks where id = ?');
  const ids = Array.from({ length: READ }, (_, index) => byId.get(1 + ((index * 7919 * 101) % last)));
  database.close();
  return ids.filter((found) => found !== null).map((found) => (found as { task_id: string }).task_id);
}
