/** What an image and its compose files say, without a container's runtime. */
import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { VARIABLES } from '../../src/app/config/config-variables.ts';
import { STOP_SECONDS } from '../../src/operations/system-service/service-files.ts';

const folder = new URL('../../ops/container/', import.meta.url).pathname;
const read = (name: string) => readFileSync(`${folder}${name}`, 'utf8');

type Service = {
  build?: string | { context: string };
  image: string;
  environment?: Record<string, string>;
  volumes?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: object;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  ports?: string[];
  stop_grace_period?: string;
};
type Compose = { services: Record<string, Service>; volumes: Record<string, null> };

for (const name of ['compose.yaml', 'compose.cluster.yaml']) {
  const { services, volumes } = Bun.YAML.parse(read(name)) as Compose;
  const nodes = Object.values(services).filter(({ image }) => image.startsWith('taskgate'));

  test(`${name}: what it names is there`, () => {
    expect(nodes.length).toBeGreaterThan(0);
    const used = new Set<string>();
    for (const { build, volumes: mounts = [], depends_on: needed = {} } of Object.values(services)) {
      const context = typeof build === 'object' ? build.context : build;
      if (context !== undefined) expect(existsSync(`${folder}${context}/Dockerfile`)).toBe(true);
      for (const [from = ''] of mounts.map((mount) => mount.split(':'))) {
        if (from.startsWith('.')) expect(existsSync(`${folder}${from}`)).toBe(true);
        else used.add(from);
      }
      for (const [other, { condition }] of Object.entries(needed))
        expect([condition, services[other]?.healthcheck]).toEqual(['service_healthy', expect.anything()]);
    }
    expect([...used].sort()).toEqual(Object.keys(volumes).sort());
  });

  test(`${name}: nodes have no rights, on a file system that they cannot write`, () => {
    for (const node of nodes) {
      expect(node).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      for (const port of node.ports ?? []) expect(port).toStartWith('127.0.0.1:');
    }
  });

  test(`${name}: a node has the time that its stop may take`, () => {
    for (const { environment, stop_grace_period: given } of nodes)
      expect(given).toBe(`${STOP_SECONDS + Number(environment?.SHUTDOWN_DRAIN_SECONDS ?? 0)}s`);
  });

  test(`${name}: the gateway knows each variable, and the example has each that must be set`, () => {
    const known = new Set(Object.values(VARIABLES).map((variable) => variable.env));
    for (const { environment = {} } of nodes)
      for (const variable of Object.keys(environment))
        expect([variable, known.has(variable)]).toEqual([variable, true]);
    const example = read('cluster.env');
    for (const [, variable = ''] of read(name).matchAll(/\$\{(\w+):\?\}/g))
      expect(example).toMatch(new RegExp(`^${variable}=`, 'm'));
  });
}

test('every name by which volumes are found is fixed, and nodes share a place for results', () => {
  for (const name of ['compose.yaml', 'compose.cluster.yaml'])
    expect((Bun.YAML.parse(read(name)) as { name?: string }).name).toBe('taskgate');
  const { services } = Bun.YAML.parse(read('compose.cluster.yaml')) as Compose;
  const nodes = Object.values(services).filter(({ image }) => image.startsWith('taskgate'));
  for (const { environment, volumes } of nodes) {
    expect(environment?.RESULTS_URL).toBe('/results');
    expect(volumes).toContain('results:/results');
  }
  expect(read('Dockerfile')).toContain('COPY --chown=65532:65532 data /results');
});

test('Dockerfile: neither root nor a shell, and the data belong to its user', () => {
  const text = read('Dockerfile');
  expect(text).toMatch(/^ARG BASE=gcr\.io\/distroless\/.*:nonroot\nFROM \$\{BASE\}$/m);
  expect(text).toContain('\nUSER 65532:65532\n');
  expect(text).toContain('COPY --chown=65532:65532 data /data');
  expect(text).toMatch(/^HEALTHCHECK .* CMD \["\/usr\/bin\/taskgate", "healthcheck"\]$/m);
});
