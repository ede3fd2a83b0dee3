import type { ProtocolContext, TaskView } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, type JsonObject, ok, type Result } from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';

/**
 * Limits of new-api, which plugins are written for: of the whole answer, of the result of one call
 * for events, and of how deep either nests. Bytes are those of the JSON.
 */
const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_RESULT_BYTES = MAX_OUTPUT_BYTES + 64 * 1024;
const MAX_ITEMS = 64;
const MAX_PARTS = 64;
const MAX_EVENTS = 16;
const MAX_EVENTS_BYTES = 64 * 1024;
const MAX_EVENT_BYTES = 32 * 1024;
const MAX_STATE_BYTES = 16 * 1024;
const MAX_MESSAGE_BYTES = 512;
const MAX_ERROR_BYTES = 4 * 1024;
const MAX_CODE_BYTES = 128;
const MAX_DEPTH = 16;

/** A message from the plugin; `content` has output_text and refusal parts. */
export type RenderedMessage = JsonObject & { content: JsonObject[] };
/** The checked answer: its messages, and all other members that the plugin gave. */
export type RenderedFinal = { output: RenderedMessage[]; members: JsonObject };

/** Renders the whole answer of a task that has succeeded. */
export function renderFinal(
  plugin: LoadedPlugin,
  { ctx, task }: { ctx: ProtocolContext; task: TaskView },
  options: HookOptions,
): Promise<Result<RenderedFinal, HookFailure>> {
  return callHook(plugin, {
    hook: 'protocols.proto_responses.renderFinal',
    args: [ctx, task],
    options,
    read: readRenderedFinal,
  });
}

export function readRenderedFinal(result: Json | undefined): Result<RenderedFinal, string> {
  if (!isObject(result)) return err('the plugin rendered no object');
  if (jsonBytes(result) > MAX_RESULT_BYTES) return err('the answer is larger than 1 MiB and 64 KiB');
  if (nestsBeyond(result as JsonObject, MAX_DEPTH)) return err(`the answer nests deeper than ${MAX_DEPTH} levels`);
  const { output: rendered, ...members } = result as JsonObject;
  const output = readMessages(rendered);
  if (!output.ok) return output;
  const fault = findFault(members);
  return fault === undefined ? ok({ output: output.value, members }) : err(fault);
}

function readMessages(output: Json | undefined): Result<RenderedMessage[], string> {
  if (output === undefined || output === null) return ok([]);
  if (!Array.isArray(output)) return err('output must be a list');
  if (output.length > MAX_ITEMS) return err(`output may have at most ${MAX_ITEMS} items`);
  if (jsonBytes(output) > MAX_OUTPUT_BYTES) return err('output is larger than 1 MiB');
  for (const [index, item] of output.entries()) {
    const fault = findItemFault(item);
    if (fault !== undefined) return err(`output[${index}]${fault}`);
  }
  return ok(output as RenderedMessage[]);
}

function findItemFault(item: Json): string | undefined {
  if (!isObject(item) || item.type !== 'message' || item.role !== 'assistant') {
    return ' must be {type: "message", role: "assistant", content}';
  }
  if (!Array.isArray(item.content)) return '.content must be a list';
  if (item.content.length > MAX_PARTS) return `.content may have at most ${MAX_PARTS} parts`;
  for (const [index, part] of item.content.entries()) {
    const fault = findPartFault(part);
    if (fault !== undefined) return `.content[${index}] ${fault}`;
  }
  return undefined;
}

function findPartFault(part: unknown): string | undefined {
  if (!isObject(part)) return 'must be an object';
  if (part.type === 'refusal') return typeof part.refusal === 'string' ? undefined : 'needs a text named refusal';
  if (part.type !== 'output_text') return 'must be of type output_text or refusal';
  if (typeof part.text !== 'string') return 'needs a text named text';
  const hasLists = Array.isArray(part.annotations) && Array.isArray(part.logprobs);
  return hasLists ? undefined : 'needs the lists annotations and logprobs';
}

/** Checks the members whose type clients rely on. Null counts as absent. */
function findFault(members: JsonObject): string | undefined {
  const rules: [name: string, isValid: (value: Json) => boolean, expected: string][] = [
    ['instructions', (value) => typeof value === 'string' || Array.isArray(value), 'a text or a list'],
    ['parallel_tool_calls', (value) => typeof value === 'boolean', 'true or false'],
    ['temperature', (value) => isWithin(value, 2), 'a number from 0 to 2'],
    ['tool_choice', (value) => typeof value === 'string' || isObject(value), 'a text or an object'],
    ['tools', (value) => Array.isArray(value), 'a list'],
    ['top_p', (value) => isWithin(value, 1), 'a number from 0 to 1'],
    ['metadata', (value) => isObject(value), 'an object'],
  ];
  for (const [name, isValid, expected] of rules) {
    const value = members[name] ?? null;
    if (value !== null && !isValid(value)) return `${name} must be ${expected}`;
  }
  return undefined;
}

const isWithin = (value: Json, max: number): boolean => typeof value === 'number' && value >= 0 && value <= max;

export type RenderedEvent =
  | { type: 'progress'; progress?: number; message?: string }
  /** `text` is the plugin's data: a string unchanged, anything else as JSON. */
  | { type: 'output'; text: string }
  | { type: 'error'; message: string; code?: string };

