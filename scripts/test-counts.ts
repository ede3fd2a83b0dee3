/** How many tests of a run ended how. */
export type Counts = { passed: number; failed: number; skipped: number };

/**
 * Reads the counts from a JUnit report of `bun test`. A file that could not be loaded is missing
 * from the report, and an error between tests shows only in the exit code: both count as failures,
 * so that a broken file never looks like a success.
 */
export function readCounts(report: string, files: readonly string[], exitCode: number): Counts {
  const total = /<testsuites\b([^>]*)>/.exec(report)?.[1] ?? '';
  const number = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(total)?.[1] ?? 0);
  const failures = number('failures') + lostFiles(report, files).length;
  const failed = failures === 0 && exitCode !== 0 ? 1 : failures;
  return { passed: number('tests') - number('failures') - number('skipped'), failed, skipped: number('skipped') };
}

/**
 * What failed in a JUnit report of `bun test`, each with its place, its name and what it said: a
 * run's last lines.
 */
export function readFailures(report: string, files: readonly string[]): string[] {
  const cases = report.matchAll(/<testcase\b([^>]*[^/])>\s*<failure\b([^>]*?)(?:\/>|>([^<]*)<\/failure>)/g);
  const failures = [...cases].map(([, test = '', failure = '', text]) => {
    const name = [attribute(test, 'classname'), attribute(test, 'name')].filter(Boolean).join(' > ');
    const said = text ? unescapeXml(text) : attribute(failure, 'message');
    const place = [attribute(test, 'file'), attribute(test, 'line')].filter(Boolean).join(':');
    return `${place} ${name}\n${said.trim().replace(/^/gm, '    ')}`;
  });
  return [
    ...failures,
    ...lostFiles(report, files).map((file) => `${file}\n    gave no report: not loaded, or ended early`),
  ];
}

const lostFiles = (report: string, files: readonly string[]): string[] => {
  const reported = new Set([...report.matchAll(/<testsuite\b[^>]*\bfile="([^"]*)"/g)].map((match) => match[1]));
  return files.filter((file) => !reported.has(file));
};

const attribute = (attributes: string, name: string): string =>
  unescapeXml(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '');

const unescapeXml = (text: string): string =>
  text
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&(lt|gt|quot|apos|amp);/g, (_, name: keyof typeof entities) => entities[name]);

const entities = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

export function addCounts(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** The last line of a run: `12 passed, 0 failed`, and `, 1 skipped` only when there are any. */
export function formatCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
