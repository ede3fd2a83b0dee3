import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles } from './hash-inputs.ts';

const ceiling = 400;
/** A plugin is one file by its contract: it cannot be split. */
const plugin = { folder: 'src/plugins/factory/', ceiling: 550 };

/** Source files of too many lines below `base`; tests and generated files may be longer. */
export function checkSizes(base: string): string[] {
  return ['src', 'scripts', 'contracts', 'plugins']
    .flatMap((folder) => listFiles(folder, base))
    .filter((file) => /\.(ts|tsx|mjs|js|css)$/.test(file) && !/\.gen\.|\.d\.ts$/.test(file))
    .flatMap((file) => {
      const lines = readFileSync(join(base, file), 'utf8').split('\n').length - 1;
      const most = file.startsWith(plugin.folder) ? plugin.ceiling : ceiling;
      return lines > most ? [`${file}: ${lines} lines, ${most} is the ceiling`] : [];
    });
}
