import { structuredPatch } from 'diff';
import { isObject, type Json, OperatorError, parseJson, pluralize, systemClock } from '../../../kernel/index.ts';
import { replaceFile } from '../../../operations/secrets/replace-file.ts';
import {
  addExpected,
  type BenchReport,
  benchPlugin,
  type FixtureReport,
  runFixture,
} from '../../../plugins/author/index.ts';
import type { Sandbox } from '../../../sandbox/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, stopSignals, UsageError } from '../command.ts';
import {
  describePluginFault,
  findFixtureFile,
  type PluginFile,
  placeInFile,
  readPlugin,
  readText,
  withSandbox,
} from '../read-plugin.ts';
import { watchFiles } from '../watch-files.ts';

/**
 * `written` names the cases to which `--update` added `expected`; `volatile` those whose result
 * differs each time.
 */
type TestReport = Omit<FixtureReport, 'unjudged'> & { unjudged: string[]; written: string[]; volatile: string[] };

/** Called with the plugin, whose imported files are watched too. */
type OnRead = (plugin: PluginFile) => void;

/**
 * Runs the cases of a fixture against a plugin file; exit 1 unless all pass. `--watch` runs them
 * again after every save, until Ctrl-C.
 */
export async function testPlugin(input: CommandInput): Promise<ExitCode> {
  const [file = ''] = input.positionals;
  const fixtureFile = findFixtureFile(input, file, 'plugin test');
  const once = (sandbox: Sandbox, onRead: OnRead) => testOnce(input, sandbox, { file, fixtureFile, onRead });
  const ok = await withSandbox((sandbox) =>
    input.values.watch === true
      ? repeatOnSave(input, [file, fixtureFile], (onRead) => once(sandbox, onRead))
      : once(sandbox, () => {}),
  );
  return ok ? EXIT.ok : EXIT.failed;
}

/** Runs `work` now and after every save of a file; returns the result of the last run. */
async function repeatOnSave(
  input: CommandInput,
  files: readonly string[],
  work: (onRead: OnRead) => Promise<boolean>,
): Promise<boolean> {
  const stopping = stopSignals();
  const watcher = watchFiles(files, systemClock, stopping);
  let ok = false;
  do {
    watcher.mark();
    ok = await work(({ files: more }) => watcher.add(more)).catch((error) => {
      // A file may be missing or incomplete for a moment: the next save may fix it.
      if (!(error instanceof OperatorError)) throw error;
      answer(input, { ok: false, error: error.message }, error.message);
      return false;
    });
    if (!input.json) input.io.out(`\nwatching ${files.join(' and ')}; Ctrl-C ends\n\n`);
  } while (await watcher.next());
  return ok;
}

async function testOnce(
  input: CommandInput,
  sandbox: Sandbox,
  { file, fixtureFile, onRead }: { file: string; fixtureFile: string; onRead: OnRead },
): Promise<boolean> {
  const plugin = await readPlugin(file);
  onRead(plugin);
  const { source } = plugin;
  const text = readText(fixtureFile);
  const fixture = parseJson(text);
  if (fixture === undefined) throw new OperatorError(`${fixtureFile} is not JSON`);
  const filter = option(input, 'filter');
  const found = await runFixture(sandbox, { source, fixture, ...(filter === undefined ? {} : { filter }) });
  const report: TestReport = { ...found, unjudged: found.unjudged.map(({ name }) => name), written: [], volatile: [] };
  if (input.values.update === true) {
    const additions = found.unjudged.flatMap(({ index, name, result }) =>
      result.repeatable ? [{ index, name, value: result.value }] : [],
    );
    report.volatile = found.unjudged.filter(({ result }) => !result.repeatable).map(({ name }) => name);
    if (additions.length > 0) {
      if (!replaceFile(fixtureFile, text, addExpected(text, additions)))
        throw new OperatorError(`${fixtureFile} was saved while the test ran; nothing was written to it`);
      report.written = additions.map(({ name }) => name);
    }
  }
  answer(input, report, describe(report, { plugin, fixtureFile, filter }).join('\n'));
  return report.ok;
}

