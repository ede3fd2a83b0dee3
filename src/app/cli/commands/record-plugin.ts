import { existsSync, readFileSync } from 'node:fs';
import { isObject, type JsonObject, OperatorError, parseJson, pluralize, systemClock } from '../../../kernel/index.ts';
import { replaceFile } from '../../../operations/secrets/replace-file.ts';
import {
  cleanExchange,
  type HookCall,
  isRecorded,
  lintPlugin,
  removeCases,
  runFixture,
} from '../../../plugins/index.ts';
import type { Sandbox } from '../../../sandbox/index.ts';
import { createLogger } from '../../../telemetry/logging/logger.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, stopSignals, UsageError } from '../command.ts';
import { shorten } from '../plugin-dev/describe-hook-call.ts';
import { openVendor } from '../plugin-dev/open-vendor.ts';
import { createRecorder } from '../plugin-dev/record-exchanges.ts';
import { runTask } from '../plugin-dev/run-task.ts';
import { startDevInstance } from '../plugin-dev/start-dev-instance.ts';
import { fixtureBeside, readPlugin } from '../read-plugin.ts';
import { withSandbox } from '../with-sandbox.ts';

/** What the demo vendor finishes at once, and most vendors understand. */
const DEFAULT_REQUEST = { prompt: 'a paper boat [duration=1]' };

/**
 * Runs one task through a gateway of its own and adds its hook calls to the plugin's fixture;
 * exit 1 if there was nothing to add because the task was refused.
 */
export function run(input: CommandInput): Promise<ExitCode> {
  return withSandbox((sandbox) => record(input, sandbox));
}

async function record(input: CommandInput, sandbox: Sandbox): Promise<ExitCode> {
  const [file = ''] = input.positionals;
  const request = readRequest(option(input, 'request'));
  const plugin = await readPlugin(file);
  const { source } = plugin;
  const linted = await lintPlugin(source, sandbox);
  if (!linted.ok) {
    const lines = linted.faults.map((fault) => plugin.describe(fault));
    answer(input, { ok: false, faults: linted.faults }, lines.join('\n'));
    return EXIT.failed;
  }
  const path = option(input, 'fixture') ?? fixtureBeside(file);
  const vendor = await openVendor(input, 'plugin record', linted.keyFormat);
  const stopping = stopSignals();
  try {
    const replaced = await removeMismatches(sandbox, { source, path });
    const notes: string[] = [];
    let refusal: string | undefined;
    const recorder = createRecorder({
      path,
      sandbox,
      channelKey: vendor.key,
      clock: systemClock,
      print: (text) => void notes.push(text),
    });
    const instance = await startDevInstance({
      source,
      port: 0,
      dataDir: undefined,
      vendor,
      price: option(input, 'price'),
      userQuota: undefined,
      onHookCall: (call) => {
        recorder.add(source, call);
        if (call.hook === 'parseSubmitError') refusal = describeRefusal(call);
      },
      clock: systemClock,
      logger: await createLogger({ level: 'error', pretty: !input.json, colors: input.io.isTerminal }),
    });
    const task = await runTask(instance, { request, clock: systemClock, stopping }).finally(instance.stop);
    const cases = await recorder.end();
    const ok = cases > 0 || task.status !== 'refused';
    answer(
      input,
      { ok, file: path, cases, replaced, task, notes },
      [
        ...notes.map((note) => `note: ${note}`),
        `the task ended as ${task.status}${task.reason === '' ? '' : `: ${task.reason}`}`,
        ...(refusal === undefined ? [] : [refusal]),
        ...(replaced > 0 ? [`${pluralize(replaced, 'recorded case')} that no longer fitted removed from ${path}`] : []),
        `${pluralize(cases, 'case')} added to ${path}`,
      ].join('\n'),
    );
    return ok ? EXIT.ok : EXIT.failed;
  } finally {
    await vendor.stop();
  }
}

/** What the vendor answered to a submission: clients do not read it, and the author must. */
function describeRefusal({ args: [response] }: HookCall): string | undefined {
  if (!isObject(response)) return undefined;
  const body = JSON.stringify(shorten(cleanExchange(response.body ?? null)));
  return `the vendor answered HTTP ${response.statusCode}: ${body}`;
}

function readRequest(given: string | undefined): JsonObject {
  if (given === undefined) return DEFAULT_REQUEST;
  const request = parseJson(given);
  if (!isObject(request)) {
    throw new UsageError(
      `--request: read "${given}"; allowed: a JSON object such as {"prompt":"a boat"}`,
      'plugin record',
    );
  }
  return request as JsonObject;
}

/** Removes recorded cases that no longer fit. Those that the author wrote stay as they are. */
async function removeMismatches(sandbox: Sandbox, { source, path }: { source: string; path: string }): Promise<number> {
  if (!existsSync(path)) return 0;
  const text = readFileSync(path, 'utf8');
  const report = await runFixture(sandbox, { source, fixture: parseJson(text) });
  const gone = report.cases.flatMap(({ name, ok }, index) => (!ok && isRecorded(name) ? [index] : []));
  if (gone.length > 0 && !replaceFile(path, text, removeCases(text, gone))) {
    throw new OperatorError(`${path} was saved while this ran: try again`);
  }
  return gone.length;
}
