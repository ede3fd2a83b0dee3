/**
 * Writes docs/configuration.md, or with `--check` says whether it is up to date (exit 1 when not):
 * `bun src/app/config/print-config-docs.ts [--check]`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { configurationDocument } from './describe-config.ts';

const path = new URL('../../../docs/configuration.md', import.meta.url);
const wanted = configurationDocument();

if (process.argv.includes('--check')) {
  if (readFileSync(path, 'utf8') !== wanted) {
    process.stderr.write('docs/configuration.md is out of date: run bun src/app/config/print-config-docs.ts\n');
    process.exitCode = 1;
  }
} else writeFileSync(path, wanted);
