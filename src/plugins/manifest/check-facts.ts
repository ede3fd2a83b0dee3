import {
  err,
  isObject,
  type Json,
  type JsonObject,
  ok,
  type Result,
  type Sentence,
  sentence,
} from '../../kernel/index.ts';
import type { Manifest, UsageDeclaration, UsageField } from '../types.ts';

/** Largest values, as in new-api: an hour, 128 items, and 32-bit integers for clamped values. */
const MAX_SECONDS = 3600;
const MAX_COUNT = 128;
const MAX_INT32 = 2_147_483_647;

/** Facts that the gateway itself uses on completion; their limit is not that of seconds. */
const COMPLETION_COUNTERS = new Set(['upstreamUnits', 'completionTokens', 'totalTokens']);

/** Names for seconds and for counts; compared in lower case and without `_` and `-`. */
const SECOND_NAMES = new Set(['duration', 'seconds', 'durationseconds']);
const COUNT_NAMES = new Set([
  'n',
  'count',
  'numimages',
  'numvideos',
  'numberofimages',
  'numberofvideos',
  'samplecount',
  'batchsize',
]);
const plainName = (name: string): string => name.replace(/[_-]/g, '').toLowerCase();

/** The largest value of a declared number, by its unit. */
export const NUMBER_LIMITS = { second: MAX_SECONDS, count: MAX_COUNT, token: MAX_INT32, credit: MAX_INT32 } as const;

/** Units whose larger values are clamped to the limit. Larger values of others are refused. */
const CLAMPED: ReadonlySet<string> = new Set(['token', 'credit']);

/**
 * The usage facts of a model: those of its profile, by the vendor's name or else by the client's,
 * or the plugin's own.
 */
export function findUsage(
  manifest: Pick<Manifest, 'usageProfiles' | 'usageSchema' | 'usageExamples'>,
  { model, upstreamModel = '' }: { model: string; upstreamModel?: string },
): UsageDeclaration {
  const find = (name: string) => manifest.usageProfiles.find(({ models }) => models.includes(name));
  return find(upstreamModel) ?? find(model) ?? manifest;
}

function checkNumber(value: number, limit: number | 'clamp'): Result<number, Sentence> {
  if (!Number.isFinite(value) || value < 0) return err(sentence('fault.finite_number'));
  if (limit === 'clamp') return ok(Math.min(value, MAX_INT32));
  return value > limit ? err(sentence('fault.number_max', { max: limit })) : ok(value);
}

/** Checks a value against its field. Gives the value to use, or what it must be. */
export function checkFact(field: UsageField, value: unknown): Result<Json, Sentence> {
  switch (field.kind) {
    case 'enum':
      return typeof value === 'string' && field.values.includes(value)
        ? ok(value)
        : err(sentence('fault.one_of', { values: field.values.map((known) => JSON.stringify(known)).join(', ') }));
    case 'boolean':
      return typeof value === 'boolean' ? ok(value) : err(sentence('fault.boolean'));
    case 'number':
      return typeof value === 'number'
        ? checkNumber(value, CLAMPED.has(field.unit) ? 'clamp' : NUMBER_LIMITS[field.unit])
        : err(sentence('fault.number'));
  }
}

/**
 * Checks the result of a usage hook; `null` if it returned nothing. Declared facts must fit their
 * field. Undeclared numbers must fit the general limits. Other undeclared facts are dropped,
 * because no price can use them.
 */
export function checkUsageFacts(
  schema: Readonly<Record<string, UsageField>>,
  returned: Json | undefined,
): Result<JsonObject | null, Sentence> {
  if (returned === undefined || returned === null) return ok(null);
  if (!isObject(returned)) return err(sentence('hook.usage_object'));
  const facts: [string, Json][] = [];
  for (const [name, value] of Object.entries(returned)) {
    const field = Object.hasOwn(schema, name) ? schema[name] : undefined;
    let checked: Result<Json, Sentence>;
    if (field) checked = checkFact(field, value);
    else if (typeof value !== 'number') continue;
    else if (COMPLETION_COUNTERS.has(name)) checked = checkNumber(value, 'clamp');
    else checked = checkNumber(value, COUNT_NAMES.has(plainName(name)) ? MAX_COUNT : MAX_SECONDS);
    if (!checked.ok) return err(sentence('hook.usage_fact', { name, fault: checked.error }));
    facts.push([name, checked.value]);
  }
  return ok(Object.fromEntries(facts));
}

/** A number, or a text that a vendor may parse as one: `"10"`, `"1e9"`, `" 5 "`. */
const asNumber = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
};

/** Vendors choose the quantity themselves for this value. */
const AUTOMATIC = -1;

/**
 * Checks the quantities in a decoded request body, at any depth, against the same limits. So
 * `{"n": 1000000}` is refused before it reaches the vendor and the bill. Gives the first violation.
 */
export function checkRequestQuantities(
  schema: Readonly<Record<string, UsageField>>,
  requestBody: Json,
): Result<null, Sentence> {
  const limits = new Map<string, number>();
  for (const name of SECOND_NAMES) limits.set(name, MAX_SECONDS);
  for (const name of COUNT_NAMES) limits.set(name, MAX_COUNT);
  for (const [name, field] of Object.entries(schema)) {
    if (field.kind !== 'number') continue;
    limits.set(plainName(name), NUMBER_LIMITS[field.unit]);
  }
  const pending: unknown[] = [requestBody];
  while (pending.length > 0) {
    const value = pending.pop();
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') pending.push(item);
      continue;
    }
    if (!isObject(value)) continue;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === 'object') pending.push(member);
      const limit = limits.get(plainName(name));
      const number = limit === undefined ? undefined : asNumber(member);
      if (limit === undefined || number === undefined || number === AUTOMATIC) continue;
      if (number < 0) return err(sentence('hook.quantity_min', { name, limit: '0' }));
      if (number > limit) return err(sentence('hook.quantity_max', { name, limit }));
    }
  }
  return ok(null);
}
