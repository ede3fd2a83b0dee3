import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const folders: string[] = [];
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/**
 * A temporary folder that goes with the process, or with the run of `npm test`: Bun's test workers
 * end without the event `exit`.
 */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(process.env.TASKGATE_TEST_FOLDER ?? tmpdir(), 'taskgate-'));
  folders.push(folder);
  return folder;
}

/** A temporary folder with these files, by their path. */
export function temporaryTree(files: Record<string, string>): string {
  const base = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  return base;
}
