import { OperatorError, parseJson, pluralize, systemClock } from '../../../kernel/index.ts';
import { type BenchReport, benchPlugin } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { describePluginFault, findFixtureFile, readPlugin } from '../read-plugin.ts';
import { readText, withSandbox } from '../with-sandbox.ts';

const DEFAULT_SECONDS = 3;
const MAX_SECONDS = 3600;

/** Measures the hooks that a fixture's cases call; exit 1 if a case exceeds the limit. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [file = ''] = input.positionals;
  const fixtureFile = findFixtureFile(input, file, 'plugin bench');
  const durationMs = readSeconds(input) * 1000;
  const plugin = await readPlugin(file);
  const { source } = plugin;
  const fixture = parseJson(readText(fixtureFile));
  if (fixture === undefined) throw new OperatorError(`${fixtureFile} is not JSON`);
  const benched = await withSandbox((sandbox, { callTimeoutMs }) =>
    benchPlugin(sandbox, { source, fixture }, { clock: systemClock, durationMs, limitMs: callTimeoutMs }),
  );
  if (!benched.ok) {
    const lines = benched.error.map((fault) =>
      fault.path === 'fixture' ? describePluginFault(fixtureFile, fault) : plugin.describe(fault),
    );
    answer(input, { ok: false, faults: benched.error }, lines.join('\n'));
    return EXIT.failed;
  }
  answer(input, benched.value, describe(benched.value).join('\n'));
  return benched.value.ok ? EXIT.ok : EXIT.failed;
}

function readSeconds(input: CommandInput): number {
  const given = option(input, 'seconds');
  if (given === undefined) return DEFAULT_SECONDS;
  const seconds = /^\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN;
  if (seconds > 0 && seconds <= MAX_SECONDS) return seconds;
  throw new UsageError(`--seconds: read "${given}"; allowed: more than 0, at most ${MAX_SECONDS}`, 'plugin bench');
}

const HEAD = ['hook', 'calls', 'p50 ms', 'p95 ms', 'max ms', 'calls/s', 'bytes in', 'bytes out'];

function describe({ hooks, failures, slow, limitMs, recommendedMs }: BenchReport): string[] {
  const rows = hooks.map((one) => [
    one.hook,
    String(one.calls),
    ...[one.p50, one.p95, one.max].map((ms) => ms.toFixed(2)),
    String(Math.round(one.callsPerSecond)),
    String(one.bytesIn),
    String(one.bytesOut),
  ]);
  const widths = HEAD.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return [
    line(HEAD),
    ...rows.map(line),
    ...failures.map(({ name, message }) => `FAIL  ${name}: ${message}`),
    ...slow.map((hook) => `slow  ${hook}: 95 of 100 calls should take at most ${recommendedMs} ms`),
    failures.length > 0
      ? `${pluralize(failures.length, 'case')} could not be run within the limit of ${limitMs} ms a call`
      : `every case is within the limit of ${limitMs} ms a call`,
  ];
}
