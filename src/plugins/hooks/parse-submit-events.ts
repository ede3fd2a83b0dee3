/**
 * The hooks that read a vendor's stream of events after a submission, and which results are
 * accepted.
 */
import type { DriverContext, SubmitEvent } from '../../../contracts/v1.d.ts';
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

/** Limits of new-api, which plugins are written for; bytes are those of the JSON in UTF-8. */
const MAX_STATE_BYTES = 1024 * 1024;
const MAX_DELTA_STATE_BYTES = 64 * 1024;
const MAX_RESULT_BYTES = 1024 * 1024;
const MAX_CHANGES = 256;
const MAX_PATH = 32;
const MAX_LEVELS = 32;
const MAX_NODES = 32_768;

/** Reads the events of a vendor's answer, one after the other, until the plugin has its result. */
export type SubmitStream = {
  /** The body for parseSubmitResponse once the plugin has said that it is done. */
  take(event: SubmitEvent): Promise<Result<{ done: boolean; body: Json }, HookFailure>>;
};

export function createSubmitStream(plugin: LoadedPlugin, ctx: DriverContext, options: HookOptions): SubmitStream {
  let state: Json = null;
  if (!plugin.manifest.requiredCapabilities.includes('submit-sse-delta@1')) {
    return {
      async take(event) {
        const args = [ctx, event, state];
        const read = await callHook(plugin, { hook: 'parseSubmitEvent', args, options, read: readSubmitEvent });
        if (!read.ok) return read;
        state = read.value.state;
        return ok({ done: read.value.done, body: state });
      },
    };
  }
  const result = createResult();
  return {
    async take(event) {
      const args = [ctx, event, state];
      const read = await callHook(plugin, {
        hook: 'parseSubmitEventDelta',
        args,
        options,
        read: (value) => readDelta(value, result),
      });
      if (!read.ok) return read;
      state = read.value.state;
      return ok({ done: read.value.done, body: result.value() });
    },
  };
}

type Step = { state: Json; done: boolean };

/** Checks the result of parseSubmitEvent. */
export function readSubmitEvent(value: Json | undefined): Result<Step, Sentence> {
  if (!isObject(value) || value.state === undefined || typeof value.done !== 'boolean') {
    return err(sentence('hook.no_event'));
  }
  if (jsonBytes(value.state as Json) > MAX_STATE_BYTES) {
    return err(sentence('hook.larger', { name: 'state', size: '1 MiB' }));
  }
  return ok({ state: value.state as Json, done: value.done });
}

/** Checks the result of parseSubmitEventDelta, and makes its changes. */
export function readDelta(value: Json | undefined, result: AccumulatedResult = createResult()): Result<Step, Sentence> {
  const isStep = isObject(value) && value.state !== undefined && typeof value.done === 'boolean';
  if (!isStep || !Array.isArray(value.changes) || Object.keys(value).length > 3) return err(sentence('hook.no_delta'));
  if (jsonBytes(value.state as Json) > MAX_DELTA_STATE_BYTES) {
    return err(sentence('hook.larger', { name: 'state', size: '64 KiB' }));
  }
  if (value.changes.length > MAX_CHANGES) return err(sentence('hook.changes_max', { max: MAX_CHANGES }));
  for (const [index, change] of value.changes.entries()) {
    const fault = result.apply(change as Json);
    if (fault) return err(sentence(fault, { name: `changes[${index}]` }));
  }
  return ok({ state: value.state as Json, done: value.done as boolean });
}

type Fault = 'hook.change' | 'hook.change_place' | 'hook.change_size';

type AccumulatedResult = {
  /** Makes one change; what is wrong with it, if it was not made. */
  apply(change: Json): Fault | undefined;
  value(): Json;
};

/**
 * A result that begins as null and grows by changes. Its size is counted by what changes, since a
 * stream may have thousands of events.
 */
function createResult(): AccumulatedResult {
  const root: { value: Json } = { value: null };
  let bytes = jsonBytes(null);
  let nodes = 1;

  return {
    value: () => root.value,
    apply(change) {
      if (!isObject(change) || Object.keys(change).length !== 3 || change.value === undefined) return 'hook.change';
      const { op, path, value } = change as { op: Json; path: Json; value: Json };
      if (!OPERATIONS.includes(op)) return 'hook.change';
      if (!Array.isArray(path) || path.length > MAX_PATH || !path.every(isStep)) return 'hook.change';
      const place = op === 'set' ? findPlace(root, path) : findValue(root, path);
      if (!place) return 'hook.change_place';
      const { holder, key } = place;
      const before = (holder as { [name: string | number]: Json })[key];
      const levels = path.length + (op === 'append' ? 1 : 0);
      if (op === 'set') {
        const name = before === undefined ? jsonBytes(String(key)) + 2 : 0;
        bytes += jsonBytes(value) + name - (before === undefined ? 0 : jsonBytes(before));
        nodes += countNodes(value) - (before === undefined ? 0 : countNodes(before));
      } else if (op === 'append' && Array.isArray(before)) {
        bytes += jsonBytes(value) + 1;
        nodes += countNodes(value);
      } else if (op === 'appendText' && typeof before === 'string' && typeof value === 'string') {
        bytes += jsonBytes(value) - 2;
      } else return 'hook.change_place';
      if (bytes > MAX_RESULT_BYTES || nodes > MAX_NODES || levels + countLevels(value) > MAX_LEVELS) {
        return 'hook.change_size';
      }
      if (op === 'append') (before as Json[]).push(value);
      else put(holder, key, op === 'set' ? value : `${before as string}${value as string}`);
      return undefined;
    },
  };
}

const OPERATIONS: readonly Json[] = ['set', 'append', 'appendText'];

const isStep = (step: Json): step is string | number =>
  typeof step === 'string' || (Number.isSafeInteger(step) && Number(step) >= 0);

type Place = { holder: JsonObject | Json[]; key: string | number };

/** The place of an existing value, or of a new member of an existing object. */
function findPlace(root: { value: Json }, path: readonly (string | number)[]): Place | undefined {
  let holder: Json = root as unknown as JsonObject;
  let key: string | number = 'value';
  for (const step of path) {
    holder = read(holder, key) ?? null;
    key = step;
    const fits = Array.isArray(holder) ? typeof step === 'number' && step < holder.length : typeof step === 'string';
    if (typeof holder !== 'object' || holder === null || !fits) return undefined;
  }
  return { holder: holder as JsonObject | Json[], key };
}

function findValue(root: { value: Json }, path: readonly (string | number)[]): Place | undefined {
  const place = findPlace(root, path);
  return place && read(place.holder, place.key) !== undefined ? place : undefined;
}

const read = (holder: Json, key: string | number): Json | undefined =>
  Object.hasOwn(holder as object, key) ? (holder as { [name: string | number]: Json })[key] : undefined;

/** A member called `__proto__` stays data. */
const put = (holder: Place['holder'], key: string | number, value: Json): void => {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
};

const countNodes = (value: Json): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, child) => sum + countNodes(child), 1)
    : 1;

const countLevels = (value: Json): number =>
  typeof value === 'object' && value !== null
    ? 1 + Object.values(value).reduce<number>((most, child) => Math.max(most, countLevels(child)), 0)
    : 0;
