import { lintPlugin } from '../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from './command.ts';
import { describeFault } from './describe-fault.ts';
import { readText, withSandbox } from './with-sandbox.ts';

/** Prints every fault and warning of a plugin file; exit 1 when an upload would be refused. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [file = ''] = input.positionals;
  const source = readText(file);
  const report = await withSandbox((sandbox) => lintPlugin(source, sandbox));
  const lines = [
    ...report.faults.map((fault) => describeFault(file, fault)),
    ...report.warnings.map((warning) => `${describeFault(file, warning)} (warning)`),
    report.ok
      ? `${file}: ${report.key}@${report.version} is valid${report.warnings.length > 0 ? `, ${count(report.warnings, 'warning')}` : ''}`
      : `${file}: ${count(report.faults, 'fault')}`,
  ];
  answer(input, report, lines.join('\n'));
  return report.ok ? EXIT.ok : EXIT.failed;
}

const count = (list: readonly unknown[], noun: string): string =>
  `${list.length} ${noun}${list.length === 1 ? '' : 's'}`;
