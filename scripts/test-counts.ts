/** How many tests of a run ended how. */
export type Counts = { passed: number; failed: number; skipped: number };

/**
 * Reads the counts from a JUnit report of `bun test`. A file that could not be loaded is missing from the report, and an
 * error between tests shows only in the exit code: both count as failures, so that a broken file never looks like a success.
 */
export function readCounts(report: string, files: readonly string[], exitCode: number): Counts {
  const total = /<testsuites\b([^>]*)>/.exec(report)?.[1] ?? '';
  const number = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(total)?.[1] ?? 0);
  const reported = new Set([...report.matchAll(/<testsuite\b[^>]*\bfile="([^"]*)"/g)].map((match) => match[1]));
  const lost = files.filter((file) => !reported.has(file)).length;
  const failures = number('failures') + lost;
  const failed = failures === 0 && exitCode !== 0 ? 1 : failures;
  return { passed: number('tests') - number('failures') - number('skipped'), failed, skipped: number('skipped') };
}

export function addCounts(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** The last line of a run: `12 passed, 0 failed`, and `, 1 skipped` only when there are any. */
export function formatCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
