import { statSync } from 'node:fs';
import type { Clock } from '../../kernel/index.ts';

/**
 * How often the files are looked at. A look costs some microseconds, and no save is missed whatever
 * file system or editor it comes from.
 */
const LOOK_MS = 150;
/** An editor may empty a file before it fills it: a change counts once it has lasted so long. */
const SETTLE_MS = 50;

/**
 * Differs after every save: a file that was replaced has another inode, one that was written
 * another time of change.
 */
function signatureOf(path: string): string {
  try {
    const { ino, size, ctimeNs, mtimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${ctimeNs} ${mtimeNs}`;
  } catch {
    return 'absent';
  }
}

/**
 * Notices saves of files. `next` resolves at the first save since the files were last taken with
 * `look`, which is called before they are read: a save that comes while they are read or worked on
 * is found by the following `next`. It resolves with false once `signal` is aborted.
 */
export function watchFiles(paths: readonly string[], clock: Clock, signal: AbortSignal) {
  const signature = () => paths.map(signatureOf).join('\n');
  let taken = '';
  return {
    look() {
      taken = signature();
    },
    async next(): Promise<boolean> {
      for (;;) {
        if (signal.aborted) return false;
        const now = signature();
        if (now !== taken) {
          await clock.sleep(SETTLE_MS, signal);
          if (!signal.aborted && signature() === now) return true;
        } else await clock.sleep(LOOK_MS, signal);
      }
    },
  };
}
