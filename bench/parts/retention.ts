import { Database } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { until } from '../../test/support/until.ts';
import { type Figure, higher, lower, note, row } from '../figures.ts';
import { fillWithCopies } from '../fill-tasks.ts';
import { formatRequest } from '../load/http-client.ts';
import { measureRequests } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { readMemory } from '../read-processes.ts';
import { openStage, startBuild } from '../stage.ts';
import { pickIds } from './large-database.ts';

const SUBMITTED = 200;
const HOUR_MS = 3_600_000;
/** What a vendor answers to a task, and what its user asked for: about a kilobyte each. */
const TEXT = 'a lighthouse in the fog, seen from a boat, '.repeat(24);

/**
 * A gateway whose tasks are all past their retention: what it removes beside many reads, beside one
 * reader, and with nothing else to do; and how long the reads take in the meantime.
 */
export async function benchRetention({ build, seconds, tasks }: Run): Promise<Figure[]> {
  const size = Math.max(SUBMITTED, tasks - (tasks % SUBMITTED));
  const what = `retention of ${size.toLocaleString('en')} tasks`;
  const { dataDir, key } = await prepare(build, size);
  const ids = pickIds(dataDir);
  const database = new Database(join(dataDir, 'taskgate.db'));
  const walked = (): number => {
    const found = database.query("select position from retention_progress where name = 'prompt'").get();
    return (found as { position: number } | null)?.position ?? 0;
  };
  let next = 0;
  const reads = (name: string, gateway: { port: number; pid: number }, connections: number) =>
    measureRequests({
      what: `${what}: read by key, ${connections} at a time, ${name}`,
      gateway,
      seconds,
      connections,
      warmUpRequests: 50 * connections,
      next: () => {
        next += 1;
        const id = ids[next % ids.length];
        return formatRequest('GET', `/v1/tasks/${id}`, { headers: { authorization: `Bearer ${key}` } });
      },
    });

  setRetention(database, false);
  const before = await startBuild(build, { dataDir });
  const without = [...(await reads('before', before, 32)), ...(await reads('before', before, 1))];
  await before.stop();

  setRetention(database, true);
  const gateway = await startBuild(build, { dataDir });
  try {
    const startMb = readMemory(gateway.pid).pssMb;
    await until(() => walked() > 0, 60_000);
    const beside: Figure[] = [];
    const rates: number[] = [];
    for (const connections of [32, 1]) {
      const [from, begun] = [walked(), performance.now()];
      beside.push(...(await reads('beside it', gateway, connections)));
      rates.push(((walked() - from) / (performance.now() - begun)) * 1000);
    }
    const [from, begun] = [walked(), performance.now()];
    let largestMb = 0;
    await until(() => {
      largestMb = Math.max(largestMb, readMemory(gateway.pid).pssMb);
      return walked() >= size;
    }, HOUR_MS);
    const idle = ((size - from) / (performance.now() - begun)) * 1000;
    const { free } = database.query('select freelist_count * 4096 as free from pragma_freelist_count').get() as {
      free: number;
    };
    return [
      ...without,
      ...beside,
      ...row(what, [
        higher('tasks beside 32 readers', rates[0] ?? 0, '/s'),
        higher('tasks beside one reader', rates[1] ?? 0, '/s'),
        higher('tasks with nothing else to do', idle, '/s'),
        note('all of them, with nothing else to do', size / idle, 's'),
        lower('PSS at the start', startMb, 'MB'),
        lower('PSS at most', largestMb, 'MB'),
        note('database', statSync(join(dataDir, 'taskgate.db')).size / 1e6, 'MB'),
        note('free in it', free / 1e6, 'MB'),
      ]),
    ];
  } finally {
    await gateway.stop();
    database.close();
  }
}

/** At any hour, as if it had never run. */
function setRetention(database: Database, enabled: boolean): void {
  database.run('delete from retention_progress');
  for (const [key, value] of [
    ['retention.enabled', String(enabled)],
    ['retention.hours', '24'],
  ] as const)
    database.run('insert or replace into options (key, value) values (?, ?)', [key, value]);
}

async function prepare(build: Run['build'], size: number): Promise<{ dataDir: string; key: string }> {
  const stage = await openStage(build);
  try {
    for (let i = 0; i < SUBMITTED; i += 1) await stage.submit(TEXT);
    await stage.gateway.stop();
    const { dataDir } = stage.gateway;
    const database = new Database(join(dataDir, 'taskgate.db'));
    const old = Math.floor((performance.timeOrigin + performance.now()) / 1000) - 100 * 86_400;
    database.run(
      `update tasks set status = 'SUCCESS', progress = '100%', created_at = ?, submit_time = ?, finish_time = ?,
        lease_owner = null, lease_until = 0, data = json_object('id', upstream_task_id, 'prompt', ?)`,
      [old, old, old + 60, TEXT],
    );
    database.close();
    fillWithCopies(dataDir, size);
    return { dataDir, key: stage.key };
  } finally {
    await stage.stop();
  }
}
