import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeIndex } from '../../../plugins/index.ts';
import { answer, CommandError, type CommandInput, EXIT, type ExitCode, option } from '../command.ts';
import { describePluginFault } from '../describe-plugin-fault.ts';
import { countOf } from '../pluralize.ts';
import { replaceFile } from '../replace-file.ts';
import { readText, withSandbox } from '../with-sandbox.ts';

/** Writes the index of a folder of plugins; exit 1, and nothing is written, if one has a fault. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [folder = ''] = input.positionals;
  const out = option(input, 'out') ?? join(folder, 'index.json');
  const before = existsSync(out) ? readText(out) : undefined;
  const { faults, text, ...summary } = await withSandbox(async (sandbox) => {
    try {
      return await writeIndex({ folder, out, name: option(input, 'name') }, sandbox);
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      throw new CommandError(`${path ?? folder} cannot be read (${code})`);
    }
  });
  const ok = faults.length === 0;
  if (ok && text !== before) write(out, before, text);
  answer(
    input,
    { ok, file: out, ...summary, changed: ok && text !== before, faults },
    [
      ...faults.map((fault) => describePluginFault(join(folder, fault.file), fault)),
      ok
        ? `${out}: ${countOf(summary.plugins, 'plugin')}, ${countOf(summary.versions, 'version')}${text === before ? ', unchanged' : ''}`
        : `${out} was not written: ${countOf(faults.length, 'fault')}`,
    ].join('\n'),
  );
  return ok ? EXIT.ok : EXIT.failed;
}

function write(out: string, before: string | undefined, text: string): void {
  if (before !== undefined) {
    if (!replaceFile(out, before, text)) throw new CommandError(`${out} was changed meanwhile: run the command again`);
    return;
  }
  try {
    writeFileSync(out, text, { flag: 'wx' });
  } catch (error) {
    throw new CommandError(`${out} cannot be written (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
}
