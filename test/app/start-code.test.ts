import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from '../../scripts/hash-inputs.ts';

/** Each is loaded by `import()` from the one before it, or from one that a start has loaded. */
const START = [
  'src/main.ts',
  'src/app/index.ts',
  'src/app/cli/commands/serve.ts',
  'src/store/index.ts',
  'src/app/composition/compose-gateway.ts',
];
/** Only some gateways need these, or only a later request. */
const LATER = [
  /^node_modules\/(ioredis|acme-client|@peculiar\/x509|openid-client|nodemailer|age-encryption)\//,
  /^node_modules\/(@elysiajs\/openapi|@opentelemetry\/sdk-trace|@simplewebauthn\/server|diff)\//,
  /^src\/http\/(routes\.ts$|openapi\/)/,
  /^src\/plugins\/(author|lint)\//,
  /^src\/(importing|operations\/certificates)\//,
  /^src\/app\/demo-vendor\/create-demo-vendor\.ts$/,
];

const transpiler = new Bun.Transpiler({ loader: 'ts' });

/** The files that load with these, apart from what packages import in their turn. */
function loadedWith(files: readonly string[]): Map<string, string> {
  const importers = new Map<string, string>(files.map((file) => [file, 'the start']));
  for (const file of importers.keys()) {
    if (file.startsWith('node_modules/') || !file.endsWith('.ts')) continue;
    for (const { kind, path } of transpiler.scanImports(readFileSync(join(root, file), 'utf8'))) {
      if (kind !== 'import-statement' || /^(node|bun):/.test(path)) continue;
      const found = relative(root, Bun.resolveSync(path, dirname(join(root, file)))).replaceAll('\\', '/');
      if (!importers.has(found)) importers.set(found, file);
    }
  }
  return importers;
}

test('a start loads no code that only some gateways or later requests need', () => {
  const loaded = [...loadedWith(START)];
  expect(loaded.length).toBeGreaterThan(500);
  const early = loaded.filter(([file]) => LATER.some((pattern) => pattern.test(file)));
  expect(early.map(([file, importer]) => `${importer} imports ${file}`)).toEqual([]);
});
