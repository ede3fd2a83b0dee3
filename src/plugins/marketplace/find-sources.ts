import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A plugin file. `path` is relative to the folder; `named` is the key and version that the path
 * gives it.
 */
export type SourceFile = { path: string; named?: { key: string; version: string } };

const filesOf = (folder: string) =>
  readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'));

/**
 * The plugin files of a folder, `KEY/VERSION.js` and `*.js`, in alphabetical order. Links are not
 * followed, because everything that is published is in the folder.
 *
 * @throws the platform's error when the folder cannot be read
 */
export function findSources(folder: string): SourceFile[] {
  const found: SourceFile[] = [];
  for (const entry of filesOf(folder)) {
    if (entry.isFile() && entry.name.endsWith('.js')) found.push({ path: entry.name });
    if (!entry.isDirectory()) continue;
    for (const file of filesOf(join(folder, entry.name))) {
      if (!file.isFile() || !file.name.endsWith('.js')) continue;
      const named = { key: entry.name, version: file.name.slice(0, -'.js'.length) };
      found.push({ path: `${entry.name}/${file.name}`, named });
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}
