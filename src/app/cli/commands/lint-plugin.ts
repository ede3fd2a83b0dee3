import { pluralize } from '../../../kernel/index.ts';
import {
  createCompiler,
  type LintReport,
  lintPlugin,
  type Permission,
  type PermissionCode,
} from '../../../plugins/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { type PluginFile, readPlugin } from '../read-plugin.ts';
import { withSandbox } from '../with-sandbox.ts';

type FileReport = LintReport & { file: string };
type Linted = { plugin: PluginFile; report: FileReport };

/** Prints the faults and warnings of plugin files; exit 1 if an upload of one would be refused. */
export async function run(input: CommandInput): Promise<ExitCode> {
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
  answer(input, { ok, files }, linted.flatMap(describe).join('\n'));
  return ok ? EXIT.ok : EXIT.failed;
}

function describe({ plugin, report }: Linted): string[] {
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
