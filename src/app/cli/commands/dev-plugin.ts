import { existsSync, readFileSync } from 'node:fs';
import type { DevelopmentView } from '../../../http/index.ts';
import { AppError, OperatorError, parseJson, pluralize, systemClock } from '../../../kernel/index.ts';
import { type LintReport, lintPlugin, runFixture } from '../../../plugins/author/index.ts';
import type { HookCall, Manifest } from '../../../plugins/index.ts';
import type { Sandbox } from '../../../sandbox/index.ts';
import { createLogger } from '../../../telemetry/logging/logger.ts';
import { integer } from '../../config/config-kinds.ts';
import {
  answer,
  type CommandInput,
  EXIT,
  type ExitCode,
  option,
  quoteForShell,
  stopSignals,
  UsageError,
} from '../command.ts';
import { describeHookCall, summarizeHookCall } from '../plugin-dev/describe-hook-call.ts';
import { openVendor, type Vendor } from '../plugin-dev/open-vendor.ts';
import { createRecorder } from '../plugin-dev/record-exchanges.ts';
import { type DevInstance, startDevInstance } from '../plugin-dev/start-dev-instance.ts';
import { fixtureBeside, type PluginFile, placeInFile, readPlugin, withSandbox } from '../read-plugin.ts';
import { watchFiles } from '../watch-files.ts';

/** Differs from the gateway's 3000 and the demo vendor's 4010. */
const DEFAULT_PORT = 4020;
const PORT = integer(0, 65_535);
const QUOTA = integer(0, 500_000_000_000_000);

/**
 * Runs a gateway for one plugin file until Ctrl-C: reloads it on save, shows every hook call, and
 * records calls with `--record`.
 */
export function run(input: CommandInput): Promise<ExitCode> {
  return withSandbox((sandbox) => develop(input, sandbox));
}

async function develop(input: CommandInput, sandbox: Sandbox): Promise<ExitCode> {
  const [file = ''] = input.positionals;
  const port = readNumber(input, 'port', PORT) ?? DEFAULT_PORT;
  const userQuota = readNumber(input, 'user-quota', QUOTA);
  const stopping = stopSignals();
  const watcher = watchFiles([file], systemClock, stopping);
  watcher.mark();
  let plugin = await readPlugin(file);
  watcher.add(plugin.files);
  let { source } = plugin;
  const linted = await lintPlugin(source, sandbox);
  if (!linted.ok) {
    const lines = linted.faults.map((fault) => plugin.describe(fault));
    answer(input, { ok: false, faults: linted.faults }, lines.join('\n'));
    return EXIT.failed;
  }
  const vendor = await openVendor(input, 'plugin dev', linted.keyFormat);
  const print = (event: object, text: string): void => answer(input, event, text);
  try {
    const path = option(input, 'record');
    const note = (text: string): void => print({ event: 'note', message: text }, `note: ${text}`);
    const recorder =
      path === undefined
        ? undefined
        : createRecorder({ path, sandbox, channelKey: vendor.key, clock: systemClock, print: note });
    const onHookCall = (call: HookCall): void => {
      print(
        summarizeHookCall(call),
        describeHookCall(call, (place) => placeInFile(plugin, place)),
      );
      recorder?.add(source, call);
    };
    const instance = await startDevInstance({
      source,
      port,
      dataDir: option(input, 'data-dir'),
      vendor,
      price: option(input, 'price'),
      userQuota,
      onHookCall,
      onTaskEnd: (ended) =>
        print({ event: 'ended', ...ended }, `${ended.id} ended as ${ended.status}: ${ended.bill.summary}\n`),
      clock: systemClock,
      logger: await createLogger({ level: 'warn', pretty: !input.json, colors: input.io.isTerminal }),
    });
    const fixture = path ?? fixtureBeside(file);
    const checkFixture = async (): Promise<void> => {
      const mismatches = await findMismatches(sandbox, { file, source, fixture });
      instance.showMismatches(mismatches);
      if (mismatches) print({ event: 'mismatches', ...mismatches }, describeMismatches(mismatches));
    };
    try {
      const ready = announce(instance, vendor, path);
      print(ready, banner(ready, file));
      showWarnings(input, plugin, linted);
      await checkFixture();
      while (await watcher.next()) {
        watcher.mark();
        const serving = source;
        const onRead = (saved: PluginFile): void => {
          plugin = saved;
          watcher.add(saved.files);
        };
        source = await reload(input, instance, { file, serving, onRead });
        if (source === serving) continue;
        showWarnings(input, plugin, await lintPlugin(source, sandbox));
        await checkFixture();
      }
    } finally {
      await instance.stop();
    }
    const cases = await recorder?.end();
    if (cases !== undefined)
      print({ event: 'recorded', file: path, cases }, `${pluralize(cases, 'case')} added to ${path}`);
  } finally {
    await vendor.stop();
  }
  return EXIT.ok;
}

type Numbers = { parse(text: string): { ok: true; value: number } | { ok: false }; allowed: string };

function readNumber(input: CommandInput, name: string, { parse, allowed }: Numbers): number | undefined {
  const given = option(input, name);
  if (given === undefined) return undefined;
  const number = parse(given);
  if (!number.ok) throw new UsageError(`--${name}: read "${given}"; allowed: ${allowed}`, 'plugin dev');
  return number.value;
}

