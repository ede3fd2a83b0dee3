/**
 * Reads `vendorInfo`: what a plugin says of its vendor's keys, prices, capacity, models and
 * examples.
 */
import type { LocalizedText as WrittenText } from '../../../contracts/v1.d.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { FactRange, FactRanges, InputType, RequestInput, VendorInfo } from '../types.ts';
import { isHttpUrl } from './addresses.ts';
import { toTextMap } from './localized-text.ts';

const MAX_URL = 512;
const MAX_KEY_FORMAT = 100;
const MAX_GRACE_SECONDS = 3600;
const MAX_KEY_FORMATS = 4;
const MAX_TEXT = 512;
const MAX_LOCALES = 16;
const MAX_MODELS = 500;
const MAX_EXPRESSION = 4096;
const MAX_EXAMPLES = 16;
/** An example is shown and edited in a form. */
const MAX_REQUEST = 8192;
const MAX_INPUTS = 50;
/** An input's example is a text. */
const MAX_EXAMPLE = 512;
const INPUT_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const INPUT_TYPES: ReadonlySet<unknown> = new Set<InputType>(['text', 'image', 'video', 'audio']);
const MAX_LABELS = 100;
const MAX_LABEL = 64;
const MAX_RANGES = 100;
const MAX_VALUES = 50;
const MAX_CHOICE = 100;

const ANY_TEXT = '[^\\s|]+';
const KEY_FILE = '\\{[^]*\\}';
/** Stands for any text: `API_KEY`. */
const PLACEHOLDER = /^[A-Z][A-Z0-9_]{2,}$/;
const REST = '…';

/**
 * Reads `vendorInfo`. The export is an extension: plugins of other hosts may use its name for
 * something else. So what does not fit is left out, and never a fault.
 */
export function readVendorInfo(value: Json | undefined): VendorInfo | undefined {
  if (!isObject(value)) return undefined;
  const keyUrl = readUrl(value.keyUrl);
  const keyFormat = readKeyFormat(value.keyFormat);
  const keyHelp = readTexts(value.keyHelp);
  const grace = value.notFoundGraceSeconds;
  const isFit = Number.isInteger(grace) && Number(grace) > 0 && Number(grace) <= MAX_GRACE_SECONDS;
  const listPrices = readListPrices(value.listPrices);
  const capacity = readCapacity(value.capacity);
  const ranges = readRanges(value.ranges);
  const inputs = readInputs(value.inputs);
  const labels = readLabels(value.labels);
  const examples = (Array.isArray(value.examples) ? value.examples : []).slice(0, MAX_EXAMPLES).flatMap(readExample);
  const info: VendorInfo = {
    ...(keyUrl && { keyUrl }),
    ...(keyFormat && { keyFormat }),
    ...(keyHelp && { keyHelp }),
    ...(isFit && { notFoundGraceSeconds: Number(grace) }),
    ...(listPrices && { listPrices }),
    ...(capacity && { capacity }),
    ...(ranges && { ranges }),
    ...(inputs && { inputs }),
    ...(labels && { labels }),
    examples,
  };
  return Object.keys(info).length === 1 && examples.length === 0 ? undefined : info;
}

const textUpTo = (limit: number, value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' && value.length <= limit ? value.trim() : undefined;

function readKeyFormat(value: unknown): string[] | undefined {
  const formats = (Array.isArray(value) ? value : [value])
    .slice(0, MAX_KEY_FORMATS)
    .map((format) => textUpTo(MAX_KEY_FORMAT, format));
  return formats.length > 0 && formats.every((format) => format !== undefined) ? formats : undefined;
}

function readUrl(value: unknown): string | undefined {
  const text = textUpTo(MAX_URL, value);
  return text !== undefined && isHttpUrl(text) ? text : undefined;
}

function readTexts(value: unknown, limit = MAX_TEXT): VendorInfo['keyHelp'] {
  if (typeof value === 'string') return textUpTo(limit, value) === undefined ? undefined : toTextMap(value);
  if (!isObject(value) || !('en' in value)) return undefined;
  const entries = Object.entries(value);
  const isFit = entries.length <= MAX_LOCALES && entries.every(([, text]) => textUpTo(limit, text) !== undefined);
  return isFit ? toTextMap(value as WrittenText) : undefined;
}

function readListPrices(value: unknown): VendorInfo['listPrices'] {
  if (!isObject(value) || !isObject(value.models)) return undefined;
  const models = Object.entries(value.models)
    .slice(0, MAX_MODELS)
    .filter((entry): entry is [string, string] => textUpTo(MAX_EXPRESSION, entry[1]) !== undefined);
  if (models.length === 0) return undefined;
  const url = readUrl(value.url);
  const asOf = typeof value.asOf === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value.asOf) ? value.asOf : undefined;
  return { ...(url && { url }), ...(asOf && { asOf }), models: Object.fromEntries(models) };
}

function readCapacity(value: unknown): VendorInfo['capacity'] {
  if (!isObject(value)) return undefined;
  const slots = textUpTo(MAX_EXPRESSION, value.slots);
  const queues = value.queues === true;
  return slots === undefined && !queues ? undefined : { ...(slots !== undefined && { slots }), queues };
}

