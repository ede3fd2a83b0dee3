/** While no collector is named, nothing of OpenTelemetry is evaluated. */
import { expect, test } from 'bun:test';
import { readConfig } from '../../../src/app/config/config.ts';
import { collectorUrl } from '../../../src/app/tracing/open-tracing.ts';

const COLLECTOR = 'http://127.0.0.1:4318';

function config(environment: Record<string, string>) {
  const read = readConfig(environment);
  if (!read.ok) throw new Error(read.faults.join('\n'));
  return read.config;
}

test.each<[string, Record<string, string>]>([
  ['', {}],
  ['', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ['', { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_SDK_DISABLED: 'true' }],
  [`${COLLECTOR}/v1/traces`, { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR }],
  [`${COLLECTOR}/otlp/v1/traces`, { OTEL_EXPORTER_OTLP_ENDPOINT: `${COLLECTOR}/otlp/` }],
  [
    `${COLLECTOR}/in`,
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${COLLECTOR}/in`, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' },
  ],
])('traces go to %p with %p', (url, environment) => expect(collectorUrl(config(environment))).toBe(url));

test.each<[string, string]>([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://me:my-password@127.0.0.1'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://127.0.0.1:4317/my-password'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'my-password'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=my-password%0d%0ax: y'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'team=%zz'],
])('%s=%p stops the start without being shown', (name, value) => {
  const read = readConfig({ [name]: value });
  expect(read.ok).toBe(false);
  expect(JSON.stringify(read)).toContain(name);
  expect(JSON.stringify(read)).not.toContain('my-password');
});

/** The modules that a process has evaluated after it has opened tracing. */
async function evaluated(environment: Record<string, string>): Promise<string[]> {
  const source = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).pathname);
  const program = `
    const { readConfig } = await import(${source('app/config/config.ts')});
    const { openTracing } = await import(${source('app/tracing/open-tracing.ts')});
    await import(${source('tasks/index.ts')});
    const { Registry } = await import('prom-client');
    const { silentLogger, systemClock } = await import(${source('kernel/index.ts')});
    const { config } = readConfig(${JSON.stringify(environment)});
    await openTracing({ config, nodeId: 'n', registry: new Registry(), clock: systemClock, logger: silentLogger });
    console.log(JSON.stringify(Object.keys(require.cache)));
    process.exit();`;
  const child = Bun.spawn([process.execPath, '-e', program], { cwd: import.meta.dir, stdout: 'pipe' });
  const modules = JSON.parse(await new Response(child.stdout).text()) as string[];
  // The library of metrics has the API beside it.
  return modules.filter((path) => /start-tracing|opentelemetry[\\/](?!api[\\/])/.test(path));
}

test('nothing is loaded while no collector is named', async () => {
  expect(await evaluated({})).toEqual([]);
  expect(await evaluated({ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_SDK_DISABLED: 'true' })).toEqual([]);
  expect((await evaluated({ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR })).length).toBeGreaterThan(10);
});
