import { mapModel, RELAY_TYPE } from '../../channels/index.ts';
import { err, isObject, type Json, ok, type Result, userOwner } from '../../kernel/index.ts';
import {
  buildBatchQueryRequest,
  buildQueryRequest,
  type LoadedPlugin,
  type TaskQueryContext,
} from '../../plugins/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import { canonicalHost, type UpstreamFailure, type UpstreamRequest } from '../../upstream/index.ts';
import type { TaskDeps } from '../types.ts';
import { batchContext } from './build-contexts.ts';
import { buildUpstreamRequest, CONNECT_TIMEOUT_MS } from './build-upstream-request.ts';
import { readVendorAnswer } from './read-vendor-answer.ts';
import { resolveCredential } from './resolve-credential.ts';

/** A job that no vendor has. */
const NO_JOB = 'taskgate-connection-test';
/** A trial is waited for by a person. */
const ANSWER_MS = 15_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** `ok`: null where it could not be found out. No message holds a secret. */
export type ChannelTrialStep = {
  name: 'key' | 'plugin' | 'address' | 'connection' | 'tls' | 'answer' | 'credential';
  ok: boolean | null;
  message: string;
};
/**
 * `status` is the vendor's HTTP status, `ms` the time until its answer; null without one. `ok`:
 * nothing failed.
 */
export type ChannelTrial = { ok: boolean; steps: ChannelTrialStep[]; status: number | null; ms: number | null };

type Probe = { request: UpstreamRequest; carriesCredential: boolean; told?: string };

/**
 * Asks the vendor about a job that it does not have: that shows address, connection and whether it
 * takes the credential, and costs nothing. Never rejects for what the channel or its vendor does.
 */
export async function tryChannel(
  deps: TaskDeps,
  { channel, userId, signal }: { channel: ChannelRecord; userId: number; signal: AbortSignal },
): Promise<ChannelTrial> {
  const steps: ChannelTrialStep[] = [];
  const done = (status: number | null = null, ms: number | null = null): ChannelTrial => ({
    ok: steps.every((step) => step.ok !== false),
    steps,
    status,
    ms,
  });
  const step = (name: ChannelTrialStep['name'], good: boolean | null, message: string) => {
    steps.push({ name, ok: good, message });
    return good !== false;
  };

  const readable = deps.channels.isReadable(channel);
  const lost = 'No CRYPTO_SECRET opens the stored key: enter it again.';
  if (!step('key', readable, readable ? 'The stored key can be read.' : lost)) return done();

  const pin = deps.pin();
  try {
    const plugin = channel.taskPluginKey
      ? pin.generation.plugins.get(channel.taskPluginKey)
      : pin.generation.byChannelType(channel.type);
    if (!plugin && channel.type !== RELAY_TYPE) {
      step('plugin', false, 'No plugin serves this channel: install or enable the one that it is bound to.');
      return done();
    }
    if (plugin) {
      const message = plugin.suspended()
        ? `The plugin "${plugin.key}" had to be stopped too often and takes no tasks for a few minutes.`
        : `The plugin "${plugin.key}" ${plugin.version} serves.`;
      step('plugin', !plugin.suspended(), message);
    }
    const probe = plugin
      ? await probeOfPlugin(deps, plugin, channel, userOwner(userId))
      : ok(probeOfRelay(deps, channel));
    if (!probe.ok) {
      step('credential', false, probe.error);
      return done();
    }
    const { request, carriesCredential, told } = probe.value;
    const started = deps.clock.monotonicMs();
    const answer = await deps.upstream.request({
      ...request,
      headersTimeoutMs: ANSWER_MS,
      idleTimeoutMs: ANSWER_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
      signal,
    });
    const isTls = request.url.startsWith('https:');
    if (!answer.ok) {
      tellFailure(step, answer.error, isTls);
      return done();
    }
    const ms = Math.round(deps.clock.monotonicMs() - started);
    const { status } = answer.value;
    step('address', true, 'The address may be asked and its name resolves.');
    step('connection', true, 'The connection stands.');
    if (isTls) step('tls', true, "The vendor's certificate is valid.");
    const read = await readVendorAnswer(answer.value, { tasks: 1 });
    step('answer', status < 500, `The vendor answered with HTTP status ${status} after ${ms} ms.`);
    if (!carriesCredential) step('credential', null, told ?? 'Whether the key is good shows the first task.');
    else step('credential', ...checkCredential(status, read.ok ? read.value.body : ''));
    return done(status, ms);
  } finally {
    pin.release();
  }
}