type Names = { plugin: PluginFile; fixtureFile: string; filter: string | undefined };

function describe(report: TestReport, { plugin, fixtureFile, filter }: Names): string[] {
  const { cases, faults, passed, total, skipped, uncovered, unjudged, written, volatile } = report;
  if (faults.length > 0) {
    return [
      ...faults.map((fault) =>
        fault.path === 'fixture' ? describePluginFault(fixtureFile, fault) : plugin.describe(fault),
      ),
      `no case ran: ${pluralize(faults.length, 'fault')}`,
    ];
  }
  const lines = cases.flatMap((one) => {
    if (one.ok) return [`ok    ${one.name}`];
    const { expected, actual } = one;
    const details =
      actual === undefined
        ? []
        : expected === undefined
          ? JSON.stringify(actual, null, 2).split('\n')
          : describeMismatch(expected, actual);
    const place = placeInFile(plugin, one);
    if (place !== '') details.push(`at ${place}`);
    return [`FAIL  ${one.name}: ${one.message ?? 'failed'}`, ...details.map((line) => `      ${line}`)];
  });
  for (const name of written)
    lines.push(`wrote the result of "${name}" into ${fixtureFile} as its "expected": check it`);
  for (const name of volatile)
    lines.push(
      `note: "${name}" gives a different result each time; freeze the clock with "unixNow", or leave out "expected"`,
    );
  const open = unjudged.filter((name) => !written.includes(name) && !volatile.includes(name));
  if (open.length > 0)
    lines.push(`note: ${pluralize(open.length, 'case')} without "expected" only must not fail; --update writes it`);
  if (uncovered.length > 0) lines.push(`note: no case covers ${uncovered.join(', ')}`);
  if (total === 0 && skipped > 0) lines.push(`no case has "${filter}" in its name`);
  lines.push(
    `${passed} of ${pluralize(total, 'case')} passed${passed < total ? `, ${total - passed} failed` : ''}` +
      `${skipped > 0 ? `; --filter left out ${skipped}` : ''}`,
  );
  return lines;
}

/** With more different lines than this a diff is slow to compute and useless to read. */
const MAX_EDITS = 1000;
/** Lines of a diff that are shown. */
const MAX_LINES = 80;
const CONTEXT_LINES = 3;

/** Sorts members by key, since their order does not matter. */
function sortMembers(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (!isObject(value)) return value;
  const entries = Object.entries(value as { [key: string]: Json }).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sortMembers(member)]));
}

const pretty = (value: Json): string => `${JSON.stringify(sortMembers(value), null, 2)}\n`;

/** The difference of two JSON values line by line: `-` expected, `+` actual. */
function describeMismatch(expected: Json, actual: Json): string[] {
  const patch = structuredPatch('expected', 'actual', pretty(expected), pretty(actual), '', '', {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDITS,
  });
  if (!patch) return ['- expected, + actual: they have almost nothing in common'];
  const lines = patch.hunks.flatMap((hunk, index) => [...(index > 0 ? ['  …'] : []), ...hunk.lines.map(spaced)]);
  const more = lines.length - MAX_LINES;
  return ['- expected', '+ actual', ...lines.slice(0, MAX_LINES), ...(more > 0 ? [`  … ${more} more lines`] : [])];
}

const spaced = (line: string): string => `${line.slice(0, 1)} ${line.slice(1)}`;

const DEFAULT_SECONDS = 3;
const MAX_SECONDS = 3600;

/** Measures the hooks that a fixture's cases call; exit 1 if a case exceeds the limit. */
export async function measurePlugin(input: CommandInput): Promise<ExitCode> {
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
  answer(input, benched.value, describeBench(benched.value).join('\n'));
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

function describeBench({ hooks, failures, slow, limitMs, recommendedMs }: BenchReport): string[] {
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
