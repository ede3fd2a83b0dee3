import { statSync } from 'node:fs';
import type { Clock } from '../../kernel/index.ts';

/**
 * How often the files are checked. A check costs microseconds and, unlike file-system events, works
 * with every file system and editor.
 */
const CHECK_MS = 150;
/** A change must last this long: an editor may empty a file before it writes it. */
const SETTLE_MS = 50;

/** Differs after every save: a replaced file has another inode, a written one another time. */
function readSignature(path: string): string {
  try {
    const { ino, size, ctimeNs, mtimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${ctimeNs} ${mtimeNs}`;
  } catch {
    return 'absent';
  }
}

/**
 * Waits for saves of files. Call `mark` before you read the files. `next` resolves with true at the
 * first save after that mark, so that no save during the work is lost; with false once `signal` is
 * aborted. `add` takes files that were found to belong to the first ones.
 */
export function watchFiles(first: readonly string[], clock: Clock, signal: AbortSignal) {
  const paths = [...first];
  const marked = new Map<string, string>();
  const signature = () => paths.map(readSignature).join('\n');
  const mark = (): void => {
    for (const path of paths) marked.set(path, readSignature(path));
  };
  const isSaved = (path: string): boolean => readSignature(path) !== marked.get(path);
  return {
    mark,
    add(more: readonly string[]): void {
      for (const path of more) {
        if (marked.has(path)) continue;
        paths.push(path);
        marked.set(path, readSignature(path));
      }
    },
    async next(): Promise<boolean> {
      for (;;) {
        if (signal.aborted) return false;
        const now = signature();
        if (paths.some(isSaved)) {
          await clock.sleep(SETTLE_MS, signal);
          if (!signal.aborted && signature() === now) return true;
        } else await clock.sleep(CHECK_MS, signal);
      }
    },
  };
}
