import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles } from './hash-inputs.ts';

const ceiling = 400;

/** Source files of more than 400 lines below `base`; tests and generated files may be longer. */
export function checkSizes(base: string): string[] {
  return ['src', 'scripts', 'contracts', 'plugins']
    .flatMap((folder) => listFiles(folder, base))
    .filter((file) => /\.(ts|tsx|mjs|js|css)$/.test(file) && !/\.gen\.|\.d\.ts$/.test(file))
    .flatMap((file) => {
      const lines = readFileSync(join(base, file), 'utf8').split('\n').length - 1;
      return lines > ceiling ? [`${file}: ${lines} lines, ${ceiling} is the ceiling`] : [];
    });
}
