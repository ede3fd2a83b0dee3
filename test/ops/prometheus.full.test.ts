/** A real Prometheus over the executable: its alerts, and every query of the dashboard. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../support/find-program.ts';
import { freePort } from '../support/free-port.ts';
import { type Gateway, setUp, startGateway, startVendor, type VendorProcess } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const ops = (name: string) => readFileSync(new URL(`../../ops/${name}`, import.meta.url), 'utf8');
const program = findProgram(['prometheus']);
const promtool = findProgram(['promtool']);

/** A row of panels has none. */
type Panel = { title: string; targets?: { expr: string }[] };

let database: OwnPostgres;
let gateway: Gateway;
let vendor: VendorProcess;
let prometheus: ReturnType<typeof Bun.spawn> | undefined;
let url = '';

async function startPrometheus(target: string): Promise<void> {
  const folder = temporaryFolder();
  const port = await freePort();
  // What takes minutes in production takes a second here.
  writeFileSync(join(folder, 'alerts.yaml'), ops('prometheus/alerts.yaml').replaceAll(/for: \d+m/g, 'for: 1s'));
  const scrape = `scrape_configs: [{ job_name: gate, scrape_timeout: 5s, scrape_interval: 5s, static_configs: [{ targets: ["${target}"] }] }]`;
  writeFileSync(
    join(folder, 'prometheus.yaml'),
    `global: { evaluation_interval: 1s }\nrule_files: [alerts.yaml]\n${scrape}\n`,
  );
  url = `http://127.0.0.1:${port}`;
  prometheus = Bun.spawn(
    [
      program ?? 'prometheus',
      `--config.file=${folder}/prometheus.yaml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdout: 'ignore', stderr: 'ignore' },
  );
}

async function query(expression: string): Promise<unknown[]> {
  const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
  const body = (await answer.json()) as { status: string; error?: string; data?: { result: unknown[] } };
  if (body.status !== 'success') throw new Error(`${expression}: ${body.error}`);
  return body.data?.result ?? [];
}

beforeAll(async () => {
  if (program === null) return;
  database = await startOwnPostgres();
  gateway = await startGateway({ databaseUrl: database.url, env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  vendor = await startVendor();
  const admin = await setUp(gateway);
  await admin.createChannel(vendor.url, { limits: { max_running: 1 } });
  const key = await admin.createKey();
  const { body } = await submit(gateway.url, key, {});
  // The second waits for the first to end, and the third for the second.
  for (let i = 0; i < 2; i += 1) await submit(gateway.url, key, { prompt: 'a heron [duration=600]' });
  await waitForEnd(gateway.url, key, String(body.task_id ?? body.id));
  await startPrometheus(`127.0.0.1:${gateway.port}`);
});
afterAll(async () => {
  prometheus?.kill();
  await gateway?.kill();
  await vendor?.stop();
  await database?.kill();
});

test.skipIf(program === null)(
  'every query of the dashboard is understood, and has data where something happened',
  async () => {
    await until('there are two samples', async () => {
      const counted = await query('count_over_time(taskgate_build_info[5m]) >= 2').catch(() => []);
      return counted.length > 0;
    });
    const { panels } = JSON.parse(ops('grafana/taskgate.json')) as { panels: Panel[] };
    const empty: string[] = [];
    for (const { title, targets = [] } of panels)
      for (const { expr } of targets) {
        const found = await query(expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'));
        if (found.length === 0) empty.push(title);
      }
    // No backup was made, the vendor has not failed, nothing was billed, and no balance is read.
    const quiet = ['Rests an hour, by reason', 'Rests an hour, by reason', 'Left at vendors'];
    const expected = ['Latest backup', "Vendors' failures a minute, by channel and status", 'Spend an hour', ...quiet];
    expect(empty).toEqual(expected);
  },
);

test.skipIf(program === null)(
  'while the database is unavailable, metrics answer in time and the alert fires',
  async () => {
    await database.kill();
    const began = performance.now();
    const text = await (await fetch(`http://127.0.0.1:${gateway.port}/metrics`)).text();
    expect(performance.now() - began).toBeLessThan(5000);
    expect(text).toMatch(/^taskgate_database_up 0$/m);
    const checked = Bun.spawnSync([promtool ?? 'promtool', 'check', 'metrics'], { stdin: Buffer.from(text) });
    expect(`${checked.stdout}${checked.stderr}`).toBe('');
    await until('the alert fires', async () => {
      const { data } = (await (await fetch(`${url}/api/v1/alerts`)).json()) as {
        data: { alerts: { state: string; labels: { alertname: string } }[] };
      };
      return data.alerts.some(({ state, labels }) => state === 'firing' && labels.alertname === 'TaskgateDatabaseDown');
    });
  },
);
