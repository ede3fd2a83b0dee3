import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './hash-inputs.ts';

/** How long one test took, in seconds. */
export type Duration = { file: string; name: string; seconds: number };

/** The duration of every test in a JUnit report of `bun test`. */
export function readDurations(report: string): Duration[] {
  return [...report.matchAll(/<testcase\b([^>]*)>/g)].map(([, attributes = '']) => {
    const read = (name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
    return { file: read('file'), name: read('name'), seconds: Number(read('time')) };
  });
}

/** The `count` files and tests that took longest, as a table for people. */
export function describeSlowest(durations: readonly Duration[], count: number): string {
  const files = new Map<string, number>();
  for (const { file, seconds } of durations) files.set(file, (files.get(file) ?? 0) + seconds);
  const rows = (entries: readonly (readonly [string, number])[]): string =>
    [...entries]
      .sort(([, a], [, b]) => b - a)
      .slice(0, count)
      .map(([name, seconds]) => `${seconds.toFixed(1).padStart(8)} s  ${name}`)
      .join('\n');
  const tests = durations.map(({ file, name, seconds }) => [`${file}: ${name}`, seconds] as const);
  return `\nSlowest files\n${rows([...files])}\n\nSlowest tests\n${rows(tests)}\n`;
}

/** Seconds that each test file took in an earlier run: the order in which the files start. */
export type FileDurations = Record<string, number>;

const DURATIONS_FILE = join(root, 'test/durations.json');

export const loadFileDurations = (): FileDurations =>
  existsSync(DURATIONS_FILE) ? (JSON.parse(readFileSync(DURATIONS_FILE, 'utf8')) as FileDurations) : {};

/** Files that are gone are left out. */
export function saveFileDurations(durations: FileDurations): void {
  const rows = Object.entries(durations)
    .filter(([file]) => existsSync(join(root, file)))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([file, seconds]) => [file, Math.round(seconds * 10) / 10]);
  writeFileSync(DURATIONS_FILE, `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`);
}

/** What `bun test --timings` reads, so that it starts these files in this order. */
export const toTimings = (files: readonly string[]): string =>
  JSON.stringify({ version: 1, files: Object.fromEntries(files.map((file, i) => [file, files.length - i])) });

/** What `bun test --update-timings` has written, in seconds. */
export function readTimings(text: string): FileDurations {
  const { files } = JSON.parse(text) as { files: Record<string, number> };
  return Object.fromEntries(Object.entries(files).map(([file, ms]) => [file, ms / 1000]));
}
