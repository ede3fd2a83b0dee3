import { findApiAddress, mapModel, RELAY_TYPE, type VendorAccount } from '../../channels/index.ts';
import {
  type Clock,
  err,
  isObject,
  type Json,
  ok,
  type Result,
  type Sentence,
  sentence,
  toSentence,
  userOwner,
} from '../../kernel/index.ts';
import {
  buildBatchQueryRequest,
  buildQueryRequest,
  findDriver,
  type LoadedPlugin,
  type Pin,
  type TaskQueryContext,
} from '../../plugins/index.ts';
import type { ChannelRecord, Store } from '../../store/ports/index.ts';
import type { UpstreamRequest } from '../../upstream/index.ts';
import { readVendorAnswer } from '../answer/read-vendor-answer.ts';
import { batchContext, upstreamContext } from '../request/build-contexts.ts';
import { buildUpstreamRequest, CONNECT_TIMEOUT_MS, vendorHosts } from '../request/build-upstream-request.ts';
import { resolveCredential } from '../resolve-credential.ts';
import type { VendorDeps } from '../types.ts';
import { type NetworkTrialStep, traceNetwork } from './trace-network.ts';

/** The id of a job that no vendor has. */
const UNKNOWN_JOB = 'taskgate-connection-test';
/** Short, because an administrator waits for the result. */
const ANSWER_MS = 15_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** `ok`: null when it could not be found out. No message contains a secret. */
export type ChannelTrialStep = {
  name: 'key' | 'plugin' | NetworkTrialStep['name'] | 'credential';
  ok: boolean | null;
} & Sentence;
/**
 * `ok`: no step failed. `status` is the vendor's HTTP status, `ms` the time until its answer; both
 * are null without an answer.
 */
export type ChannelTrial = { ok: boolean; steps: ChannelTrialStep[]; status: number | null; ms: number | null };

/** `outcome`: the first that failed, else the first; it counts as the channel's health. */
export type ChannelTrials = { trials: (ChannelTrial & { account: VendorAccount })[]; outcome: ChannelTrial };

/**
 * Tests accounts of one channel step by step and at no cost: is their vendor reachable, does it
 * accept the keys?
 */
export type TryChannel = (
  accounts: readonly VendorAccount[],
  userId: number,
  signal: AbortSignal,
) => Promise<ChannelTrials>;

/** Keys that are tried together. */
const TRIED_AT_ONCE = 8;

/** `hint`: the message of the credential step when the request carries no credential. */
type Probe = { request: UpstreamRequest; carriesCredential: boolean; hint?: Sentence };

/** Tests accounts of one channel, some at a time. At least one. */
export async function tryAccounts(
  deps: VendorDeps & { pin: () => Pin },
  { accounts, ...asked }: { accounts: readonly VendorAccount[]; userId: number; signal: AbortSignal },
): Promise<ChannelTrials> {
  const trials: ChannelTrials['trials'] = [];
  for (let from = 0; from < accounts.length; from += TRIED_AT_ONCE) {
    const some = accounts.slice(from, from + TRIED_AT_ONCE);
    const tried = await Promise.all(some.map((account) => tryChannel(deps, { account, ...asked })));
    trials.push(...tried.map((trial, index) => ({ ...trial, account: some[index] as VendorAccount })));
  }
  const [found] = [...trials.filter(({ ok }) => !ok), ...trials];
  if (!found) throw new Error('no account was tried');
  const { account: _, ...outcome } = found;
  return { trials, outcome };
}

/**
 * Asks the vendor about a job that it does not have. This tests address, connection and credential,
 * and costs nothing. It never rejects because of the channel or its vendor.
 */
async function tryChannel(
  deps: VendorDeps & { pin: () => Pin },
  { account, userId, signal }: { account: VendorAccount; userId: number; signal: AbortSignal },
): Promise<ChannelTrial> {
  const { channel } = account;
  const steps: ChannelTrialStep[] = [];
  const done = (status: number | null = null, ms: number | null = null): ChannelTrial => ({
    ok: steps.every((step) => step.ok !== false),
    steps,
    status,
    ms,
  });
  const step = (name: ChannelTrialStep['name'], good: boolean | null, said: Sentence) => {
    steps.push({ name, ok: good, ...toSentence(said) });
    return good !== false;
  };

  const readable = deps.channels.isReadable(account);
  if (!step('key', readable, sentence(readable ? 'trial.key_read' : 'trial.key_lost'))) return done();

  const pin = deps.pin();
  try {
    const plugin = findDriver(pin.generation, channel);
    if (!plugin && channel.type !== RELAY_TYPE) {
      step('plugin', false, sentence('trial.no_plugin'));
      return done();
    }
    if (plugin) {
      const { name, version } = plugin.manifest;
      if (plugin.suspended()) step('plugin', false, sentence('trial.plugin_suspended', { plugin: name }));
      else step('plugin', true, sentence('trial.plugin_active', { plugin: name, version }));
    }
    const probe = plugin
      ? await probeOfPlugin(deps, { plugin, account, owner: userOwner(userId) })
      : ok(probeOfRelay(deps, account));
    if (!probe.ok) {
      step('credential', false, probe.error);
      return done();
    }
    const { request, carriesCredential, hint } = probe.value;
    const { steps: way, answer } = await traceNetwork(deps, channel, {
      ...request,
      headersTimeoutMs: ANSWER_MS,
      idleTimeoutMs: ANSWER_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
      signal,
    });
    steps.push(...way);
    if (!answer) return done();
    const { response, ms } = answer;
    const { status } = response;
    const read = await readVendorAnswer(response, { tasks: 1 });
    if (!carriesCredential) step('credential', null, hint ?? sentence('trial.credential_later'));
    else step('credential', ...checkCredential(status, read.ok ? read.value.body : ''));
    return done(status, ms);
  } finally {
    pin.release();
  }
}

