import { parsePriceExpression, type Quote } from '../../billing/index.ts';
import { mapModel, type VendorAccount } from '../../channels/index.ts';
import { createRedactor, type JsonObject, mapSentence, sentence, userOwner } from '../../kernel/index.ts';
import {
  buildSubmitRequest,
  checkRequestQuantities,
  type DriverContext,
  extractUsage,
  findUsage,
  type HookOptions,
  type PluginRequest,
} from '../../plugins/index.ts';
import { type ChannelRecord, ROLE, type TaskRecord } from '../../store/ports/index.ts';
import type { UpstreamRequest } from '../../upstream/index.ts';
import {
  buildUpstreamRequest,
  type Credential,
  driverContext,
  hookError,
  type localCredential,
  MAX_ACTION,
  resolveCredential,
  vendorErrors,
} from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import type { Submission, TaskDeps } from '../types.ts';

/** A submission ready for one channel. Nothing has been written or sent yet. */
export type PreparedSubmission = Submission & {
  channel: ChannelRecord;
  context: DriverContext;
  vendorRequest: UpstreamRequest;
  /** The vendor answers with a stream of events. */
  isStream: boolean;
  action: string;
  /** The model that is billed: the client's name, unless a native plugin replaces it. */
  model: string;
  upstreamModel: string;
  quote: Quote;
  /** How many of the account's slots it takes, by the plugin's word. */
  slots: number;
  credential: Credential;
};

const DEFAULT_ACTION = 'text_to_video';

type Attempt = {
  account: VendorAccount;
  publicTaskId: string;
  /** `localCredential` makes no request of its own: for quotes. */
  findCredential?: typeof resolveCredential | typeof localCredential;
  /** A task that has waited: for the same model at the vendor its price stands. */
  accepted?: TaskRecord | undefined;
};

/**
 * Runs the plugin's request and usage hooks and prices the request. Throws the caller's mistakes.
 * Whether the key may use the model was checked before (`auth/api-keys/key-restrictions.ts`).
 */
export async function prepareSubmission(
  deps: TaskDeps,
  submission: Submission,
  { account, publicTaskId, findCredential = resolveCredential, accepted }: Attempt,
): Promise<PreparedSubmission> {
  const { plugin, intent, request: client, caller } = submission;
  const { channel } = account;
  const credential = await findCredential(deps.vendors, plugin.manifest, account);
  const { secrets } = credential;
  const mapped = mapModel(channel.modelMapping, intent.model);
  const callbackUrl = deps.vendors.callbacks.address(publicTaskId);
  const ids = { publicTaskId, upstreamModel: mapped, callbackUrl };
  const context = driverContext(submission, { channel, credential: credential.context, ...ids });
  const pinned = submission.surface.startsWith('proto_') ? { pinnedModel: intent.model } : {};
  const options = { owner: userOwner(caller.user.id), secrets };
  const built = await buildSubmitRequest(plugin, context, { ...options, ...pinned });
  if (!built.ok) throw hookError(built.error);
  const descriptor = built.value;
  credential.addSecretsFrom(descriptor);
  const model = descriptor.model ?? intent.model;
  assertAllowed(submission, descriptor);
  const files = client.body.kind === 'multipart' ? client.body.files : [];
  refuseDroppedFile(submission, descriptor, files);
  const extracted = client.body.kind === 'json' ? client.body.extracted : undefined;
  const { maxFileBytes, submitTimeoutMs: timeoutMs } = deps.limits;
  const { isStream } = descriptor;
  const submit = { files, extracted, maxFileBytes, timeoutMs, isStream };
  const vendorRequest = buildUpstreamRequest(plugin, { channel, described: descriptor, submit });
  if (!vendorRequest.ok)
    throw vendorErrors.plugin_request_invalid({ message: mapSentence(vendorRequest.error, createRedactor(secrets)) });
  const action = (descriptor.action || intent.action || DEFAULT_ACTION).slice(0, MAX_ACTION);
  const upstreamModel = descriptor.rewriteModel || mapped;
  const final = { ...context, action, upstreamModel };
  const isAccepted = accepted?.properties.upstreamModelName === upstreamModel;
  const { quote, slots } = isAccepted
    ? { quote: acceptedQuote(accepted), slots: accepted.slots }
    : await priceSubmission(deps, submission, { context: final, model, options });
  return {
    ...submission,
    channel,
    context: final,
    vendorRequest: vendorRequest.value,
    isStream,
    action,
    model,
    upstreamModel,
    quote,
    slots,
    credential,
  };
}

