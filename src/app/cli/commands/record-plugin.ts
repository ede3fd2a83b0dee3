import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import {
  type Clock,
  isObject,
  type Json,
  type JsonObject,
  OperatorError,
  parseJson,
  pluralize,
  systemClock,
} from '../../../kernel/index.ts';
import { replaceFile } from '../../../operations/secrets/replace-file.ts';
import { cleanExchange, isRecorded, lintPlugin, removeCases, runFixture } from '../../../plugins/author/index.ts';
import type { HookCall, Manifest } from '../../../plugins/index.ts';
import type { Sandbox } from '../../../sandbox/index.ts';
import { hasEnded } from '../../../store/ports/index.ts';
import { createLogger } from '../../../telemetry/logging/logger.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, stopSignals, UsageError } from '../command.ts';
import { shorten } from '../plugin-dev/describe-hook-call.ts';
import { openVendor } from '../plugin-dev/open-vendor.ts';
import { createRecorder } from '../plugin-dev/record-exchanges.ts';
import { type DevInstance, startDevInstance } from '../plugin-dev/start-dev-instance.ts';
import { fixtureBeside, readPlugin, withSandbox } from '../read-plugin.ts';

/** The demo vendor finishes this request at once, and most vendors understand it. */
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

/** Shows the vendor's answer to a submission: clients never see it, but the author must. */
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

type TaskRun = { id: string | undefined; status: string; reason: string };

const POLL_MS = 300;

/** Whether the plugin takes `POST /v1/videos`, and with which model. */
const videoModel = ({ protocols }: Manifest): string | undefined =>
  protocols.find(({ name }) => name === 'proto_video')?.models[0];

/**
 * Submits one task, waits until it has ended or `stopping` is aborted, and reads it and its
 * results, so that every hook on the way is called. Never rejects for what vendor or plugin do
 * wrong.
 */
async function runTask(
  { address, apiKey, manifest, task }: DevInstance,
  { request, clock, stopping }: { request: JsonObject; clock: Clock; stopping: AbortSignal },
): Promise<TaskRun> {
  const video = videoModel(manifest);
  const path = video === undefined ? `/v1/tasks/${manifest.key}` : '/v1/videos';
  const body: Json = { model: video ?? manifest.models[0] ?? '', ...request };
  const submitted = await askGateway(`${address}${path}`, { method: 'POST', apiKey, body });
  const id = readId(submitted);
  if (id === undefined) return { id, status: 'refused', reason: readMessage(submitted) };
  for (;;) {
    const { status, failReason } = await task(id);
    if (hasEnded({ status }) || stopping.aborted) {
      await readResults(`${address}/v1`, { id, apiKey, isVideo: video !== undefined });
      return { id, status, reason: failReason };
    }
    await clock.sleep(POLL_MS);
  }
}

async function readResults(
  v1: string,
  { id, apiKey, isVideo }: { id: string; apiKey: string; isVideo: boolean },
): Promise<void> {
  if (isVideo) await askGateway(`${v1}/videos/${id}`, { apiKey });
  const { body } = await askGateway(`${v1}/tasks/${id}/artifacts`, { apiKey });
  const artifacts = isObject(body) && Array.isArray(body.artifacts) ? body.artifacts : [];
  for (const { content_url: url } of artifacts as { content_url?: unknown }[]) {
    if (typeof url === 'string') await askGateway(url, { apiKey });
  }
}

function readId({ status, body }: GatewayAnswer): string | undefined {
  if (status >= 300 || !isObject(body)) return undefined;
  const id = body.id ?? body.task_id;
  return typeof id === 'string' ? id : undefined;
}

function readMessage({ status, body }: GatewayAnswer): string {
  const error = isObject(body) ? body.error : undefined;
  return isObject(error) && typeof error.message === 'string' ? error.message : `HTTP ${status}`;
}

/** The most of a download that is read; the rest is discarded. */
const MAX_BYTES = 1024 * 1024;

type Asked = { method?: 'GET' | 'POST'; apiKey: string; body?: Json };
type GatewayAnswer = { status: number; body: Json | undefined };

/** One request to the gateway in this process. An answer that is not JSON has no body. */
function askGateway(url: string, { method = 'GET', apiKey, body }: Asked): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const sent = request(url, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        if (bytes < MAX_BYTES) chunks.push(chunk);
        bytes += chunk.length;
      });
      answer.on('end', () => {
        const text = bytes > MAX_BYTES ? '' : Buffer.concat(chunks).toString('utf8');
        resolve({ status: answer.statusCode ?? 0, body: parseJson(text) as Json | undefined });
      });
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
