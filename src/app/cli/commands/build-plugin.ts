import { existsSync, writeFileSync } from 'node:fs';
import { OperatorError, pluralize, unwritable } from '../../../kernel/index.ts';
import { replaceFile } from '../../../operations/secrets/replace-file.ts';
import { lintPlugin } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { readPlugin } from '../read-plugin.ts';
import { readText, withSandbox } from '../with-sandbox.ts';

/** Makes the one file that an upload takes of a plugin in TypeScript; nothing if it has faults. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [file = ''] = input.positionals;
  if (!file.endsWith('.ts')) throw new UsageError(`${file} is not TypeScript: upload it as it is`, 'plugin build');
  const out = option(input, 'out') ?? file.replace(/\.ts$/, '.js');
  const plugin = await readPlugin(file);
  const { ok, key, version, faults, warnings } = await withSandbox((sandbox) => lintPlugin(plugin.source, sandbox));
  const lines = [
    ...faults.map((fault) => plugin.describe(fault)),
    ...warnings.map((warning) => plugin.describe(warning, 'warning')),
  ];
  if (!ok) {
    answer(
      input,
      { ok, faults },
      [...lines, `${file}: ${pluralize(faults.length, 'fault')}, nothing written`].join('\n'),
    );
    return EXIT.failed;
  }
  write(out, plugin.source);
  answer(input, { ok, key, version, out, warnings }, [...lines, `wrote ${out}: ${key}@${version}`].join('\n'));
  return EXIT.ok;
}

function write(path: string, text: string): void {
  if (existsSync(path)) {
    const before = readText(path);
    if (before !== text && !replaceFile(path, before, text))
      throw new OperatorError(`${path} was saved while this ran: try again`);
    return;
  }
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    throw unwritable(path, error);
  }
}
