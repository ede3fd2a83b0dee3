/**
 * Writes docs/configuration.md; with `--check` only reports whether it is up to date (exit 1 if
 * not): `bun src/app/config/print-config-docs.ts [--check]`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { configurationDocument } from './describe-config.ts';

const path = new URL('../../../docs/configuration.md', import.meta.url);
const expected = configurationDocument();

if (process.argv.includes('--check')) {
  if (readFileSync(path, 'utf8') !== expected) {
    process.stderr.write('docs/configuration.md is out of date: run bun src/app/config/print-config-docs.ts\n');
    process.exitCode = 1;
  }
} else writeFileSync(path, expected);
