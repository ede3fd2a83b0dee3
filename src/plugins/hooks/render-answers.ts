/**
 * How a plugin renders a task for its client, as a whole or in events, and which results of these
 * hooks are accepted.
 */
import type { ProtocolContext, TaskView } from '../../../contracts/v1.d.ts';
import {
  err,
  isObject,
  type Json,
  type JsonObject,
  jsonBytes,
  ok,
  type Result,
  type Sentence,
  sentence,
} from '../../kernel/index.ts';
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

export function readRenderedFinal(result: Json | undefined): Result<RenderedFinal, Sentence> {
  if (!isObject(result)) return err(sentence('hook.no_object'));
  if (jsonBytes(result) > MAX_RESULT_BYTES) return err(sentence('hook.answer_both'));
  if (nestsBeyond(result as JsonObject, MAX_DEPTH)) return err(sentence('hook.answer_depth', { max: MAX_DEPTH }));
  const { output: rendered, ...members } = result as JsonObject;
  const output = readMessages(rendered);
  if (!output.ok) return output;
  const fault = findFault(members);
  return fault === undefined ? ok({ output: output.value, members }) : err(fault);
}

function readMessages(output: Json | undefined): Result<RenderedMessage[], Sentence> {
  if (output === undefined || output === null) return ok([]);
  if (!Array.isArray(output)) return err(sentence('hook.list', { name: 'output' }));
  if (output.length > MAX_ITEMS) return err(sentence('hook.items_max', { name: 'output', max: MAX_ITEMS }));
  if (jsonBytes(output) > MAX_OUTPUT_BYTES) return err(sentence('hook.larger', { name: 'output', size: '1 MiB' }));
  for (const [index, item] of output.entries()) {
    const fault = findItemFault(item, `output[${index}]`);
    if (fault !== undefined) return err(fault);
  }
  return ok(output as RenderedMessage[]);
}

