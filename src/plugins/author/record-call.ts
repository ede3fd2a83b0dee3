import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, jsonBytes } from '../../kernel/index.ts';
import type { HookCall } from '../types.ts';
import type { Fixture, FixtureCase } from './fixture-file.ts';
import type { OpenPlugin } from './open-plugin.ts';
import { repeat } from './run-fixture.ts';

/**
 * `case`: the call as a case of the fixture. `note`: for the author, such as why there is no case.
 */
export type Recording = { case?: { [key: string]: Json }; note?: string };

/** Most cases of one hook, and most with the same result, because polls repeat themselves. */
const MAX_CASES_PER_HOOK = 20;
const MAX_SAME_RESULT = 3;
/** How the names of recorded cases begin. */
const RECORDED = 'recorded: ';
type RecordInput = {
  fixture: Fixture;
  call: Pick<HookCall, 'hook' | 'args' | 'outcome'>;
  channelKey: string;
};
/** People read cases, so calls that carry images are not recorded. */
const MAX_CASE_BYTES = 64 * 1024;

/**
 * Makes a case of a real call. Credentials in the arguments are redacted first. The case expects
 * the hook's result for the redacted arguments, so it passes everywhere. Without the fixture's
 * `unixNow`, a result that depends on the clock or on randomness is left out.
 */
export async function recordCall(plugin: OpenPlugin, { fixture, call, channelKey }: RecordInput): Promise<Recording> {
  const [hook = '', ...rest] = call.hook.split('.');
  const members = hook === 'native' && rest.length > 0 ? [rest.join('.')] : rest;
  const path = [hook, ...members];
  const placeholder = toPlaceholder(channelKey);
  const args = call.args.map((value) => insertPlaceholder(cleanExchange(value), placeholder));
  const earlier = fixture.cases.filter((one) => isDeepStrictEqual(one.path, path));
  if (earlier.some((one) => isDeepStrictEqual(one.args, args))) return {};
  if (earlier.length >= MAX_CASES_PER_HOOK) return {};
  if (jsonBytes(args) > MAX_CASE_BYTES) {
    return { note: `${call.hook} not recorded: its arguments are longer than ${MAX_CASE_BYTES / 1024} KiB` };
  }
  const base = {
    name: nextName(call.hook, fixture.cases),
    hook,
    ...(members.length > 0 ? { path: members } : {}),
    args,
  };

  const again = await plugin.call(path, args, fixture.unixNow);
  if (!again.ok) {
    if (again.error.kind === 'invalid_result') {
      return { note: `${call.hook} not recorded: the gateway refuses its result: ${again.error.message}` };
    }
    const isThrow = again.error.kind === 'thrown';
    if (!isThrow || call.outcome.ok) return { note: `${call.hook} not recorded: it fails without credentials` };
    return { case: { ...base, expectedError: again.error.message } };
  }
  if (!call.outcome.ok) return { note: `${call.hook} not recorded: it failed, but no longer does` };
  const result = await repeat(plugin, fixture, { path, args });
  if (!result.repeatable) {
    return { case: base, note: `${call.hook} recorded without "expected": its result differs each time` };
  }
  const same = earlier.filter((one) => one.expected !== undefined && isDeepStrictEqual(one.expected, result.value));
  return same.length >= MAX_SAME_RESULT ? {} : { case: { ...base, expected: result.value } };
}

/** Whether `recordCall` made a case, and not its author. */
export const isRecorded = (name: string): boolean => name.startsWith(RECORDED);

function nextName(hook: string, cases: readonly FixtureCase[]): string {
  const names = new Set(cases.map(({ name }) => name));
  for (let number = 1; ; number++) {
    const name = `${RECORDED}${hook} ${number}`;
    if (!names.has(name)) return name;
  }
}

const REDACTED = '[redacted]';

/**
 * Names of members and headers whose text is a credential. Numbers are not redacted, because of
 * `total_tokens`.
 */
const SECRET_NAME =
  /^(?:proxy-)?authorization$|cookie|^auth_?header$|(?:api|access|private|subscription)[-_]?key|secret|passw|credential|^sign?$|signature|session[-_]?id|tokens?$/i;
/**
 * Parameters of signed URLs: `X-Amz-Signature=…`, `sig=…`, `access_token=…`, `key=…`.
 */
const PARAMETER = /([?&]([^=?&#\s"']*)=)[^&#\s"'<>]+/g;
const SECRET_PARAMETER = /token|sign|sig|secret|key|credential|auth|policy|passw|access|expires/i;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]{4,}/g;
const JWT = /(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g;
const API_KEY = /\bsk-[\w-]{16,}/g;

const cleanText = (text: string): string =>
  text
    .replace(PARAMETER, (whole, start: string, name: string) =>
      SECRET_PARAMETER.test(name) ? start + REDACTED : whole,
    )
    .replace(BEARER, `$1 ${REDACTED}`)
    .replace(JWT, REDACTED)
    .replace(API_KEY, REDACTED);

const redactTexts = (value: Json): Json => {
  if (typeof value === 'string') return value === '' ? '' : REDACTED;
  return Array.isArray(value) ? value.map(redactTexts) : value;
};

/**
 * A copy of a hook's argument or result, with everything redacted that looks like a credential: by
 * the name of its member or header, by its parameter in a URL, by its form. The channel's own key
 * has been redacted before, by its value.
 */
export function cleanExchange(value: Json): Json {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanExchange);
  if (!isObject(value)) return value;
  const members = Object.entries(value as { [key: string]: Json }).map(([name, member]): [string, Json] => [
    name,
    SECRET_NAME.test(name) ? cleanSecret(member) : cleanExchange(member),
  ]);
  return Object.fromEntries(members);
}

/** An authorization keeps its scheme, because the plugin's format depends on it. */
function cleanSecret(value: Json): Json {
  const scheme = typeof value === 'string' ? /^(?:Bearer|Basic)(?= )/.exec(value)?.[0] : undefined;
  if (scheme !== undefined) return `${scheme} ${REDACTED}`;
  return isObject(value) ? cleanExchange(value as Json) : redactTexts(value);
}

/** A placeholder for a channel's key, with the same parts: `ak|sk` becomes `redacted|redacted`. */
const toPlaceholder = (key: string): string => key.replace(/[^|:;,\s]+/g, 'redacted');

/**
 * Puts the placeholder where the channel's key was redacted in a context, so that a hook can split
 * it like the real one.
 */
function insertPlaceholder(value: Json, placeholder: string): Json {
  if (!isObject(value)) return value;
  const members = Object.entries(value as { [key: string]: Json }).map(([name, member]): [string, Json] => [
    name,
    (name === 'apiKey' || name === 'authHeader') && member === REDACTED ? placeholder : member,
  ]);
  return Object.fromEntries(members);
}
