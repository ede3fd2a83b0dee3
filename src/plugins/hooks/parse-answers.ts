import type {
  BatchQueryContext,
  DriverContext,
  ResponseInfo,
  SubmitErrorClass,
  SubmitErrorKind,
  SubmitResponse,
  TaskQueryContext,
} from '../../../contracts/v1.d.ts';
import {
  err,
  isObject,
  type Json,
  type JsonObject,
  ok,
  type Result,
  redactSecrets,
  type Secrets,
  type Sentence,
  sanitizeMessage,
  sentence,
} from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';
import { CONTROL, isLeftOut } from './read-descriptor.ts';
import { type ParsedTask, readState, readTaskResult, type StateChange } from './read-task-result.ts';

/**
 * Longest task id of a vendor, in characters. It is part of every query's URL and of the task's
 * row. The longest known ids are operation names of some hundred characters.
 */
const MAX_TASK_ID = 4096;

export type ParsedSubmission = {
  /** The vendor's id, at most 4096 characters; blank only where `immediate` is a failure. */
  taskId: string;
  /** The first snapshot of the task's data, if the plugin gave one. */
  taskData?: Json;
  immediate?: ParsedTask;
  state: StateChange;
};

/** A vendor's id as the plugin gives it. Undefined: none, or a number that is not exact. */
const readId = (id: unknown): string | undefined =>
  typeof id === 'string' ? id : Number.isSafeInteger(id) ? String(id) : undefined;

/**
 * Checks the result of parseSubmitResponse. A `clientResponse` is refused: the host and the
 * presenters decide what clients see.
 */
export function readSubmission(value: Json | undefined, secrets: Secrets = []): Result<ParsedSubmission, Sentence> {
  if (!isObject(value)) return err(sentence('hook.no_submission'));
  if (Object.hasOwn(value, 'clientResponse')) return err(sentence('hook.client_response'));
  const { taskData, immediate } = value;
  const isRefused = isObject(immediate) && immediate.status === 'FAILURE';
  const taskId = readId(value.taskId) ?? (isRefused ? '' : undefined);
  if (taskId === undefined || (taskId.trim() === '' && !isRefused)) {
    return err(sentence('hook.string_blank', { name: 'taskId' }));
  }
  if (taskId.length > MAX_TASK_ID) return err(sentence('hook.characters_max', { name: 'taskId', max: MAX_TASK_ID }));
  if (CONTROL.test(taskId)) return err(sentence('hook.control', { name: 'taskId' }));
  if (!taskId.isWellFormed()) return err(sentence('hook.half_character', { name: 'taskId' }));
  if (taskId === '.' || taskId === '..') return err(sentence('hook.dots', { name: 'taskId' }));
  const submission: ParsedSubmission = { taskId, state: readState(value) };
  if (taskData !== undefined) submission.taskData = taskData as Json;
  if (immediate !== undefined && immediate !== null) {
    const result = readTaskResult(immediate, secrets);
    if (!result.ok) return err(sentence('hook.immediate'));
    submission.immediate = result.value;
  }
  return ok(submission);
}

/** Parses the vendor's 2xx answer to a submission. */
export function parseSubmitResponse(
  plugin: LoadedPlugin,
  { ctx, response }: { ctx: DriverContext; response: SubmitResponse },
  options: HookOptions,
): Promise<Result<ParsedSubmission, HookFailure>> {
  return callHook(plugin, {
    hook: 'parseSubmitResponse',
    args: [ctx, response],
    options,
    read: (value) => readSubmission(value, options.secrets),
  });
}

/** Parses the vendor's answer to a query of one task. `body` is parsed JSON, or text. */
export function parseTaskResult(
  plugin: LoadedPlugin,
  { ctx, body, response }: { ctx: TaskQueryContext; body: Json; response: ResponseInfo },
  options: HookOptions,
): Promise<Result<ParsedTask, HookFailure>> {
  return callHook(plugin, {
    hook: 'parseTaskResult',
    args: [ctx, body, response],
    options,
    read: (value) => readTaskResult(value, options.secrets),
  });
}

export type ParsedBatchItem = ParsedTask & {
  /** The vendor's id. */
  taskId: string;
  action?: string;
  /** Unix seconds. */
  submitTime?: number;
  startTime?: number;
  finishTime?: number;
  /** Replaces the stored data, if the plugin gave it. */
  data?: Json;
  /** The item as the plugin returned it. extractUsageOnComplete gets it if there is no `data`. */
  raw: Json;
};

/**
 * Checks the result of parseBatchResult, and gives its items by the vendor's id. Items without an
 * id are skipped; if items share an id, the last one counts.
 */
