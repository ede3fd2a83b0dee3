import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * The first of `names` that is executable on the path or in one of `extraFolders`; null when there
 * is none.
 */
export function findProgram(names: readonly string[], extraFolders: readonly string[] = []): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...extraFolders];
  for (const name of names) {
    for (const folder of folders) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not here: the next folder.
      }
    }
  }
  return null;
}

/**
 * Debian and Ubuntu keep PostgreSQL's server programs out of the path, one folder a version; the
 * newest comes first.
 */
export function postgresFolders(): string[] {
  const base = '/usr/lib/postgresql';
  try {
    return readdirSync(base)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(base, version, 'bin'));
  } catch {
    return [];
  }
}

/**
 * The Chromium of `CHROMIUM_PATH`, or one that is installed, preferably the one without a window,
 * which has a third less work; null when there is none.
 */
export function findChromium(): string | null {
  const names = [
    ...['chromium-headless-shell', 'chrome-headless-shell', 'chromium', 'chromium-browser'],
    ...['google-chrome-stable', 'google-chrome', 'Chromium', 'Google Chrome'],
  ];
  const macFolders = ['/Applications/Chromium.app/Contents/MacOS', '/Applications/Google Chrome.app/Contents/MacOS'];
  return process.env.CHROMIUM_PATH || findProgram(names, macFolders);
}