function findItemFault(item: Json, name: string): Sentence | undefined {
  if (!isObject(item) || item.type !== 'message' || item.role !== 'assistant') {
    return sentence('hook.item_message', { name });
  }
  if (!Array.isArray(item.content)) return sentence('hook.list', { name: `${name}.content` });
  if (item.content.length > MAX_PARTS) return sentence('hook.parts_max', { name: `${name}.content`, max: MAX_PARTS });
  for (const [index, part] of item.content.entries()) {
    const fault = findPartFault(part, `${name}.content[${index}]`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function findPartFault(part: unknown, name: string): Sentence | undefined {
  if (!isObject(part)) return sentence('hook.part_object', { name });
  if (part.type === 'refusal')
    return typeof part.refusal === 'string' ? undefined : sentence('hook.part_refusal', { name });
  if (part.type !== 'output_text') return sentence('hook.part_type', { name });
  if (typeof part.text !== 'string') return sentence('hook.part_text', { name });
  const hasLists = Array.isArray(part.annotations) && Array.isArray(part.logprobs);
  return hasLists ? undefined : sentence('hook.part_lists', { name });
}

/** Checks the members whose type clients rely on. Null counts as absent. */
function findFault(members: JsonObject): Sentence | undefined {
  const rules: [name: string, isValid: (value: Json) => boolean, fault: (name: string) => Sentence][] = [
    [
      'instructions',
      (value) => typeof value === 'string' || Array.isArray(value),
      (name) => sentence('hook.text_or_list', { name }),
    ],
    ['parallel_tool_calls', (value) => typeof value === 'boolean', (name) => sentence('hook.boolean', { name })],
    ['temperature', (value) => isWithin(value, 2), (name) => sentence('hook.number_range', { name, min: 0, max: 2 })],
    [
      'tool_choice',
      (value) => typeof value === 'string' || isObject(value),
      (name) => sentence('hook.text_or_object', { name }),
    ],
    ['tools', (value) => Array.isArray(value), (name) => sentence('hook.list', { name })],
    ['top_p', (value) => isWithin(value, 1), (name) => sentence('hook.number_range', { name, min: 0, max: 1 })],
    ['metadata', (value) => isObject(value), (name) => sentence('hook.part_object', { name })],
  ];
  for (const [name, isValid, fault] of rules) {
    const value = members[name] ?? null;
    if (value !== null && !isValid(value)) return fault(name);
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
export function readRenderedEvents(result: Json | undefined): Result<RenderedEvents, Sentence> {
  if (!isObject(result)) return err(sentence('hook.events_result'));
  const unknown = unknownMember(result, ['events', 'done', 'state']);
  if (unknown !== undefined) return err(sentence('hook.events_member', { name: unknown }));
  const { events, done, state } = result as { [name: string]: Json | undefined };
  if (typeof done !== 'boolean') return err(sentence('hook.boolean', { name: 'done' }));
  if (!Array.isArray(events)) return err(sentence('hook.list', { name: 'events' }));
  if (events.length > MAX_EVENTS) return err(sentence('hook.events_max', { max: MAX_EVENTS }));
  if (jsonBytes(events) > MAX_EVENTS_BYTES) return err(sentence('hook.events_size', { size: '64 KiB' }));
  if (state !== undefined && jsonBytes(state) > MAX_STATE_BYTES)
    return err(sentence('hook.larger', { name: 'state', size: '16 KiB' }));
  if (nestsBeyond(state, MAX_DEPTH)) return err(sentence('hook.deeper', { name: 'state', max: MAX_DEPTH }));
  const read: RenderedEvent[] = [];
  for (const [index, event] of events.entries()) {
    const rendered = readEvent(event);
    if (!rendered.ok) return err(sentence('hook.event', { name: `events[${index}]`, fault: rendered.error }));
    read.push(rendered.value);
  }
  return ok({ events: read, done, ...(state === undefined ? {} : { state: { value: state } }) });
}

function readEvent(event: Json): Result<RenderedEvent, Sentence> {
  if (!isObject(event)) return err(sentence('hook.event_object'));
  if (jsonBytes(event) > MAX_EVENT_BYTES) return err(sentence('hook.event_size', { size: '32 KiB' }));
  if (nestsBeyond(event as Json, MAX_DEPTH)) return err(sentence('hook.event_depth', { max: MAX_DEPTH }));
  switch (event.type) {
    case 'progress':
      return readProgress(event);
    case 'output':
      return readOutput(event);
    case 'error':
      return readError(event);
    default:
      return err(sentence('hook.event_type'));
  }
}

function readProgress(event: Record<string, unknown>): Result<RenderedEvent, Sentence> {
  const unknown = unknownMember(event, ['type', 'progress', 'message']);
  if (unknown !== undefined) return err(sentence('hook.unknown_member', { name: unknown }));
  const { progress, message } = event;
  if (isPresent(progress) && !(typeof progress === 'number' && progress >= 0 && progress <= 100)) {
    return err(sentence('hook.progress'));
  }
  if (isPresent(message) && !isText(message, MAX_MESSAGE_BYTES)) {
    return err(sentence('hook.text_bytes', { name: 'message', max: MAX_MESSAGE_BYTES }));
  }
  return ok({
    type: 'progress',
    ...(typeof progress === 'number' ? { progress } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  });
}

function readOutput(event: Record<string, unknown>): Result<RenderedEvent, Sentence> {
  const unknown = unknownMember(event, ['type', 'data']);
  if (unknown !== undefined) return err(sentence('hook.unknown_member', { name: unknown }));
  const { data } = event;
  if (data === undefined) return err(sentence('hook.data_missing'));
  return ok({ type: 'output', text: typeof data === 'string' ? data : JSON.stringify(data) });
}

function readError(event: Record<string, unknown>): Result<RenderedEvent, Sentence> {
  const unknown = unknownMember(event, ['type', 'message', 'code']);
  if (unknown !== undefined) return err(sentence('hook.unknown_member', { name: unknown }));
  const { message, code } = event;
  if (!isText(message, MAX_ERROR_BYTES) || message.trim() === '') {
    return err(sentence('hook.message_text'));
  }
  if (isPresent(code) && !isText(code, MAX_CODE_BYTES))
    return err(sentence('hook.text_bytes', { name: 'code', max: MAX_CODE_BYTES }));
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

/** Whether arrays and objects nest deeper than `levels`. Never looks deeper than that. */
function nestsBeyond(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => nestsBeyond(child, levels - 1));
}