export function readBatchItems(
  value: Json | undefined,
  secrets: Secrets = [],
): Result<Map<string, ParsedBatchItem>, Sentence> {
  if (!Array.isArray(value)) return err(sentence('hook.no_results'));
  const items = new Map<string, ParsedBatchItem>();
  for (const entry of value) {
    const result = readTaskResult(entry, secrets);
    const taskId = isObject(entry) ? readId(entry.taskId) : undefined;
    if (!result.ok || !isObject(entry) || taskId === undefined || taskId.trim() === '') continue;
    const item: ParsedBatchItem = { ...result.value, taskId, raw: entry };
    if (typeof entry.action === 'string' && entry.action !== '') item.action = entry.action;
    for (const name of ['submitTime', 'startTime', 'finishTime'] as const) {
      const time = entry[name];
      if (typeof time === 'number' && time > 0) item[name] = Math.floor(time);
    }
    if (entry.data !== undefined && entry.data !== null) item.data = entry.data;
    items.set(item.taskId, item);
  }
  return ok(items);
}

/** Parses the vendor's answer to a batch query. */
export function parseBatchResult(
  plugin: LoadedPlugin,
  { ctx, body, response }: { ctx: BatchQueryContext; body: Json; response: ResponseInfo },
  options: HookOptions,
): Promise<Result<Map<string, ParsedBatchItem>, HookFailure>> {
  return callHook(plugin, {
    hook: 'parseBatchResult',
    args: [ctx, body, response],
    options,
    read: (value) => readBatchItems(value, options.secrets),
  });
}

const MAX_RETRY_AFTER_SECONDS = 3600;

/** What a vendor's refusal means, as the plugin reads it. */
export type SubmitError = {
  kind: SubmitErrorKind;
  /** What the client reads. */
  class: SubmitErrorClass;
  /** The plugin gave the kind itself, which states that the vendor has no job. */
  provesNoJob: boolean;
  message?: string;
  param?: string;
  retryAfterSeconds?: number;
};

const CLASSES: Readonly<Record<SubmitErrorKind, SubmitErrorClass>> = {
  capacity: 'busy',
  rate: 'busy',
  balance: 'quota',
  credential: 'credential',
  vendor_busy: 'busy',
  content: 'content_policy',
  request: 'bad_input',
};
const KINDS: Readonly<Record<SubmitErrorClass, SubmitErrorKind>> = {
  bad_input: 'request',
  content_policy: 'content',
  quota: 'balance',
  busy: 'vendor_busy',
  credential: 'credential',
};

function readMeaning(value: JsonObject, status: number): Result<Pick<SubmitError, 'kind' | 'class'>, Sentence> {
  if (!isLeftOut(value.kind)) {
    const kind = (Object.keys(CLASSES) as SubmitErrorKind[]).find((name) => name === value.kind);
    if (kind !== undefined) return ok({ kind, class: CLASSES[kind] });
    return err(sentence('hook.one_of', { name: 'kind', values: Object.keys(CLASSES).join(', ') }));
  }
  const found = (Object.keys(KINDS) as SubmitErrorClass[]).find((name) => name === value.class);
  if (found === undefined) {
    return err(sentence('hook.one_of', { name: 'class', values: Object.keys(KINDS).join(', ') }));
  }
  return ok({ kind: found === 'busy' && status === 429 ? 'capacity' : KINDS[found], class: found });
}

type Refusal = { status?: number; secrets?: Secrets };

/** Checks the result of parseSubmitError. Null: the plugin leaves the answer to the gateway. */
export function readSubmitError(
  value: Json | undefined,
  { status = 0, secrets = [] }: Refusal = {},
): Result<SubmitError | null, Sentence> {
  if (value === undefined || value === null) return ok(null);
  if (!isObject(value)) return err(sentence('hook.submit_error'));
  const { message, param, retryAfterSeconds: wait } = value;
  const meaning = readMeaning(value, status);
  if (!meaning.ok) return meaning;
  const cleanText = (text: unknown): string =>
    typeof text === 'string' ? sanitizeMessage(redactSecrets(text, secrets)) : '';
  const seconds = typeof wait === 'number' && wait > 0 ? Math.min(Math.ceil(wait), MAX_RETRY_AFTER_SECONDS) : undefined;
  return ok({
    ...meaning.value,
    provesNoJob: !isLeftOut(value.kind),
    ...(cleanText(message) === '' ? {} : { message: cleanText(message) }),
    ...(cleanText(param) === '' ? {} : { param: cleanText(param) }),
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  });
}

/** Asks the plugin what a vendor's answer that accepts nothing means. */
export function parseSubmitError(
  plugin: LoadedPlugin,
  { ctx, response }: { ctx: DriverContext; response: SubmitResponse },
  options: HookOptions,
): Promise<Result<SubmitError | null, HookFailure>> {
  return callHook(plugin, {
    hook: 'parseSubmitError',
    args: [response, ctx],
    options,
    read: (value) => readSubmitError(value, { status: response.statusCode, secrets: options.secrets ?? [] }),
  });
}