/** What a query of an unknown job says of the credential. */
function checkCredential(status: number, body: Json): [ok: boolean | null, message: string] {
  if (status === 401 || status === 403) return [false, `The vendor refuses the key (HTTP status ${status}).`];
  if (status === 429) return [true, 'The vendor takes the key, and is busy.'];
  if (status >= 500) return [null, 'The vendor is in trouble, so that nothing is known of the key.'];
  const told = isObject(body) ? 'did not refuse the key' : 'did not refuse the key, in an answer that is no JSON';
  return [true, `Asked about a job that it does not have, the vendor ${told} (HTTP status ${status}).`];
}

function tellFailure(
  step: (name: ChannelTrialStep['name'], ok: boolean | null, message: string) => unknown,
  { kind, message, notSent }: UpstreamFailure,
  isTls: boolean,
): void {
  if (kind === 'refused' || kind === 'dns') return void step('address', false, message);
  step('address', true, 'The address may be asked and its name resolves.');
  if (kind === 'connect' || (kind === 'timeout' && notSent)) return void step('connection', false, message);
  step('connection', true, 'The connection stands.');
  if (kind === 'tls') return void step('tls', false, message);
  if (isTls) step('tls', true, "The vendor's certificate is valid.");
  step('answer', false, message);
}

/** A relay's vendor has a list of models, which costs nothing. */
function probeOfRelay({ channels }: TaskDeps, channel: ChannelRecord): Probe {
  const headers = { authorization: `Bearer ${channels.credential(channel)}`, accept: 'application/json' };
  return {
    request: plainRequest(channel, `${channel.baseUrl.replace(/\/v1$/, '')}/v1/models`, headers),
    carriesCredential: true,
  };
}

async function probeOfPlugin(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  owner: string,
): Promise<Result<Probe, string>> {
  const credential = await resolveCredential(deps, plugin.manifest, channel);
  if (credential.context.authError !== undefined) return err(credential.context.authError);
  const { context: known, secrets } = credential;
  const model = channel.models[0] ?? '';
  const context: TaskQueryContext = {
    taskId: NO_JOB,
    publicTaskId: NO_JOB,
    action: '',
    model,
    upstreamModel: mapModel(channel.modelMapping, model),
    baseUrl: channel.baseUrl,
    authHeader: known.authHeader,
    ...(known.apiKey === undefined ? {} : { apiKey: known.apiKey }),
    auth: known.auth,
    data: null,
    state: null,
  };
  const described =
    plugin.manifest.fetchMode === 'batch'
      ? await buildBatchQueryRequest(plugin, batchContext(channel, known, [context]), { owner, secrets })
      : await buildQueryRequest(plugin, context, { owner, secrets });
  const request = described.ok ? buildUpstreamRequest(plugin, channel, described.value) : undefined;
  if (request?.ok) return ok({ request: request.value, carriesCredential: true });
  // A plugin that asks for a job in another form than this id has: the address alone can be tried.
  const told = 'The plugin cannot ask without a job of the vendor: whether the key is good shows the first task.';
  return ok({ request: plainRequest(channel, channel.baseUrl, {}), carriesCredential: false, told });
}

const plainRequest = (channel: ChannelRecord, url: string, headers: Record<string, string>): UpstreamRequest => ({
  url,
  method: 'GET',
  headers,
  body: { kind: 'none' },
  privateHosts: [canonicalHost(new URL(channel.baseUrl))],
  maxRedirects: 0,
  connectTimeoutMs: CONNECT_TIMEOUT_MS,
  headersTimeoutMs: ANSWER_MS,
  idleTimeoutMs: ANSWER_MS,
  maxResponseBytes: MAX_ANSWER_BYTES,
});
