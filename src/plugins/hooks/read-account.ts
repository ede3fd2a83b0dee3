import { err, isObject, type Json, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import { readHeaders, readMethod } from './read-descriptor.ts';

const MAX_BODY = 16 * 1024;
const MAX_USD = 1_000_000_000;
const HIGHEST_LIMIT = 1_000_000;
const MAX_MODELS = 1000;
const LIMIT_FIELDS = ['maxRunning', 'maxPerMinute', 'burst'] as const;

/** A request that asks about an account, of the channel's own origin. */
export type AccountRequest = { url: string; method: string; headers: Record<string, string>; body: string };

type Limit = { [K in (typeof LIMIT_FIELDS)[number]]?: number };
/** What a vendor lets an account run, and its models by the vendor's names. */
export type ReportedLimits = Limit & { models?: Record<string, Limit> };

/** Checks what buildBalanceRequest returns. */
export function readBalanceRequest(value: Json | undefined, baseUrl: string): Result<AccountRequest, Sentence> {
  const read = readRequest(value, baseUrl);
  return read ? ok(read) : err(sentence('balance.request_invalid'));
}

function readRequest(value: Json | undefined, baseUrl: string): AccountRequest | undefined {
  if (!isObject(value)) return undefined;
  const url = typeof value.url === 'string' ? URL.parse(value.url) : null;
  if (!url || url.origin !== URL.parse(baseUrl)?.origin || url.username !== '' || url.password !== '') return undefined;
  const method = readMethod(value.method, 'GET', ['GET', 'POST']);
  const headers = readHeaders(value.headers);
  const { body = '' } = value;
  if (!method.ok || !headers.ok || typeof body !== 'string' || Buffer.byteLength(body) > MAX_BODY) return undefined;
  return { url: url.href, method: method.value, headers: headers.value, body };
}

/** Checks what parseBalanceResponse returns: US dollars. */
export const readBalanceAmount = (value: Json | undefined): Result<number, Sentence> =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 && value <= MAX_USD
    ? ok(value)
    : err(sentence('balance.no_amount'));

/** `limits` null: the vendor says nothing about this account. */
type CapacityAnswer = { request: AccountRequest } | { limits: ReportedLimits | null };

/** Checks what queryCapacity returns. `answered`: the vendor has been asked; it is asked once. */
export function readCapacityAnswer(
  value: Json | undefined,
  { baseUrl, answered }: { baseUrl: string; answered: boolean },
): Result<CapacityAnswer, Sentence> {
  if (value === undefined || value === null) return ok({ limits: null });
  if (!isObject(value)) return err(sentence('told_limits.invalid'));
  if (value.request !== undefined && value.request !== null) {
    const request =
      answered || (value.limits !== undefined && value.limits !== null)
        ? undefined
        : readRequest(value.request, baseUrl);
    return request ? ok({ request }) : err(sentence('told_limits.invalid'));
  }
  const limits = readLimits(value.limits);
  return limits
    ? ok({ limits: Object.keys(limits).length === 0 ? null : limits })
    : err(sentence('told_limits.invalid'));
}

function readLimits(value: Json | undefined): ReportedLimits | undefined {
  const limit = readLimit(value);
  if (!limit || !isObject(value)) return undefined;
  const { models = {} } = value;
  if (!isObject(models) || Object.keys(models).length > MAX_MODELS) return undefined;
  const read = Object.entries(models).map(([name, own]) => [name, readLimit(own)] as const);
  if (read.some(([, own]) => own === undefined)) return undefined;
  const given = read.filter(([, own]) => own && Object.keys(own).length > 0) as [string, Limit][];
  return { ...limit, ...(given.length > 0 && { models: Object.fromEntries(given) }) };
}

function readLimit(value: Json | undefined): Limit | undefined {
  if (!isObject(value)) return undefined;
  const given = LIMIT_FIELDS.flatMap((field) => {
    const own = value[field];
    return own === undefined || own === null ? [] : [[field, own] as const];
  });
  const isFit = given.every(([, own]) => Number.isInteger(own) && Number(own) >= 1 && Number(own) <= HIGHEST_LIMIT);
  return isFit ? Object.fromEntries(given) : undefined;
}
