import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../kernel/index.ts';
import type { HookCall } from '../types.ts';
import { cleanExchange, insertPlaceholder, placeholderOf } from './clean-exchange.ts';
import type { OpenPlugin } from './open-plugin.ts';
import type { Fixture, FixtureCase } from './read-fixture.ts';
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
  const placeholder = placeholderOf(channelKey);
  const args = call.args.map((value) => insertPlaceholder(cleanExchange(value), placeholder));
  const earlier = fixture.cases.filter((one) => isDeepStrictEqual(one.path, path));
  if (earlier.some((one) => isDeepStrictEqual(one.args, args))) return {};
  if (earlier.length >= MAX_CASES_PER_HOOK) return {};
  if (Buffer.byteLength(JSON.stringify(args)) > MAX_CASE_BYTES) {
    return { note: `${call.hook} not recorded: its arguments are longer than ${MAX_CASE_BYTES / 1024} KiB` };
  }
  const base = { name: nameOf(call.hook, fixture.cases), hook, ...(members.length > 0 ? { path: members } : {}), args };

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

function nameOf(hook: string, cases: readonly FixtureCase[]): string {
  const names = new Set(cases.map(({ name }) => name));
  for (let number = 1; ; number++) {
    const name = `${RECORDED}${hook} ${number}`;
    if (!names.has(name)) return name;
  }
}
