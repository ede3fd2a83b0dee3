import {
  type AppError,
  constantTimeEqual,
  err,
  hmacSha256Hex,
  ok,
  type Result,
  sentence,
  sha256Hex,
} from '../../kernel/index.ts';
import { STATUS, type Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { bindIdentity, requireUnbound } from '../oauth/bind-identity.ts';
import { type PanelPrincipal, type RequestOrigin, requireSession, type SessionPrincipal } from '../principals.ts';
import { rememberSession } from '../sessions/check-session.ts';
import { completeSignIn, type SignInDeps, type SignInResult } from '../sessions/complete-sign-in.ts';
import type { SignInAttempt } from '../sessions/record-sign-ins.ts';
import type { Flows, FlowTicket } from '../tokens/flows.ts';

/** Dependencies of the operations in this file. */
type Deps = SignInDeps & {
  settings: () => AuthSettings;
};

export type TelegramSignIn = {
  /** The widget's parameters, unchanged. */
  query: URLSearchParams;
  origin: RequestOrigin;
};

/**
 * Signs in with an assertion that Telegram's widget signed. Never creates an account.
 *
 * @throws `auth.method_disabled`; `auth.invalid_credentials` alike for anything but a fresh
 * assertion of our bot; `auth.identity_unbound`; `auth.user_disabled`; `auth.assertion_replayed`; a
 * limit of session issuance, which leaves the assertion unused.
 */
export const signInWithTelegram = (ctx: Deps, signIn: TelegramSignIn): Promise<SignInResult> =>
  ctx.signIns.watch({ method: TELEGRAM, origin: signIn.origin }, (attempt) => checkAndComplete(ctx, signIn, attempt));

async function checkAndComplete(
  ctx: Deps,
  { query, origin }: TelegramSignIn,
  attempt: SignInAttempt,
): Promise<SignInResult> {
  const { store, clock, settings, flows } = ctx;
  const { botToken } = requireTelegram(settings());
  const read = readAssertion(query, botToken, clock.unix());
  if (!read.ok) throw refused(read.error);
  const { subject, text, expiresAt } = read.value;
  attempt.identity = `${TELEGRAM}:${subject}`;
  const owner = await store.identities.owner(TELEGRAM, subject);
  if (!owner) throw authErrors.identity_unbound();
  const user = await store.users.byId(owner.userId);
  if (user?.status !== STATUS.enabled) throw authErrors.user_disabled();

  return completeSignIn(ctx, {
    proven: user,
    method: TELEGRAM,
    origin,
    twoFactors: false,
    async within(tx) {
      await flows.claimAssertion(tx, { provider: TELEGRAM, text, expiresAt });
      if ((await tx.identities.owner(TELEGRAM, subject))?.userId !== user.id) throw authErrors.identity_unbound();
    },
  });
}

const refused = (cause: string): AppError =>
  authErrors.invalid_credentials({ message: sentence('auth.telegram_refused'), cause });

export type TelegramBinding = { flowToken: string; query: URLSearchParams; origin: RequestOrigin };

/**
 * Begins the binding of a Telegram account. The widget must return with the token within five
 * minutes.
 *
 * @throws `auth.method_disabled`, `auth.session_required`, or `auth.identity_taken` for an account
 * that has a Telegram identity already.
 */
export async function beginTelegramBinding(
  ctx: { store: Store; settings: () => AuthSettings; flows: Flows },
  principal: PanelPrincipal,
): Promise<FlowTicket> {
  const { store, settings, flows } = ctx;
  requireTelegram(settings());
  const session = requireSession(principal);
  const { user, sid } = session;
  await requireUnbound(store, user.id, TELEGRAM);
  const binding = { provider: TELEGRAM, intent: 'bind', userId: user.id, sessionId: sid };
  return flows.begin(store, { purpose: 'telegram_bind', binding, payload: rememberSession(session) });
}

/**
 * Handles the widget's return, a request without credentials: user and session come from the flow
 * and are checked again. Gives both, and the identity. A refusal leaves flow and assertion unused.
 * Only the browser that began gets here: `http/panel-api/sign-in/messengers.ts` checks its cookie.
 *
 * @throws `auth.method_disabled`; `auth.invalid_credentials` for anything but a fresh assertion of
 * our bot, before any lookup; `auth.flow_invalid`; `auth.assertion_replayed`; what `bindIdentity`
 * throws.
 */
export async function finishTelegramBinding(
  ctx: Pick<Deps, 'store' | 'clock' | 'logger' | 'config' | 'settings' | 'flows' | 'notifyOwner'>,
  { flowToken, query, origin }: TelegramBinding,
): Promise<{ principal: SessionPrincipal; subject: string }> {
  const { clock, settings, flows } = ctx;
  const { botToken } = requireTelegram(settings());
  const read = readAssertion(query, botToken, clock.unix());
  if (!read.ok) throw authErrors.invalid_credentials({ cause: read.error });
  const { subject, text, expiresAt } = read.value;
  const flow = {
    token: flowToken,
    purpose: 'telegram_bind',
    binding: { provider: TELEGRAM, intent: 'bind' },
  } as const;
  const principal = await bindIdentity(ctx, {
    provider: TELEGRAM,
    subject,
    origin,
    consume: (tx) => flows.consume(tx, flow),
    within: (tx) => flows.claimAssertion(tx, { provider: TELEGRAM, text, expiresAt }),
  });
  return { principal, subject };
}

/** The provider name of Telegram identities. */
const TELEGRAM = 'telegram';

/**
 * The bot of the login widget.
 *
 * @throws `auth.method_disabled` while Telegram is off or not set up.
 */
function requireTelegram({ providers }: AuthSettings): { botName: string; botToken: string } {
  if (!providers.telegram) throw authErrors.method_disabled();
  return providers.telegram;
}

/** A signed statement of Telegram's login widget. Only Telegram and the bot's owner can sign it. */
export type TelegramAssertion = {
  /** Telegram's user id, in decimal digits. */
  subject: string;
  /** The signed text: the same for every spelling of the query, so it identifies the assertion. */
  text: string;
  /** Unix seconds. */
  expiresAt: number;
};

/**
 * As in new-api: an assertion is valid for five minutes, and may come from a clock that is at most
 * two minutes ahead.
 */
const MAX_AGE_SECONDS = 300;
const MAX_AHEAD_SECONDS = 120;

/** Telegram sends seven parameters. */
const MAX_PARAMETERS = 16;
export const MAX_CHARACTERS = 4096;
const NAME = /^[a-z_]{1,32}$/;
const ID = /^[1-9]\d{0,18}$/;
const AUTH_DATE = /^\d{1,12}$/;
const HASH = /^[0-9a-f]{64}$/;

/**
 * Reads the widget's parameters and checks signature and age
 * (https://core.telegram.org/widgets/login). `now` is in Unix seconds. The error is for the log.
 */
export function readAssertion(
  query: URLSearchParams,
  botToken: string,
  now: number,
): Result<TelegramAssertion, string> {
  const fields = readFields(query);
  if (!fields) return err('a parameter is repeated, or is not one that Telegram sends');
  const { hash = '', id = '', auth_date: date = '' } = Object.fromEntries(fields);
  if (!HASH.test(hash) || !ID.test(id) || !AUTH_DATE.test(date))
    return err('id, auth_date or hash is missing or wrong');

  fields.delete('hash');
  const text = [...fields]
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('\n');
  const key = Buffer.from(sha256Hex(botToken), 'hex');
  if (!constantTimeEqual(hmacSha256Hex(key, text), hash)) return err('the signature is wrong');

  const authDate = Number(date);
  if (now - authDate > MAX_AGE_SECONDS) return err('the assertion is too old');
  if (authDate - now > MAX_AHEAD_SECONDS) return err('the assertion is from the future');
  return ok({ subject: id, text, expiresAt: authDate + MAX_AGE_SECONDS });
}

/**
 * The parameters by name. `undefined` when one is repeated, or when it could make two different
 * sets of parameters share one signed text.
 */
function readFields(query: URLSearchParams): Map<string, string> | undefined {
  const fields = new Map<string, string>();
  let characters = 0;
  for (const [name, value] of query) {
    characters += name.length + value.length;
    if (fields.size >= MAX_PARAMETERS || characters > MAX_CHARACTERS) return undefined;
    if (fields.has(name) || !NAME.test(name) || /[\0\n]/.test(value)) return undefined;
    fields.set(name, value);
  }
  return fields;
}
