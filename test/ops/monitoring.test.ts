/** What is shipped for Prometheus and Grafana, against the metrics of the compiled gateway. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { findProgram } from '../support/find-program.ts';
import { type Gateway, setUp, startGateway } from '../support/gateway.ts';

setDefaultTimeout(60_000);

const ops = (name: string) => new URL(`../../ops/${name}`, import.meta.url).pathname;
const promtool = findProgram(['promtool']);
let gateway: Gateway;
let metrics = '';

beforeAll(async () => {
  gateway = await startGateway();
  await setUp(gateway);
  metrics = await (await fetch(`${gateway.url}/metrics`)).text();
});
afterAll(() => gateway.kill());

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

test.if(promtool !== null)('promtool finds nothing to say about the metrics', () => {
  expect(runPromtool(['check', 'metrics'], metrics)).toEqual({ code: 0, out: '' });
});

test.if(promtool !== null)('alerts fire when they should, and only then', () => {
  const { code, out } = runPromtool(['test', 'rules', ops('prometheus/alerts.test.yaml')]);
  expect(code, out).toBe(0);
});
