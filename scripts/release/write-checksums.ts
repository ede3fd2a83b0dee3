import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CHECKSUMS = 'SHA256SUMS';

/** The digests of these files, as `sha256sum --check` reads them. */
export function writeChecksums(names: readonly string[], out: string): void {
  const lines = [...names].sort().map((name) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(out, name)))
      .digest('hex');
    return `${digest}  ${name}\n`;
  });
  writeFileSync(join(out, CHECKSUMS), lines.join(''));
}
