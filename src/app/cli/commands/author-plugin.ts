import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError, pluralize, unwritable } from '../../../kernel/index.ts';
import { replaceFile } from '../../../operations/secrets/replace-file.ts';
import { type LintReport, lintPlugin, newPlugin } from '../../../plugins/author/index.ts';
import { createCompiler, type Permission, type PermissionCode } from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, quoteForShell, UsageError } from '../command.ts';
import { type PluginFile, readPlugin, readText, withSandbox } from '../read-plugin.ts';

/** Writes the files of a new plugin; exit 1, and nothing is written, if one of them exists. */
export async function writePlugin(input: CommandInput): Promise<ExitCode> {
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
  writeAll(dir, missing);
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
function writeAll(dir: string, files: readonly { path: string; text: string }[]): void {
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

type FileReport = LintReport & { file: string };
type Linted = { plugin: PluginFile; report: FileReport };

/** Prints the faults and warnings of plugin files; exit 1 if an upload of one would be refused. */
export async function lintPlugins(input: CommandInput): Promise<ExitCode> {
  const plugins: { file: string; plugin: PluginFile }[] = [];
  for (const file of input.positionals) plugins.push({ file, plugin: await readPlugin(file) });
  const strictV1 = input.values['strict-v1'] === true;
  const linted = await withSandbox(async (sandbox) => {
    const compiler = createCompiler(sandbox);
    const done: Linted[] = [];
    for (const { file, plugin } of plugins) {
      done.push({ plugin, report: { file, ...(await lintPlugin(plugin.source, sandbox, { compiler, strictV1 })) } });
    }
    return done;
  });
  const files = linted.map(({ plugin, report }) => ({
    ...report,
    faults: report.faults.map((fault) => plugin.place(fault).fault),
    warnings: report.warnings.map((warning) => plugin.place(warning).fault),
  }));
  const ok = files.every((report) => report.ok);
  answer(input, { ok, files }, linted.flatMap(describeLint).join('\n'));
  return ok ? EXIT.ok : EXIT.failed;
}

function describeLint({ plugin, report }: Linted): string[] {
  const { file, ok, key, version, faults, warnings, permissions, extensions } = report;
  const more = warnings.length > 0 ? `, ${pluralize(warnings.length, 'warning')}` : '';
  return [
    ...faults.map((fault) => plugin.describe(fault)),
    ...warnings.map((warning) => plugin.describe(warning, 'warning')),
    `${file}: ${ok ? `${key}@${version} is valid${more}` : pluralize(faults.length, 'fault')}`,
    ...permissions.map((permission) => `  ${describePermission(permission)}`),
    ...(extensions.length > 0 ? [`  uses what only this gateway has: ${extensions.join(', ')}`] : []),
  ];
}

const WORDS: Record<PermissionCode, string> = {
  hosts: 'sends requests to',
  channel_host: "sends requests to the channel's base URL",
  redirects: 'allows redirects between its hosts',
  any_host: 'downloads results from any public address, without headers',
  channel_key: "reads the channel's key",
  access_token: "reads an access token of the channel's service account, not its key",
  whole_context: 'passes on the whole request context, including credentials, or reads it by computed names',
  client_headers: "reads headers of the client's request",
  client_query: "reads the query of the client's request",
  client_files: "forwards the client's files",
  models: 'offers the models',
  protocols: 'supports the protocols',
  routes: 'handles',
  channel_types: 'handles channel types',
};

/** What a plugin may do, in words. */
const describePermission = ({ code, values }: Permission): string =>
  values.length === 0 ? WORDS[code] : `${WORDS[code]} ${values.join(', ')}`;

/** Makes the one file that an upload takes of a plugin in TypeScript; nothing if it has faults. */
export async function buildPlugin(input: CommandInput): Promise<ExitCode> {
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
  writeBuilt(out, plugin.source);
  answer(input, { ok, key, version, out, warnings }, [...lines, `wrote ${out}: ${key}@${version}`].join('\n'));
  return EXIT.ok;
}

function writeBuilt(path: string, text: string): void {
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
