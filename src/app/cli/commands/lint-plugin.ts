import { createCompiler, type LintReport, lintPlugin } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { describePluginFault } from '../describe-plugin-fault.ts';
import { countOf } from '../pluralize.ts';
import { readText, withSandbox } from '../with-sandbox.ts';

type FileReport = LintReport & { file: string };

/** Prints the faults and warnings of plugin files; exit 1 if an upload of one would be refused. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const sources = input.positionals.map((file) => ({ file, source: readText(file) }));
  const files = await withSandbox(async (sandbox) => {
    const compiler = createCompiler(sandbox);
    const reports: FileReport[] = [];
    for (const { file, source } of sources) reports.push({ file, ...(await lintPlugin(source, sandbox, compiler)) });
    return reports;
  });
  const ok = files.every((report) => report.ok);
  answer(input, { ok, files }, files.flatMap(describe).join('\n'));
  return ok ? EXIT.ok : EXIT.failed;
}

function describe({ file, ok, key, version, faults, warnings }: FileReport): string[] {
  const more = warnings.length > 0 ? `, ${countOf(warnings.length, 'warning')}` : '';
  return [
    ...faults.map((fault) => describePluginFault(file, fault)),
    ...warnings.map((warning) => describePluginFault(file, warning, 'warning')),
    `${file}: ${ok ? `${key}@${version} is valid${more}` : countOf(faults.length, 'fault')}`,
  ];
}