/** The result of one call of renderEvents. `state` is set if the plugin returned one, even null. */
export type RenderedEvents = { events: RenderedEvent[]; done: boolean; state?: { value: Json } };

/**
 * Events since the call that returned the state `previous`, which is `undefined` while no call has
 * returned one.
 */
export function renderEvents(
  plugin: LoadedPlugin,
  { ctx, task, previous }: { ctx: ProtocolContext; task: TaskView; previous: RenderedEvents['state'] },
  options: HookOptions,
): Promise<Result<RenderedEvents, HookFailure>> {
  const args = previous ? [ctx, task, previous.value] : [ctx, task];
  return callHook(plugin, {
    hook: 'protocols.proto_responses.renderEvents',
    args,
    options,
    read: readRenderedEvents,
  });
}

/** Refuses unknown members, so that a misspelt one is not taken for an absent one. */
export function readRenderedEvents(result: Json | undefined): Result<RenderedEvents, string> {
  if (!isObject(result)) return err('the result must be {events, done, state?}');
  const unknown = unknownMember(result, ['events', 'done', 'state']);
  if (unknown !== undefined) return err(`the result has the unknown member ${unknown}`);
  const { events, done, state } = result as { [name: string]: Json | undefined };
  if (typeof done !== 'boolean') return err('done must be true or false');
  if (!Array.isArray(events)) return err('events must be a list');
  if (events.length > MAX_EVENTS) return err(`there may be at most ${MAX_EVENTS} events per call`);
  if (jsonBytes(events) > MAX_EVENTS_BYTES) return err('the events are together larger than 64 KiB');
  if (state !== undefined && jsonBytes(state) > MAX_STATE_BYTES) return err('state is larger than 16 KiB');
  if (nestsBeyond(state, MAX_DEPTH)) return err(`state nests deeper than ${MAX_DEPTH} levels`);
  const read: RenderedEvent[] = [];
  for (const [index, event] of events.entries()) {
    const rendered = readEvent(event);
    if (!rendered.ok) return err(`events[${index}]: ${rendered.error}`);
    read.push(rendered.value);
  }
  return ok({ events: read, done, ...(state === undefined ? {} : { state: { value: state } }) });
}

function readEvent(event: Json): Result<RenderedEvent, string> {
  if (!isObject(event)) return err('an event must be an object');
  if (jsonBytes(event) > MAX_EVENT_BYTES) return err('the event is larger than 32 KiB');
  if (nestsBeyond(event as Json, MAX_DEPTH)) return err(`the event nests deeper than ${MAX_DEPTH} levels`);
  switch (event.type) {
    case 'progress':
      return readProgress(event);
    case 'output':
      return readOutput(event);
    case 'error':
      return readError(event);
    default:
      return err('type must be progress, output or error');
  }
}

function readProgress(event: Record<string, unknown>): Result<RenderedEvent, string> {
  const unknown = unknownMember(event, ['type', 'progress', 'message']);
  if (unknown !== undefined) return err(`unknown member ${unknown}`);
  const { progress, message } = event;
  if (isPresent(progress) && !(typeof progress === 'number' && progress >= 0 && progress <= 100)) {
    return err('progress must be a number from 0 to 100');
  }
  if (isPresent(message) && !isText(message, MAX_MESSAGE_BYTES)) {
    return err(`message must be a text of at most ${MAX_MESSAGE_BYTES} bytes`);
  }
  return ok({
    type: 'progress',
    ...(typeof progress === 'number' ? { progress } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  });
}

function readOutput(event: Record<string, unknown>): Result<RenderedEvent, string> {
  const unknown = unknownMember(event, ['type', 'data']);
  if (unknown !== undefined) return err(`unknown member ${unknown}`);
  const { data } = event;
  if (data === undefined) return err('data is missing');
  return ok({ type: 'output', text: typeof data === 'string' ? data : JSON.stringify(data) });
}

function readError(event: Record<string, unknown>): Result<RenderedEvent, string> {
  const unknown = unknownMember(event, ['type', 'message', 'code']);
  if (unknown !== undefined) return err(`unknown member ${unknown}`);
  const { message, code } = event;
  if (!isText(message, MAX_ERROR_BYTES) || message.trim() === '') {
    return err('message must be a text of at most 4 KiB that is not blank');
  }
  if (isPresent(code) && !isText(code, MAX_CODE_BYTES))
    return err(`code must be a text of at most ${MAX_CODE_BYTES} bytes`);
  return ok({ type: 'error', message, ...(typeof code === 'string' ? { code } : {}) });
}

/** Null counts as absent. */
const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

const isText = (value: unknown, maxBytes: number): value is string =>
  typeof value === 'string' && Buffer.byteLength(value) <= maxBytes;

const unknownMember = (value: Record<string, unknown>, known: readonly string[]): string | undefined => {
  const name = Object.keys(value).find((member) => !known.includes(member));
  return name === undefined ? undefined : JSON.stringify(name.slice(0, 60));
};

/** Bytes of `value` as JSON in UTF-8. */
const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** Whether arrays and objects nest deeper than `levels`. Never looks deeper than that. */
function nestsBeyond(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => nestsBeyond(child, levels - 1));
}
