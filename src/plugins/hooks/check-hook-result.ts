/**
 * Checks the results of hooks that run outside a task, in a plugin's fixtures and dry runs, by the
 * same rules as results in a task.
 */
import type { FileReference } from '../../../contracts/v1.d.ts';
import {
  err,
  isObject,
  type Json,
  mapSentence,
  ok,
  type Result,
  type Sentence,
  sanitizeMessage,
} from '../../kernel/index.ts';
import { checkRequestQuantities, checkUsageFacts, findUsage } from '../manifest/check-facts.ts';
import { canonicalProtocol } from '../manifest/protocol-aliases.ts';
import type { Manifest } from '../types.ts';
import { readQueryRequest, readSubmitRequest } from './build-requests.ts';
import {
  type DecodedQuery,
  type DecodedSubmit,
  findUnservedModel,
  readNativeIntent,
  readOriginTaskIds,
  readProtocolIntent,
} from './decode-requests.ts';
import { readBatchItems, readSubmission, readSubmitError } from './parse-answers.ts';
import { readDelta, readSubmitEvent } from './parse-submit-events.ts';
import { checkRenderedImages, checkRenderedVideo } from './present-tasks.ts';
import { readBalanceAmount, readBalanceRequest, readCapacityAnswer } from './read-account.ts';
import type { KnownFiles } from './read-descriptor.ts';
import { readTaskResult } from './read-task-result.ts';
import { readRenderedEvents, readRenderedFinal } from './render-answers.ts';
import { readArtifacts, readContentRequest, readResolution } from './serve-artifacts.ts';

/**
 * A call outside a task, as fixtures and dry runs make it. `path` leads from the export to the
 * function.
 */
type HookTrial = { manifest: Manifest; path: readonly string[]; args: readonly Json[] };

type Trial = { manifest: Manifest; context: Record<string, unknown>; value: Json | undefined };
type Check = (trial: Trial) => Result<unknown, Sentence>;

/** Where a hook's context is among its arguments, if it is not the first. */
const CONTEXT_AT: Readonly<Record<string, number>> = { parseSubmitError: 1, resolveArtifact: 2 };

/** Paths of the protocols, whose requests are pinned to the client's model. */
const PROTOCOL_PATHS: ReadonlySet<unknown> = new Set([
  '/v1/videos',
  '/v1/responses',
  '/v1/images/generations',
  '/v1/images/edits',
]);

const readText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The base URL in the context, or the manifest's for a call that names none. */
const findBaseUrl = ({ context, manifest }: Trial): string => readText(context.baseUrl) ?? manifest.baseUrl ?? '';

/** The base URL where the context belongs to an account and not to a task. */
function findChannelUrl({ context: { channel }, manifest }: Trial): string {
  const base = isObject(channel) ? readText(channel.baseUrl) : undefined;
  return base ?? manifest.baseUrl ?? '';
}

/** The gateway always lists the files of a request; cases written by hand often do not. */
const readFiles = ({ context: { files } }: Trial): KnownFiles =>
  Array.isArray(files) ? files.filter((file: FileReference) => isObject(file)) : 'unknown';

/**
 * A driver hook does not depend on where a request came from. So a call without a path is checked
 * against the rules of protocols.
 */
function findPinnedModel({ context: { path, model }, manifest }: Trial): string | undefined {
  if (manifest.protocols.length === 0) return undefined;
  return path === undefined || PROTOCOL_PATHS.has(path) ? readText(model) : undefined;
}

const checkSubmitRequest: Check = (trial) =>
  readSubmitRequest(trial.value, {
    manifest: trial.manifest,
    baseUrl: findBaseUrl(trial),
    files: readFiles(trial),
    pinnedModel: findPinnedModel(trial),
  });

const checkQueryRequest: Check = (trial) =>
  readQueryRequest(trial.value, { manifest: trial.manifest, baseUrl: findBaseUrl(trial) });

const checkUsage: Check = ({ manifest, context: { model, upstreamModel }, value }) => {
  const names = { model: readText(model) ?? '', upstreamModel: readText(upstreamModel) ?? '' };
  return checkUsageFacts(findUsage(manifest, names).usageSchema, value);
};

const checkProtocolIntent: Check = ({ manifest, context, value }) => {
  const intent = readProtocolIntent(value, context.model);
  return intent.ok ? checkSubmitIntent(manifest, intent.value) : intent;
};

