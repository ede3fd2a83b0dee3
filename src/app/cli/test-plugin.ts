import { parseJson } from '../../kernel/index.ts';
import { type FixtureCaseReport, runFixture } from '../../plugins/index.ts';
import { answer, CommandError, type CommandInput, EXIT, type ExitCode, option } from './command.ts';
import { describeFault } from './describe-fault.ts';
import { readText, withSandbox } from './with-sandbox.ts';

/** Runs the cases of a fixture against a plugin file; exit 1 unless all pass. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [file = ''] = input.positionals;
  const fixtureFile = option(input, 'fixture') ?? '';
  const source = readText(file);
  const fixture = parseJson(readText(fixtureFile));
  if (fixture === undefined) throw new CommandError(`${fixtureFile} is no JSON`);
  const report = await withSandbox((sandbox) => runFixture(source, fixture, sandbox));
  const lines = [
    ...report.faults.map((fault) => describeFault(file, fault)),
    ...report.cases.flatMap(describeCase),
    `${report.passed} of ${report.total} cases passed`,
  ];
  answer(input, report, lines.join('\n'));
  return report.ok ? EXIT.ok : EXIT.failed;
}

function describeCase(report: FixtureCaseReport): string[] {
  if (report.ok) return [`ok    ${report.name}`];
  const lines = [`FAIL  ${report.name}: ${report.message ?? 'failed'}`];
  if (report.expected !== undefined) lines.push(`      expected ${JSON.stringify(report.expected)}`);
  if (report.actual !== undefined) lines.push(`      actual   ${JSON.stringify(report.actual)}`);
  return lines;
}
