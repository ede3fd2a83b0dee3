import { join } from 'node:path';
import { checkFolder } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { describePluginFault } from '../describe-plugin-fault.ts';
import { countOf } from '../pluralize.ts';
import { withSandbox } from '../with-sandbox.ts';

/** Compares the index of a folder with its files; exit 1 if there is a fault. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [folder = ''] = input.positionals;
  const { faults, ...summary } = await withSandbox((sandbox) => checkFolder(folder, sandbox));
  const ok = faults.length === 0;
  const file = join(folder, 'index.json');
  const size = `${countOf(summary.plugins, 'plugin')}, ${countOf(summary.versions, 'version')}`;
  answer(
    input,
    { ok, file, ...summary, faults },
    [
      ...faults.map((fault) => describePluginFault(join(folder, fault.file), fault)),
      `${file}: ${size}, ${ok ? 'no faults' : countOf(faults.length, 'fault')}`,
    ].join('\n'),
  );
  return ok ? EXIT.ok : EXIT.failed;
}