const CHECKS: Readonly<Record<string, Check>> = {
  buildSubmitRequest: checkSubmitRequest,
  parseSubmitResponse: ({ value }) => readSubmission(value),
  buildQueryRequest: checkQueryRequest,
  buildBatchQueryRequest: checkQueryRequest,
  parseSubmitEvent: ({ value }) => readSubmitEvent(value),
  parseSubmitEventDelta: ({ value }) => readDelta(value),
  parseTaskResult: ({ value }) => readTaskResult(value),
  parseBatchResult: ({ value }) => readBatchItems(value),
  extractUsage: checkUsage,
  extractUsageOnSubmit: checkUsage,
  extractUsageOnComplete: checkUsage,
  listArtifacts: ({ value }) => readArtifacts(value),
  buildContentRequest: (trial) =>
    readContentRequest(trial.value, { manifest: trial.manifest, baseUrl: findBaseUrl(trial), method: 'GET' }),
  parseSubmitError: ({ value }) => readSubmitError(value),
  resolveArtifact: (trial) => {
    const answered = trial.context.response !== undefined;
    return readResolution(trial.value, { manifest: trial.manifest, baseUrl: findBaseUrl(trial), answered });
  },
  buildBalanceRequest: (trial) => readBalanceRequest(trial.value, findChannelUrl(trial)),
  parseBalanceResponse: ({ value }) => readBalanceAmount(value),
  queryCapacity: (trial) => {
    const answered = trial.context.response !== undefined;
    return readCapacityAnswer(trial.value, { baseUrl: findChannelUrl(trial), answered });
  },
  'protocols.proto_video.decodeRequest': checkProtocolIntent,
  'protocols.proto_video.render': ({ value }) => checkRenderedVideo(value),
  'protocols.proto_image.decodeRequest': checkProtocolIntent,
  'protocols.proto_image.render': ({ value }) => checkRenderedImages(value),
  'protocols.proto_responses.decodeRequest': checkProtocolIntent,
  'protocols.proto_responses.renderEvents': ({ value }) => readRenderedEvents(value),
  'protocols.proto_responses.renderFinal': ({ value }) => readRenderedFinal(value),
};

/**
 * Checks a hook's result with the same functions as a real call. So the gateway accepts what passes
 * here, and refuses in the same words what fails here. Functions that are not hooks may return
 * anything.
 */
export function checkHookResult(
  { manifest, path, args }: HookTrial,
  value: Json | undefined,
): Result<Json | undefined, Sentence> {
  const context = args[CONTEXT_AT[path.join('.')] ?? 0];
  const trial: Trial = { manifest, context: isObject(context) ? context : {}, value };
  const [first = '', second = '', ...rest] = path;
  const checked =
    first === 'native'
      ? checkDecoder([second, ...rest].join('.'), trial)
      : checkNamed([first, ...(first === 'protocols' ? [canonicalProtocol(second)] : [second]), ...rest], trial);
  return checked.ok ? ok(value) : err(mapSentence(checked.error, sanitizeMessage));
}

function checkNamed(path: readonly string[], trial: Trial): Result<unknown, Sentence> {
  const name = path.filter((part) => part !== '').join('.');
  return Object.hasOwn(CHECKS, name) ? (CHECKS[name] as Check)(trial) : ok(null);
}

/**
 * A decoder may serve several routes; one that accepts the result is enough. Presenters may return
 * any JSON.
 */
function checkDecoder(member: string, { manifest, value }: Trial): Result<unknown, Sentence> {
  const { routes } = manifest;
  if (routes.some(({ render }) => render === member)) return ok(null);
  let refusal: Result<unknown, Sentence> = ok(null);
  for (const route of routes.filter(({ decode }) => decode === member)) {
    const intent = readNativeIntent(value, route);
    if (!intent.ok) refusal = intent;
    else {
      const unserved =
        intent.value.kind === 'submit' ? findUnservedModel(manifest, route, intent.value.model) : undefined;
      const checked = unserved === undefined ? checkSubmitIntent(manifest, intent.value) : err(unserved);
      if (checked.ok) return checked;
      refusal = checked;
    }
  }
  return refusal;
}

/** Checks a decoded submission as the gateway does before any other hook runs. */
function checkSubmitIntent(manifest: Manifest, intent: DecodedSubmit | DecodedQuery): Result<unknown, Sentence> {
  if (intent.kind === 'query') return ok(intent);
  const origins = readOriginTaskIds(intent.originTaskIds);
  return origins.ok
    ? checkRequestQuantities(findUsage(manifest, intent).usageSchema, intent.requestBody ?? null)
    : origins;
}
