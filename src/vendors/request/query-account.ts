import type { VendorAccount } from '../../channels/index.ts';
import { deadlineSignal, err, type Json, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import {
  type AccountRequest,
  type ReportedLimits,
  readBalanceAmount,
  readBalanceRequest,
  readCapacityAnswer,
} from '../../plugins/index.ts';
import type { VendorDeps } from '../types.ts';
import { CONNECT_TIMEOUT_MS, vendorHosts } from './build-upstream-request.ts';

const MAX_ANSWER_BYTES = 256 * 1024;
const REQUEST_MS = 10_000;

export type AccountHook = 'buildBalanceRequest' | 'parseBalanceResponse' | 'queryCapacity';
/** Runs a hook of a channel's script or of its plugin, on the gateway's own behalf. */
export type RunAccountHook = (
  hook: AccountHook,
  args: readonly unknown[],
) => Promise<Result<Json | undefined, unknown>>;

type Deps = Pick<VendorDeps, 'channels' | 'clock' | 'send'>;
type Asking = { runHook: RunAccountHook; signal: AbortSignal };
type Answer = { statusCode: number; headers: Record<string, string>; body: string };

/**
 * Asks a vendor what is left of an account, in US dollars. No error says what the hooks or the
 * vendor said, for both may quote the key.
 */
export async function readBalance(
  deps: Deps,
  account: VendorAccount,
  asking: Asking,
): Promise<Result<number, Sentence>> {
  const failed = (hook: AccountHook) => err(sentence('balance.hook_failed', { hook }));
  const ctx = makeContext(deps, account);
  const built = await asking.runHook('buildBalanceRequest', [ctx]);
  if (!built.ok) return failed('buildBalanceRequest');
  const request = readBalanceRequest(built.value, account.channel.baseUrl);
  if (!request.ok) return request;
  const asked = await ask(deps, account, { request: request.value, signal: asking.signal });
  if (asked === undefined) return err(sentence('balance.vendor_silent'));
  if (!isSuccess(asked)) return err(sentence('balance.vendor_answered', { status: asked.statusCode }));
  const parsed = await asking.runHook('parseBalanceResponse', [ctx, asked]);
  return parsed.ok ? readBalanceAmount(parsed.value) : failed('parseBalanceResponse');
}

/** Asks a vendor what it lets an account run; null: it does not tell. Its errors are as above. */
export async function readReportedLimits(
  deps: Deps,
  account: VendorAccount,
  { runHook, signal }: Asking,
): Promise<Result<ReportedLimits | null, Sentence>> {
  const ctx = makeContext(deps, account);
  const rules = { baseUrl: account.channel.baseUrl };
  const built = await runHook('queryCapacity', [ctx]);
  if (!built.ok) return err(sentence('told_limits.hook_failed'));
  const first = readCapacityAnswer(built.value, { ...rules, answered: false });
  if (!first.ok) return first;
  if ('limits' in first.value) return ok(first.value.limits);
  const asked = await ask(deps, account, { request: first.value.request, signal });
  if (asked === undefined) return err(sentence('told_limits.vendor_silent'));
  if (!isSuccess(asked)) return err(sentence('told_limits.vendor_answered', { status: asked.statusCode }));
  const parsed = await runHook('queryCapacity', [{ ...ctx, response: asked }]);
  if (!parsed.ok) return err(sentence('told_limits.hook_failed'));
  const second = readCapacityAnswer(parsed.value, { ...rules, answered: true });
  return second.ok && 'limits' in second.value ? ok(second.value.limits) : err(sentence('told_limits.invalid'));
}

const isSuccess = ({ statusCode }: Answer): boolean => statusCode >= 200 && statusCode <= 299;

const makeContext = ({ channels, clock }: Deps, account: VendorAccount) => {
  const { id, name, type, baseUrl } = account.channel;
  return { channel: { id, name, type, baseUrl, apiKey: channels.key(account) }, now: clock.nowMs() };
};

/**
 * One request to the channel's own origin, which follows no redirect. Undefined: there was no
 * answer.
 */
async function ask(
  { clock, send }: Deps,
  { channel }: VendorAccount,
  { request, signal }: { request: AccountRequest; signal: AbortSignal },
): Promise<Answer | undefined> {
  const { body } = request;
  const deadline = deadlineSignal(clock, REQUEST_MS, signal);
  try {
    const sent = await send(channel, {
      ...request,
      body: body === '' ? { kind: 'none' } : { kind: 'text', text: body },
      privateHosts: vendorHosts(channel),
      isKnownHost: () => true,
      maxRedirects: 0,
      mayRepeat: false,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      headersTimeoutMs: REQUEST_MS,
      idleTimeoutMs: REQUEST_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
      signal: deadline.signal,
    });
    const text = sent.ok ? await sent.value.text() : sent;
    if (!sent.ok || !text.ok) return undefined;
    const { status: statusCode, headers: given } = sent.value;
    const headers = Object.fromEntries(Object.entries(given).map(([field, values]) => [field, values.join(', ')]));
    return { statusCode, headers, body: text.value };
  } finally {
    deadline.end();
  }
}
