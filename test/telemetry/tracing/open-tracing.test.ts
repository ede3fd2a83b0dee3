/** While no collector is named, nothing of OpenTelemetry is evaluated. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { collectorSettings, collectorUrl } from '../../../src/app/config/collector-settings.ts';
import { readConfig } from '../../../src/app/config/config.ts';
import { openTracing } from '../../../src/app/telemetry/open-tracing.ts';
import { silentLogger, systemClock } from '../../../src/kernel/index.ts';
import { FAR_MS } from '../../support/far-limits.ts';
import { makeCertificate } from '../../support/make-certificate.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startCollector } from '../../support/trace-collector.ts';

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
  ['', { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_TRACES_EXPORTER: 'none' }],
  [`${COLLECTOR}/v1/traces`, { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR }],
  [`${COLLECTOR}/otlp/v1/traces`, { OTEL_EXPORTER_OTLP_ENDPOINT: `${COLLECTOR}/otlp/` }],
  [
    `${COLLECTOR}/in`,
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${COLLECTOR}/in`, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' },
  ],
])('traces go to %p with %p', (url, environment) => expect(collectorUrl(config(environment))).toBe(url));

test('what is said of traces alone outranks what is said of all signals', () => {
  const all = {
    OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR,
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=all,x-team=video',
    OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  };
  expect(collectorSettings(config(all))).toEqual({
    url: `${COLLECTOR}/v1/traces`,
    headers: { Authorization: 'all', 'x-team': 'video' },
    timeoutMs: 3000,
    gzip: true,
    certificate: '',
  });
  const own = {
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=own',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '4000',
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'none',
  };
  expect(collectorSettings(config({ ...all, ...own }))).toMatchObject({
    headers: { authorization: 'own', 'x-team': 'video' },
    timeoutMs: 4000,
    gzip: false,
  });
  expect(Object.keys(collectorSettings(config({ ...all, ...own }))?.headers ?? {})).not.toContain('Authorization');
});

test.each<[string, Record<string, string>]>([
  ['', { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }],
  [
    'OTEL_EXPORTER_OTLP_PROTOCOL is http/protobuf, but traces are sent as http/json.',
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' },
  ],
  [
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is grpc, but traces are sent as http/json. Enter the collector's address for HTTP, usually with port 4318.",
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' },
  ],
  [
    'OTEL_EXPORTER_OTLP_PROTOCOL is "thrift", which isn\'t allowed. http/json is used instead. Allowed: http/json, http/protobuf, grpc',
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'thrift' },
  ],
])('the start warns %p with %p', (warning, environment) => {
  const findWarnings = (given: Record<string, string>) => {
    const read = readConfig(given);
    const said = read.ok ? read.warnings.map(({ message }) => message) : ['PROTOCOL: refused'];
    return said.filter((each) => each.includes('PROTOCOL'));
  };
  const expected = warning === '' ? [] : [warning];
  expect(findWarnings({ ...environment, OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR })).toEqual(expected);
  // Platforms set it for all programs, also for those that trace nothing.
  if (!warning.includes('is used instead')) expect(findWarnings(environment)).toEqual([]);
});

test('a collector with a certificate of its own authority gets compressed batches, and no other one does', async () => {
  const folder = temporaryFolder();
  const [own, other] = [makeCertificate(folder, 'own'), makeCertificate(folder, 'other')];
  const pem = (path: string) => readFileSync(path, 'utf8');
  const collector = await startCollector(0, { cert: pem(own.cert), key: pem(own.key) });
  /** `graceMs`: a collector that is not trusted is tried until then. */
  const send = async (certificate: string, graceMs: number) => {
    const registry = new Registry();
    const tracing = await openTracing({
      config: config({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_CERTIFICATE: certificate,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      }),
      ...{ nodeId: 'n', registry, clock: systemClock, logger: silentLogger },
    });
    await tracing?.requests.run(new Request('http://gate/v1/models'), async () => new Response(''));
    await tracing?.stop(graceMs);
    return registry.metrics();
  };
  try {
    expect(await send(other.cert, 1000)).toContain('{result="dropped"} 1');
    expect(collector.requests).toEqual([]);
    expect(await send(own.cert, FAR_MS)).toContain('{result="exported"} 1');
    expect(collector.requests[0]?.headers['content-encoding']).toBe('gzip');
    expect(collector.spans).toHaveLength(1);
  } finally {
    await collector.stop();
  }
});

test.each<[string, string]>([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://me:my-password@127.0.0.1'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://127.0.0.1:4317/my-password'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'my-password'],
  ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'my-password'],
  ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/none/my-ca.pem'],
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
    const { openTracing } = await import(${source('app/telemetry/open-tracing.ts')});
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
