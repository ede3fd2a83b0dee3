import type { LocalizedText as WrittenText } from '../../../contracts/v1.d.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { VendorInfo } from '../types.ts';
import { isHttpUrl } from './addresses.ts';
import { toTextMap } from './localized-text.ts';
import { inputsOf } from './read-inputs.ts';
import { rangesOf } from './read-ranges.ts';

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

/**
 * Reads `vendorInfo`. The export is an extension: plugins of other hosts may use its name for
 * something else. So what does not fit is left out, and never a fault.
 */
export function readVendorInfo(value: Json | undefined): VendorInfo | undefined {
  if (!isObject(value)) return undefined;
  const keyUrl = urlOf(value.keyUrl);
  const keyFormat = keyFormatOf(value.keyFormat);
  const keyHelp = textsOf(value.keyHelp);
  const grace = value.notFoundGraceSeconds;
  const isFit = Number.isInteger(grace) && Number(grace) > 0 && Number(grace) <= MAX_GRACE_SECONDS;
  const listPrices = listPricesOf(value.listPrices);
  const ranges = rangesOf(value.ranges);
  const inputs = inputsOf(value.inputs, textsOf);
  const examples = (Array.isArray(value.examples) ? value.examples : []).slice(0, MAX_EXAMPLES).flatMap(exampleOf);
  const info: VendorInfo = {
    ...(keyUrl && { keyUrl }),
    ...(keyFormat && { keyFormat }),
    ...(keyHelp && { keyHelp }),
    ...(isFit && { notFoundGraceSeconds: Number(grace) }),
    ...(listPrices && { listPrices }),
    ...(ranges && { ranges }),
    ...(inputs && { inputs }),
    examples,
  };
  return Object.keys(info).length === 1 && examples.length === 0 ? undefined : info;
}

const textUpTo = (limit: number, value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' && value.length <= limit ? value.trim() : undefined;

function keyFormatOf(value: unknown): string[] | undefined {
  const formats = (Array.isArray(value) ? value : [value])
    .slice(0, MAX_KEY_FORMATS)
    .map((format) => textUpTo(MAX_KEY_FORMAT, format));
  return formats.length > 0 && formats.every((format) => format !== undefined) ? formats : undefined;
}

function urlOf(value: unknown): string | undefined {
  const text = textUpTo(MAX_URL, value);
  return text !== undefined && isHttpUrl(text) ? text : undefined;
}

function textsOf(value: unknown): VendorInfo['keyHelp'] {
  if (typeof value === 'string') return textUpTo(MAX_TEXT, value) === undefined ? undefined : toTextMap(value);
  if (!isObject(value) || !('en' in value)) return undefined;
  const entries = Object.entries(value);
  const isFit = entries.length <= MAX_LOCALES && entries.every(([, text]) => textUpTo(MAX_TEXT, text) !== undefined);
  return isFit ? toTextMap(value as WrittenText) : undefined;
}

function listPricesOf(value: unknown): VendorInfo['listPrices'] {
  if (!isObject(value) || !isObject(value.models)) return undefined;
  const models = Object.entries(value.models)
    .slice(0, MAX_MODELS)
    .filter((entry): entry is [string, string] => textUpTo(MAX_EXPRESSION, entry[1]) !== undefined);
  if (models.length === 0) return undefined;
  const url = urlOf(value.url);
  const asOf = typeof value.asOf === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value.asOf) ? value.asOf : undefined;
  return { ...(url && { url }), ...(asOf && { asOf }), models: Object.fromEntries(models) };
}

function exampleOf(value: unknown): VendorInfo['examples'] {
  if (!isObject(value) || !isObject(value.request)) return [];
  const label = textsOf(value.label);
  if (label === undefined || JSON.stringify(value.request).length > MAX_REQUEST) return [];
  const models = Array.isArray(value.models)
    ? value.models.slice(0, MAX_MODELS).filter((model) => typeof model === 'string')
    : undefined;
  return [{ label, ...(models && { models }), request: value.request as JsonObject }];
}
