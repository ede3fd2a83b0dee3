import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A file of the panel's TypeScript as JavaScript for browsers. Imported as a macro: an executable
 * contains the script and needs no file.
 */
export const embedScript = (path: string): string =>
  new Bun.Transpiler({ loader: 'ts', target: 'browser', minifyWhitespace: true })
    .transformSync(readFileSync(join(import.meta.dir, '../../panel', path), 'utf8'))
    .trim();
