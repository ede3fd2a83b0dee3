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
