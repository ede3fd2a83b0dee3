import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { listFiles, root } from './hash-inputs.ts';
import { readImports } from './read-imports.ts';

/**
 * What a test that starts the executable imports; every file of the product reaches such a test.
 */
const EXECUTABLE = /^test\/support\/run-command\.ts$/;
const PRODUCT = /^(src|contracts|migrations|package(-lock)?\.json$)/;

/**
 * The test files that a change of `changed` can reach: those that import one of them, directly or
 * by way of others, and those that start the executable where the product itself has changed.
 */
export function reachTests(changed: readonly string[], tests: readonly string[], base = root): string[] {
  const files = [...listFiles('src', base), ...listFiles('test', base), ...listFiles('scripts', base)].filter((file) =>
    /\.(tsx?|mjs)$/.test(file),
  );
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const { specifier } of readImports(readFileSync(join(base, file), 'utf8'))) {
      if (!specifier.startsWith('.')) continue;
      const target = normalize(join(dirname(file), specifier)).replaceAll('\\', '/');
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }
  }
  const reached = new Set(changed);
  if (changed.some((file) => PRODUCT.test(file)))
    for (const file of files) if (EXECUTABLE.test(file)) reached.add(file);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return tests.filter((file) => reached.has(file));
}
