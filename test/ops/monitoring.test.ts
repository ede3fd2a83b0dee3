/** What is shipped for Prometheus and Grafana, against the metrics of the compiled gateway. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { findProgram } from '../support/find-program.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const ops = (name: string) => new URL(`../../ops/${name}`, import.meta.url).pathname;
const promtool = findProgram(['promtool']);
let gateway: Gateway;
let admin: Administrator;
let metrics = '';

beforeAll(async () => {
  gateway = await startGateway({ env: { LOG_LEVEL: 'info' } });
  admin = await setUp(gateway);
  metrics = await scrape();
});
afterAll(() => gateway.kill());

const scrape = async () => (await fetch(`${gateway.url}/metrics`)).text();

function runPromtool(argv: string[], stdin = ''): { code: number; out: string } {
  const run = Bun.spawnSync([promtool ?? 'promtool', ...argv], { stdin: Buffer.from(stdin), stderr: 'pipe' });
  return { code: run.exitCode, out: `${run.stdout}${run.stderr}` };
}

test.each(['grafana/taskgate.json', 'prometheus/alerts.yaml'])('the gateway has every metric named in %s', (file) => {
  const existing = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const named = readFileSync(ops(file), 'utf8').matchAll(/\b(?:taskgate|process)_\w+/g);
  const missing = [...named].map(([name]) => name.replace(/_bucket$/, '')).filter((name) => !existing.has(name));
  expect(missing).toEqual([]);
});

test('a scrape says which version runs, since when, and that the database answers', () => {
  expect(metrics).toMatch(/^taskgate_build_info\{version="[^"]+"\} 1$/m);
  expect(metrics).toMatch(/^process_start_time_seconds [1-9]/m);
  expect(metrics).toMatch(/^taskgate_database_up 1$/m);
});

test.if(IS_FULL_RUN && promtool !== null)('promtool finds nothing to say about the metrics', () => {
  expect(runPromtool(['check', 'metrics'], metrics)).toEqual({ code: 0, out: '' });
});

test.if(IS_FULL_RUN && promtool !== null)('alerts fire when they should, and only then', () => {
  const { code, out } = runPromtool(['test', 'rules', ops('prometheus/alerts.test.yaml')]);
  expect(code, out).toBe(0);
});

test('a task is counted by its outcome, its vendor, its phases and its hooks', async () => {
  const vendor = await startVendor();
  try {
    const channel = await admin.createChannel(vendor.url);
    const submitted = await ask(`${gateway.url}/v1/tasks/demo`, {
      token: await admin.createKey(),
      body: { model: 'demo-video', prompt: 'a heron [duration=1]' },
    });
    expect(submitted.status, JSON.stringify(submitted.body)).toBeLessThan(300);
    const counted = `taskgate_tasks_ended_total{plugin="demo",channel="${channel}",outcome="success"} 1`;
    const after = await until('it has ended', async () => {
      const text = await scrape();
      return text.includes(counted) ? text : undefined;
    });
    expect(after).toContain(`taskgate_vendor_responses_total{channel="${channel}",call="submit",status="20`);
    expect(after).toContain(`taskgate_vendor_responses_total{channel="${channel}",call="poll",status="200"}`);
    for (const phase of ['wait', 'prepare', 'reserve', 'send', 'record'])
      expect(after).toContain(`taskgate_submission_phase_duration_seconds_count{phase="${phase}"} 1`);
    expect(after).toMatch(/taskgate_hook_duration_seconds_count\{hook="[\w.]*parseSubmitResponse",outcome="ok"\} 1/);
    expect(after).not.toContain('a heron');
  } finally {
    await vendor.stop();
  }
});

test('what an account runs, what waits for it and for how long is measured', async () => {
  const vendor = await startVendor();
  try {
    const channel = await admin.createChannel(vendor.url, { models: ['demo-video-pro'], limits: { max_running: 1 } });
    const submit = async (prompt: string) =>
      ask(`${gateway.url}/v1/tasks/demo`, {
        token: await admin.createKey(),
        body: { model: 'demo-video-pro', prompt },
      });
    for (const prompt of ['a heron [duration=6000]', 'an owl [duration=0.1]'])
      expect((await submit(prompt)).status).toBeLessThan(300);
    const full = await until('one waits', async () => {
      const text = await scrape();
      return text.includes(`taskgate_capacity_waiting{channel="${channel}",model="demo-video-pro"} 1`)
        ? text
        : undefined;
    });
    expect(full).toContain(`taskgate_capacity_running{channel="${channel}",model=""} 1`);
    expect(full).toContain(`taskgate_capacity_limit{channel="${channel}",model=""} 1`);
    expect(full).toContain('taskgate_capacity_stalled_seconds 0');
    await admin.call('PUT', `/api/channel/${channel}`, { limits: { max_running: 2 } });
    await until('it was sent', async () =>
      (await scrape()).includes(`taskgate_wait_seconds_count{channel="${channel}"} 1`),
    );
    await admin.call('DELETE', `/api/channel/${channel}`);
  } finally {
    await vendor.stop();
  }
});

test("a vendor's failure is one line with the request's id and the channel's name, without a stack", async () => {
  // Otherwise the task would wait for the vendor.
  await admin.call('PUT', '/api/option', { key: 'queue.max_wait_seconds', value: '0' });
  const down = await startVendor();
  await down.stop();
  await admin.createChannel(down.url, { name: 'Fallen vendor', models: ['demo-video-pro'] });
  const refused = await ask(`${gateway.url}/v1/tasks/demo`, {
    ...{ token: await admin.createKey(), headers: { 'x-request-id': 'vendor-down' } },
    body: { model: 'demo-video-pro', prompt: 'a heron' },
  });
  expect(refused.status).toBe(502);
  await gateway.logged('"path":"/v1/tasks/demo"');
  const lines = gateway
    .log()
    .split('\n')
    .filter((line) => line.includes('"vendor-down"'));
  // The vendor of an earlier test has ended too: whichever was asked first stands in the same line.
  const failures = lines.filter((line) => line.includes('tasks.vendor_unreachable'));
  expect(failures).toEqual([expect.stringContaining('Fallen vendor')]);
  expect(failures[0]).toContain('"level":"warn"');
  expect(lines.join('\n')).not.toContain('"stack"');
});
