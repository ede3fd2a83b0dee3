import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError, unwritable } from '../../../kernel/index.ts';
import { newPlugin } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, quoteForShell, UsageError } from '../command.ts';

/** Writes the files of a new plugin; exit 1, and nothing is written, if one of them exists. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const typescript = input.values.typescript === true;
  const created = newPlugin(input.positionals[0] ?? '', { typescript });
  if (!created.ok) throw new UsageError(created.error, 'plugin new');
  const dir = option(input, 'dir') ?? '.';
  const { key, name } = created.value;
  const files = created.value.files.map((file) => ({ ...file, path: join(dir, file.name) }));
  // A file that all plugins of a folder share is kept if it has the same text.
  const missing = files.filter(({ path, text, shared }) => !(shared && isSame(path, text)));
  const taken = missing.find(({ path }) => existsSync(path));
  if (taken) throw new OperatorError(`${taken.path} already exists: choose another name, or another folder with --dir`);
  write(dir, missing);
  const plugin = join(dir, `${key}.${typescript ? 'ts' : 'js'}`);
  const written = missing.map(({ path }) => path);
  answer(
    input,
    { ok: true, key, name, plugin, written },
    [
      ...written.map((path) => `wrote ${path}`),
      '',
      'Next:',
      ...['lint', 'test', 'dev', ...(typescript ? ['build'] : [])].map(
        (command) => `  taskgate plugin ${command} ${quoteForShell(plugin)}`,
      ),
    ].join('\n'),
  );
  return EXIT.ok;
}

function isSame(path: string, text: string): boolean {
  try {
    return readFileSync(path, 'utf8') === text;
  } catch {
    return false;
  }
}

/** Writes all files or none, and never overwrites one. */
function write(dir: string, files: readonly { path: string; text: string }[]): void {
  const done: string[] = [];
  try {
    mkdirSync(dir, { recursive: true });
    for (const { path, text } of files) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { flag: 'wx' });
      done.push(path);
    }
  } catch (error) {
    for (const path of done) rmSync(path, { force: true });
    throw unwritable((error as NodeJS.ErrnoException).path ?? dir, error);
  }
}