/** What the answer to a query of an unknown job says about the credential. */
function checkCredential(status: number, body: Json): [ok: boolean | null, said: Sentence] {
  if (status === 401 || status === 403) return [false, sentence('trial.credential_refused', { status })];
  if (status === 429) return [true, sentence('trial.credential_busy')];
  if (status >= 500) return [null, sentence('trial.credential_unknown')];
  return [true, sentence(isObject(body) ? 'trial.credential_good' : 'trial.credential_no_json', { status })];
}

/** OpenAI-compatible vendors have a list of models, which costs nothing to read. */
function probeOfRelay({ channels }: VendorDeps, account: VendorAccount): Probe {
  const { channel } = account;
  const headers = { authorization: `Bearer ${channels.key(account)}`, accept: 'application/json' };
  return {
    request: plainRequest(channel, `${findApiAddress(channel.baseUrl)}/models`, headers),
    carriesCredential: true,
  };
}

async function probeOfPlugin(
  deps: VendorDeps,
  { plugin, account, owner }: { plugin: LoadedPlugin; account: VendorAccount; owner: string },
): Promise<Result<Probe, Sentence>> {
  const { channel } = account;
  const credential = await resolveCredential(deps, plugin.manifest, account);
  if (credential.failure) return err(credential.failure);
  const { context: auth, secrets } = credential;
  const model = channel.models[0] ?? '';
  const context: TaskQueryContext = {
    taskId: UNKNOWN_JOB,
    publicTaskId: UNKNOWN_JOB,
    action: '',
    model,
    upstreamModel: mapModel(channel.modelMapping, model),
    baseUrl: channel.baseUrl,
    authHeader: auth.authHeader,
    ...(auth.apiKey === undefined ? {} : { apiKey: auth.apiKey }),
    auth: auth.auth,
    ...upstreamContext(plugin.manifest, channel),
    data: null,
    state: null,
  };
  const described =
    plugin.manifest.fetchMode === 'batch'
      ? await buildBatchQueryRequest(plugin, batchContext({ plugin, channel, credential }, [context]), {
          owner,
          secrets,
        })
      : await buildQueryRequest(plugin, context, { owner, secrets });
  const request = described.ok ? buildUpstreamRequest(plugin, { channel, described: described.value }) : undefined;
  if (request?.ok) return ok({ request: request.value, carriesCredential: true });
  // The plugin expects job ids of another form. Only the address can be tried.
  const hint = sentence('trial.credential_needs_job');
  return ok({ request: plainRequest(channel, channel.baseUrl, {}), carriesCredential: false, hint });
}

export const plainRequest = (
  channel: ChannelRecord,
  url: string,
  headers: Record<string, string> = {},
): UpstreamRequest => ({
  url,
  method: 'GET',
  headers,
  body: { kind: 'none' },
  privateHosts: vendorHosts(channel),
  isKnownHost: () => true,
  maxRedirects: 0,
  connectTimeoutMs: CONNECT_TIMEOUT_MS,
  headersTimeoutMs: ANSWER_MS,
  idleTimeoutMs: ANSWER_MS,
  maxResponseBytes: MAX_ANSWER_BYTES,
});

/** Notes the outcome of a channel's test: it counts as the channel's health at once. */
export async function recordTrial(
  { store, clock }: { store: Pick<Store, 'usage'>; clock: Clock },
  channelId: number,
  { steps }: ChannelTrial,
): Promise<void> {
  const failed = steps.find(({ ok }) => ok === false);
  await store.usage.recordTest({
    channelId,
    testedAt: clock.unix(),
    failedStep: failed?.name ?? '',
    ...(failed ? { said: failed } : {}),
  });
}