/** Serves the saved file if it is valid; returns the source that now serves. */
async function reload(
  input: CommandInput,
  instance: DevInstance,
  { file, serving, onRead }: { file: string; serving: string; onRead: (plugin: PluginFile) => void },
): Promise<string> {
  try {
    const plugin = await readPlugin(file);
    onRead(plugin);
    const { source } = plugin;
    const result = await instance.reload(source);
    if (!Array.isArray(result)) {
      const { key, version } = result;
      answer(input, { event: 'reloaded', ok: true, key, version }, `reloaded: ${key}@${version}\n`);
      return source;
    }
    const lines = result.map((fault) => plugin.describe(fault));
    answer(
      input,
      { event: 'reloaded', ok: false, faults: result },
      [...lines, `not reloaded: ${pluralize(result.length, 'fault')}; the last valid one keeps serving\n`].join('\n'),
    );
  } catch (error) {
    if (!(error instanceof AppError || error instanceof OperatorError)) throw error;
    answer(input, { event: 'reloaded', ok: false, error: error.message }, `not reloaded: ${error.message}\n`);
  }
  return serving;
}

/** Shows lint's warnings: an upload is accepted, but they may still be why a task fails. */
function showWarnings(input: CommandInput, plugin: PluginFile, { warnings }: LintReport): void {
  if (warnings.length === 0) return;
  const lines = warnings.map((warning) => plugin.describe(warning, 'warning'));
  answer(
    input,
    { event: 'warnings', warnings: warnings.map((one) => plugin.place(one).fault) },
    `${lines.join('\n')}\n`,
  );
}

type Ready = ReturnType<typeof announce>;

const announce = ({ address, manifest, root, apiKey }: DevInstance, vendor: Vendor, record: string | undefined) => ({
  event: 'ready',
  ok: true,
  address,
  key: manifest.key,
  version: manifest.version,
  api_key: apiKey,
  root,
  vendor: { base_url: vendor.baseUrl, demo: vendor.isDemo },
  submit: submitCommand(manifest, address, apiKey),
  page: `${address}/api/dev#${apiKey}`,
  ...(record === undefined ? {} : { record }),
});

/** A shell command that submits a task. */
function submitCommand({ key, models, protocols }: Manifest, address: string, apiKey: string): string {
  const video = protocols.find(({ name, models: own }) => name === 'proto_video' && own.length > 0);
  const authorization = `-H 'authorization: Bearer ${apiKey}'`;
  if (video) {
    return `curl -s ${address}/v1/videos ${authorization} -F ${quoteForShell(`model=${video.models[0]}`)} -F 'prompt=a boat'`;
  }
  const body = JSON.stringify({ model: models[0], prompt: 'a boat' });
  return `curl -s ${address}/v1/tasks/${key} ${authorization} -H 'content-type: application/json' -d ${quoteForShell(body)}`;
}

const banner = ({ address, key, version, api_key, root, vendor, submit, page, record }: Ready, file: string): string =>
  [
    '',
    `  ${key}@${version} serves at ${address}`,
    '',
    `  Panel    ${address}  as ${root.username} with ${root.password}`,
    `  Calls    ${page}`,
    `  API key  ${api_key}`,
    `  Vendor   ${vendor.demo ? 'the demo vendor' : vendor.base_url}`,
    ...(record === undefined ? [] : [`  Record   ${record}`]),
    '',
    '  Submit a task:',
    `  ${submit}`,
    '',
    `  Saving ${file} reloads it; Ctrl-C ends.`,
    '',
  ].join('\n');

type Mismatches = NonNullable<DevelopmentView['mismatches']>;

/**
 * The cases of a plugin's fixture whose results differ from what a source returns, with commands
 * for the author; null if all fit, or if there is no fixture that could be run.
 */
async function findMismatches(
  sandbox: Sandbox,
  { file, source, fixture }: { file: string; source: string; fixture: string },
): Promise<Mismatches | null> {
  if (!existsSync(fixture)) return null;
  const report = await runFixture(sandbox, { source, fixture: parseJson(readFileSync(fixture, 'utf8')) });
  const cases = report.cases.filter(({ ok }) => !ok).map(({ name }) => name);
  if (cases.length === 0) return null;
  const named = fixture === fixtureBeside(file) ? '' : ` --fixture ${quoteForShell(fixture)}`;
  const commands = ['test', 'record'].map((command) => `taskgate plugin ${command} ${quoteForShell(file)}${named}`);
  return { fixture, cases, commands };
}

/** Says what no longer fits, how to see the difference, and how to record the cases again. */
function describeMismatches({ fixture, cases, commands }: Mismatches): string {
  const names = cases.slice(0, 3).map((name) => JSON.stringify(name));
  const more = cases.length > names.length ? ', …' : '';
  const [see = '', record = ''] = commands;
  return [
    `note: ${fixture} has ${pluralize(cases.length, 'case that no longer fits', 'cases that no longer fit')}: ${names.join(', ')}${more}`,
    `  to see the difference  ${see}`,
    `  to record it again      ${record}`,
    '',
  ].join('\n');
}
