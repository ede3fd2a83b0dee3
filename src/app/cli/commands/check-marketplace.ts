import { join } from 'node:path';
import { OperatorError, pluralize, systemClock } from '../../../kernel/index.ts';
import { checkFolder, type PublicKey, parsePublicKeyFile } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option } from '../command.ts';
import { describePluginFault } from '../read-plugin.ts';
import { readText, withSandbox } from '../with-sandbox.ts';

/** Compares the index of a folder with its files; exit 1 if there is a fault. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [folder = ''] = input.positionals;
  const signed = { publicKey: readKey(input), now: systemClock.unix() };
  const { faults, ...summary } = await withSandbox((sandbox) => checkFolder(folder, sandbox, signed));
  const ok = faults.length === 0;
  const file = join(folder, 'index.json');
  const size = `${pluralize(summary.plugins, 'plugin')}, ${pluralize(summary.versions, 'version')}`;
  answer(
    input,
    { ok, file, ...summary, faults },
    [
      ...faults.map((fault) => describePluginFault(join(folder, fault.file), fault)),
      `${file}: ${size}, ${ok ? 'no faults' : pluralize(faults.length, 'fault')}`,
    ].join('\n'),
  );
  return ok ? EXIT.ok : EXIT.failed;
}

/** A public key, given itself or as its file. */
function readKey(input: CommandInput): PublicKey | undefined {
  const given = option(input, 'public-key');
  if (given === undefined) return undefined;
  const key = parsePublicKeyFile(given) ?? parsePublicKeyFile(readText(given));
  if (!key) throw new OperatorError(`${given} is neither a public key of minisign nor the file of one`);
  return key;
}
