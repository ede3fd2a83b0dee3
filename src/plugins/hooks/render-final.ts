import type { ProtocolContext, TaskView } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, type JsonObject, ok, type Result } from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';
import { jsonBytes, nestsBeyond } from './measure-json.ts';

/** Limits of the whole answer, from new-api. Bytes are those of the JSON. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_RESULT_BYTES = MAX_OUTPUT_BYTES + 64 * 1024;
const MAX_ITEMS = 64;
const MAX_PARTS = 64;
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
  const output = readOutput(rendered);
  if (!output.ok) return output;
  const fault = findFault(members);
  return fault === undefined ? ok({ output: output.value, members }) : err(fault);
}

function readOutput(output: Json | undefined): Result<RenderedMessage[], string> {
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