function readExample(value: unknown): VendorInfo['examples'] {
  if (!isObject(value) || !isObject(value.request)) return [];
  const label = readTexts(value.label);
  if (label === undefined || JSON.stringify(value.request).length > MAX_REQUEST) return [];
  const models = Array.isArray(value.models)
    ? value.models.slice(0, MAX_MODELS).filter((model) => typeof model === 'string')
    : undefined;
  return [{ label, ...(models && { models }), request: value.request as JsonObject }];
}

/** Undefined for what says nothing; an input that does not fit is left out. */
function readInputs(value: unknown): VendorInfo['inputs'] {
  if (!isObject(value)) return undefined;
  const inputs = Object.entries(value)
    .slice(0, MAX_INPUTS)
    .flatMap(([name, input]) => {
      if (!INPUT_NAME.test(name) || !isObject(input) || !INPUT_TYPES.has(input.type)) return [];
      const { type, required, description, example, models } = input;
      const texts = readTexts(description);
      const read: RequestInput = {
        type: type as InputType,
        required: required === true,
        ...(texts && { description: texts }),
        ...(typeof example === 'string' && example.length <= MAX_EXAMPLE && { example }),
        ...(Array.isArray(models) && {
          models: models.slice(0, MAX_MODELS).filter((name) => typeof name === 'string'),
        }),
      };
      return [[name, read] as const];
    });
  return inputs.length === 0 ? undefined : Object.fromEntries(inputs);
}

/** Undefined for what says nothing; a label that does not fit is left out. */
function readLabels(value: unknown): VendorInfo['labels'] {
  if (!isObject(value)) return undefined;
  const labels = Object.entries(value)
    .slice(0, MAX_LABELS)
    .flatMap(([name, label]) => {
      const texts = readTexts(label, MAX_LABEL);
      return texts === undefined ? [] : [[name, texts] as const];
    });
  return labels.length === 0 ? undefined : Object.fromEntries(labels);
}

/** Undefined for what says nothing; a range that does not fit is left out. */
function readRanges(value: unknown): VendorInfo['ranges'] {
  if (!isObject(value)) return undefined;
  const ranges = Object.entries(value)
    .slice(0, MAX_RANGES)
    .flatMap(([name, range]) => {
      const all = readRange(range);
      if (all === undefined) return [];
      const byModel = isObject(range) && isObject(range.models) ? Object.entries(range.models) : [];
      const models = byModel.slice(0, MAX_MODELS).flatMap(([model, limits]) => {
        const own = readRange(limits);
        return own === undefined ? [] : [[model, own] as const];
      });
      return [[name, { all, models: Object.fromEntries(models) }] as const];
    });
  return ranges.length === 0 ? undefined : Object.fromEntries(ranges);
}

/** Undefined for what is not a range. */
function readRange(value: unknown): FactRange | null | undefined {
  if (value === null) return null;
  if (!isObject(value)) return undefined;
  const { minimum, maximum, values, whole } = value;
  if (values !== undefined) {
    const isFit = Array.isArray(values) && values.length > 0 && values.length <= MAX_VALUES && values.every(isChoice);
    return isFit ? { kind: 'values', values: values as (number | string)[] } : undefined;
  }
  if (minimum === undefined && maximum === undefined) return { kind: 'any' };
  const isFit = typeof minimum === 'number' && typeof maximum === 'number' && 0 <= minimum && minimum <= maximum;
  return isFit ? { kind: 'numbers', minimum, maximum, whole: whole === true } : undefined;
}

const isChoice = (value: unknown): boolean =>
  typeof value === 'number'
    ? value >= 0
    : typeof value === 'string' && value.trim() !== '' && value.length <= MAX_CHOICE;

/**
 * A regular expression, of linear time, for a key of one of these `keyFormat`s; empty where nothing
 * can be told. It finds keys of another vendor and half pairs, so it is lenient otherwise.
 */
export function toKeyPattern(formats: readonly string[]): string {
  const patterns = formats.map(toPattern);
  return patterns.length === 0 || patterns.includes(undefined) ? '' : `^(?:${patterns.join('|')})$`;
}

/** Undefined for a format in words, such as `32 hexadecimal digits`. */
function toPattern(format: string): string | undefined {
  if (format.startsWith('{')) return KEY_FILE;
  const parts = format.split('|').map((part) => toPartPattern(part.trim()));
  return parts.includes(undefined) ? undefined : parts.join('\\|');
}

function toPartPattern(part: string): string | undefined {
  const names = part.split(':');
  if (names.every((name) => PLACEHOLDER.test(name))) return names.map(() => ANY_TEXT).join(':');
  const at = part.indexOf(REST);
  if (at === -1) return undefined;
  return /\s/.test(part) ? undefined : escapeSigns(part.slice(0, at)) + ANY_TEXT;
}

const escapeSigns = (text: string): string => text.replaceAll(/\W/g, '\\$&');

/**
 * What requests may say of a fact, for a model that is known by these names. Null: they do not say
 * it.
 */
export function chooseRange(ranges: FactRanges | undefined, names: readonly string[]): FactRange | null {
  if (ranges === undefined) return { kind: 'any' };
  const named = names.find((name) => Object.hasOwn(ranges.models, name));
  return named === undefined ? ranges.all : (ranges.models[named] ?? null);
}
