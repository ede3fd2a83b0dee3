/**
 * SIGKILL while the files of requests are being stored: no task counts on a file that is not there,
 * and after the clean-up there is no file that no task needs.
 */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { systemClock } from '../../src/kernel/index.ts';
import { ask, setUp, startGateway } from '../support/gateway.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';

const FILE_BYTES = 8_000_000;
const DAY_MS = 86_400_000;
const env = { RESULTS_MIN_FREE_MB: '0' };
const vendor = await createDemoVendor({ clock: systemClock, durationMs: 100 }).start(0);
afterAll(() => vendor.stop());

type Row = Record<string, string | number | null>;

test('killed while the files of a request are stored: every task is complete, and nothing is orphaned', async () => {
  let gateway = await startGateway({ env });
  const { dataDir, port } = gateway;
  const root = await setUp(gateway);
  await root.createChannel(vendor.url);
  // A plugin that ships refuses a second file that it would leave out. An uploaded one may leave it
  // out, and it is kept.
  const source = readFileSync('src/plugins/factory/demo.js', 'utf8').replace(/version: '[^']+'/, "version: '9.0.0'");
  await root.call('POST', '/api/plugin/task', { source });
  await root.call('POST', '/api/plugin/task/demo/activate', { version: '9.0.0' });
  await root.call('PUT', '/api/option', { key: 'results.keep_inputs', value: 'true' });
  const key = await root.createKey({});
  const results = join(dataDir, 'results');
  const rows = (sql: string): Row[] => {
    const database = new Database(join(dataDir, 'taskgate.db'), { readonly: true });
    try {
      return database.query(sql).all() as Row[];
    } finally {
      database.close();
    }
  };
  const names = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
  const partials = (): string[] => names(join(results, '.partial'));
  const digests = (): string[] =>
    names(results)
      .filter((name) => /^[0-9a-f]{2}$/.test(name))
      .flatMap((name) => names(join(results, name)))
      .sort();
  const countTasks = (): number => Number(rows('select count(*) as total from tasks')[0]?.total);

  const send = async (): Promise<void> => {
    const form = new FormData();
    form.set('model', 'demo-video');
    form.set('prompt', 'a [duration=0.1]');
    for (const field of ['input_reference', 'second_image']) {
      form.set(field, new File([randomBytes(FILE_BYTES)], 'cat.png', { type: 'image/png' }));
    }
    const headers = { authorization: `Bearer ${key}` };
    await fetch(`${gateway.url}/v1/videos`, { method: 'POST', headers, body: form }).catch(() => undefined);
  };
  /** Moments of a submission at which the process dies, each seen from outside. */
  const moments: Record<string, () => () => boolean> = {
    'a file is half written': () => () => partials().length > 0,
    'the first file is whole, the second is not': () => {
      const before = digests().length;
      return () => digests().length > before;
    },
    'both files are whole': () => {
      const before = digests().length;
      return () => digests().length > before + 1;
    },
    'the task is written': () => {
      const before = countTasks();
      return () => countTasks() > before;
    },
  };
  const reached: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    for (const [moment, watch] of Object.entries(moments)) {
      const isReached = watch();
      const sending = send();
      let isOver = false;
      void sending.then(() => {
        isOver = true;
      });
      while (!isOver && !isReached()) await new Promise(setImmediate);
      if (!isOver) reached.push(moment);
      await gateway.kill();
      await sending;
      gateway = await startGateway({ dataDir, port, env });
    }
  }
  // A moment may be too short to be met each time, but not three times.
  expect([...new Set(reached)].sort()).toEqual(Object.keys(moments).sort());

  const unfinished = `select task_id from tasks where status not in ('SUCCESS', 'FAILURE')`;
  await until('every task has ended', () => rows(unfinished).length === 0);
  await gateway.kill();

  // A day later, the clean-up comes with the start.
  const yesterday = new Date(Date.now() - 2 * DAY_MS);
  for (const name of partials()) utimesSync(join(results, '.partial', name), yesterday, yesterday);
  for (const sha256 of digests()) utimesSync(join(results, sha256.slice(0, 2), sha256), yesterday, yesterday);
  const database = new Database(join(dataDir, 'taskgate.db'));
  database.run('update kept_files set changed_at = changed_at - 172800');
  database.close();
  gateway = await startGateway({ dataDir, port, env });
  const needed = () =>
    rows(`select distinct sha256 from kept_results where state = 'kept' order by sha256`).map(({ sha256 }) => sha256);
  await until('nothing is orphaned', () => partials().length === 0 && digests().length === needed().length);
  expect(digests()).toEqual(needed().map(String));
  expect(names(join(dataDir, 'taskgate.uploads'))).toEqual([]);

  // What a task says of its files is what there is: both of them, or none and no promise.
  const tasks = rows(`select t.task_id as id, t.status, (select count(*) from kept_results r
    where r.task_id = t.task_id and r.kind = 'input') as files from tasks t`);
  expect(tasks.length).toBeGreaterThan(0);
  for (const { id, files } of tasks) {
    const { body } = await ask(`${gateway.url}/api/task/${id}`, { token: root.token });
    const { retryable, retry_block: block } = body.data as { retryable: boolean; retry_block: string | null };
    expect([files, retryable, block]).toEqual([2, true, null]);
  }
  const { out, code } = await runCommand(['doctor', '--results', '--verify', '--json', '--data-dir', dataDir]);
  const { findings } = JSON.parse(out) as { findings: { check: string; level: string; message: string }[] };
  expect([code, findings.filter(({ level }) => level === 'error')]).toEqual([0, []]);
  expect(findings.find(({ check }) => check === 'results')?.level).toBe('ok');
  await gateway.stop();
});