/** It was explained when it was accepted. */
const acceptedQuote = ({ quota, billing }: TaskRecord): Quote => ({
  ...{ usd: billing.usd, quota, steps: [], snapshot: billing },
});

type Priced = { context: DriverContext & { action: string }; model: string; options: HookOptions };

async function priceSubmission(deps: TaskDeps, submission: Submission, { context, model, options }: Priced) {
  const { plugin, caller } = submission;
  const { action, upstreamModel } = context;
  const facts = await usageFacts(deps, submission, { context, model, options });
  const quote = deps.billing.quote({
    ...{ pluginKey: plugin.key, model, upstreamModel, action, facts, group: caller.group },
    isAdmin: caller.user.role >= ROLE.admin,
  });
  return { quote, slots: countSlots(submission, { facts, model: upstreamModel, action }) };
}

/** A larger number is a mistake in the expression: the task would never get that many slots. */
const MAX_SLOTS = 1000;

/** Plugins that do not say it, and expressions that do not fit the facts, count one. */
function countSlots({ plugin }: Submission, inputs: { facts: JsonObject; model: string; action: string }): number {
  const source = plugin.manifest.vendor?.capacity?.slots;
  const expression = source === undefined ? undefined : parsePriceExpression(source);
  const counted = expression?.ok ? expression.value.evaluate(inputs) : undefined;
  return counted?.ok ? Math.min(Math.max(1, Math.ceil(counted.value.usd)), MAX_SLOTS) : 1;
}

/**
 * A plugin that ships sends every file of a form to its vendor; one in a field that neither knows
 * would be left out unnoticed. Other plugins may leave out what they like.
 * @throws tasks.plugin_request_invalid
 */
function refuseDroppedFile(
  { plugin }: Submission,
  { body }: PluginRequest,
  files: readonly { ref: string; field: string }[],
): void {
  if (plugin.layer !== 'factory' || files.length === 0) return;
  const sent = JSON.stringify(body);
  const dropped = files.find(({ ref }) => !sent.includes(JSON.stringify(ref)));
  if (!dropped) return;
  const field = dropped.field.slice(0, 60);
  const message = dropped.ref.includes('#')
    ? sentence('tasks.file_field_full', { field })
    : sentence('tasks.file_field_unknown', { field });
  throw vendorErrors.plugin_request_invalid({ message, param: dropped.field });
}

/**
 * The API key's list of models was already checked for the model that the client named. It also
 * limits the model that the plugin turned it into. A name that the plugin does not serve belongs to
 * the vendor and is on no list, so it is not checked.
 * @throws tasks.model_not_allowed
 */
function assertAllowed(
  { caller, plugin, intent }: Submission,
  { model: billed, rewriteModel: sent }: { model?: string; rewriteModel?: string },
): void {
  const allowed = caller.key?.models ?? [];
  if (allowed.length === 0) return;
  const served = sent !== undefined && plugin.manifest.models.includes(sent) ? sent : undefined;
  for (const model of [billed, served]) {
    if (model === undefined || model === intent.model || allowed.includes(model)) continue;
    const message = sentence('tasks.model_outside_key', { model: model.slice(0, 120) });
    throw taskErrors.model_not_allowed({ message, param: 'model' });
  }
}

/** Asks the plugin for the facts that the price needs, and checks them against its usage schema. */
async function usageFacts(
  deps: TaskDeps,
  { plugin, intent }: Submission,
  { context, model, options }: { context: DriverContext; model: string; options: HookOptions },
): Promise<JsonObject> {
  const quantities = checkRequestQuantities(
    findUsage(plugin.manifest, context).usageSchema,
    intent.requestBody ?? null,
  );
  if (!quantities.ok) throw taskErrors.plugin_usage_invalid({ message: quantities.error });
  const needsFacts = deps.billing.needsFacts(plugin.key, model, context.upstreamModel);
  if (!needsFacts && plugin.manifest.vendor?.capacity?.slots === undefined) return {};
  const extracted = await extractUsage(plugin, context, options);
  if (!extracted.ok) throw hookError(extracted.error);
  return extracted.value ?? {};
}
