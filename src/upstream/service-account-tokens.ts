import { importPKCS8, SignJWT } from 'jose';
import {
  type Clock,
  err,
  isObject,
  isOver,
  ok,
  parseJson,
  type ReportCacheSize,
  type Result,
  type Sentence,
  sanitizeMessage,
  sentence,
  sha256Hex,
  toSentence,
} from '../kernel/index.ts';
import { isFieldValue } from './check-request.ts';
import { openProvider } from './provider-requests.ts';
import type { ProxyServer } from './proxies.ts';
import type { Upstream } from './types.ts';

export type ServiceAccountToken = {
  /** Without "Bearer". */
  token: string;
  /** "" when the account names none. */
  projectId: string;
};

/**
 * Exchanges service-account keys for access tokens with the JWT bearer grant (RFC 7523), once for
 * all concurrent callers.
 */
export interface ServiceAccountTokens {
  /**
   * `key` is the account's JSON as its vendor issues it. Only the host of `labAddress` may be
   * private and may be called without TLS. An error is safe to show: it holds nothing of the key.
   */
  get(key: string, labAddress: string, proxy?: ProxyServer | null): Promise<Result<ServiceAccountToken, Sentence>>;
  /** The vendor refused the token: the next `get` requests a new one, at most once a minute. */
  refused(key: string, labAddress: string): void;
}

/** Google's token endpoint, for keys that name none. */
const DEFAULT_TOKEN_URI = 'https://oauth2.googleapis.com/token';
/** The scope of Google Cloud's service APIs (Vertex AI requires it). */
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/**
 * The longest life of an assertion and, if the answer states none, of a token (Google's
 * documentation).
 */
const HOUR_SECONDS = 3600;
const HOUR_MS = HOUR_SECONDS * 1000;
/**
 * A token is replaced this long before it expires, so that it stays valid for a request that starts
 * now.
 */
const MARGIN_MS = 5 * 60_000;
/** A failed exchange is not retried for this long, however many tasks wait for it. */
const REST_AFTER_FAILURE_MS = 10_000;
/**
 * A refused token is not replaced sooner than this, so that a vendor that refuses every token does
 * not cause one exchange per request.
 */
const REPLACE_AFTER_MS = 60_000;
/** The most cached tokens. Beyond it the least recently used one is evicted. */
const MAX_KEYS = 500;

type Account = { email: string; privateKey: string; keyId: string | undefined; projectId: string; tokenUri: string };
type Entry = {
  known?: { value: ServiceAccountToken; sinceMs: number; endsAtMs: number };
  failed?: { error: Sentence; untilMs: number };
  asking?: Promise<Result<ServiceAccountToken, Sentence>>;
};

/** `proxy`: null for none; undefined for the gateway's. */
type Wanted = { key: string; labAddress: string; proxy: ProxyServer | null | undefined };

type Deps = { upstream: Upstream; clock: Clock; reportCacheSize?: ReportCacheSize };

export function createServiceAccountTokens({ upstream, clock, reportCacheSize }: Deps): ServiceAccountTokens {
  const entries = new Map<string, Entry>();
  reportCacheSize?.('service_account_tokens', () => entries.size);

  /** The entry of a key, moved to the end of the eviction order. */
  function findEntry(id: string): Entry {
    const entry = entries.get(id) ?? {};
    entries.delete(id);
    entries.set(id, entry);
    const [oldest] = entries.keys();
    if (entries.size > MAX_KEYS && oldest !== undefined) entries.delete(oldest);
    return entry;
  }

  async function renew(
    entry: Entry,
    { key, labAddress, proxy }: Wanted,
  ): Promise<Result<ServiceAccountToken, Sentence>> {
    const answer = await exchange({ key, labAddress, proxy });
    const now = clock.nowMs();
    if (answer.ok) {
      const { lifeSeconds, ...value } = answer.value;
      entry.known = { value, sinceMs: now, endsAtMs: now + lifeSeconds * 1000 };
      delete entry.failed;
      return ok(value);
    }
    entry.failed = { error: answer.error, untilMs: now + REST_AFTER_FAILURE_MS };
    // A failed renewal does not matter while the current token is valid.
    return entry.known && isAhead(entry.known.endsAtMs, now, HOUR_MS) ? ok(entry.known.value) : answer;
  }

  async function exchange({
    key,
    labAddress,
    proxy,
  }: Wanted): Promise<Result<ServiceAccountToken & { lifeSeconds: number }, Sentence>> {
    const account = readAccount(key, labAddress);
    if (!account.ok) return account;
    const assertion = await signAssertion(account.value, Math.floor(clock.nowMs() / 1000));
    if (assertion === undefined) return err(sentence('upstream.account_key'));
    const request: Upstream['request'] = (asked) => upstream.request(proxy === undefined ? asked : { ...asked, proxy });
    const ask = openProvider({ ...upstream, request }, [labAddress]);
    const answer = await ask({
      url: account.value.tokenUri,
      body: { form: { grant_type: GRANT, assertion } },
    });
    if (!answer.ok) return err(sentence('upstream.token_silent', { fault: toSentence(answer.error) }));
    const { status, text } = answer.value;
    const body = parseJson(text);
    const fields = isObject(body) ? body : {};
    if (status !== 200) return err(sentence('upstream.token_status', { words: `${status}${readDetail(fields)}` }));
    const { access_token: token, expires_in: life } = fields;
    if (typeof token !== 'string' || token === '' || !isFieldValue(token))
      return err(sentence('upstream.token_missing'));
    const lifeSeconds = typeof life === 'number' && life > 0 ? Math.min(life, HOUR_SECONDS) : HOUR_SECONDS;
    return ok({ token, projectId: account.value.projectId, lifeSeconds });
  }

  return {
    async get(key, labAddress, proxy) {
      const entry = findEntry(toId(key, labAddress));
      const now = clock.nowMs();
      const { known, failed } = entry;
      const isValid = known && isAhead(known.endsAtMs, now, HOUR_MS);
      if (isValid && known.endsAtMs - MARGIN_MS > now) return ok(known.value);
      if (failed && isAhead(failed.untilMs, now, REST_AFTER_FAILURE_MS))
        return isValid ? ok(known.value) : err(failed.error);
      entry.asking ??= renew(entry, { key, labAddress, proxy }).finally(() => {
        delete entry.asking;
      });
      return entry.asking;
    },
    refused(key, labAddress) {
      const entry = entries.get(toId(key, labAddress));
      if (entry?.known && !isAhead(entry.known.sinceMs + REPLACE_AFTER_MS, clock.nowMs(), REPLACE_AFTER_MS))
        delete entry.known;
    },
  };
}

/** In milliseconds, as the kernel has it in seconds: a clock that was set back extends nothing. */
const isAhead = (deadlineMs: number, nowMs: number, longestMs: number): boolean =>
  !isOver(deadlineMs / 1000, { now: nowMs / 1000, longest: longestMs / 1000 });

/** The cache key; the account's key itself is not stored. */
const toId = (key: string, labAddress: string): string => sha256Hex(`${labAddress}\n${key}`);

/** Parses a key, or says what is wrong with it. */
function readAccount(key: string, labAddress: string): Result<Account, Sentence> {
  const account = parseJson(key);
  const wrong = (why: Sentence) => err(sentence('upstream.account_invalid', { fault: why }));
  if (!isObject(account)) return wrong(sentence('upstream.account_json'));
  const { client_email: email, private_key: privateKey, private_key_id: keyId, project_id: projectId } = account;
  const { token_uri: tokenUri = DEFAULT_TOKEN_URI } = account;
  if (typeof email !== 'string' || email === '') return wrong(sentence('upstream.account_email'));
  if (typeof privateKey !== 'string' || privateKey === '') return wrong(sentence('upstream.account_private'));
  if (typeof tokenUri !== 'string' || !isTokenUri(tokenUri, labAddress)) return wrong(sentence('upstream.account_uri'));
  return ok({
    email,
    privateKey,
    keyId: typeof keyId === 'string' && keyId !== '' ? keyId : undefined,
    projectId: typeof projectId === 'string' ? projectId : '',
    tokenUri,
  });
}

/**
 * The assertion can be exchanged for a token, so it goes over TLS only, or to the host that the
 * administrator configured as the vendor.
 */
function isTokenUri(text: string, labAddress: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && URL.canParse(labAddress) && url.host === new URL(labAddress).host;
}

/** The signed assertion; `undefined` when the private key is invalid. */
async function signAssertion(account: Account, now: number): Promise<string | undefined> {
  try {
    const privateKey = await importPKCS8(account.privateKey, 'RS256');
    return await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(account.keyId === undefined ? {} : { kid: account.keyId }) })
      .setIssuer(account.email)
      .setSubject(account.email)
      .setAudience(account.tokenUri)
      .setIssuedAt(now)
      .setExpirationTime(now + HOUR_SECONDS)
      .sign(privateKey);
  } catch {
    return undefined;
  }
}

/** OAuth's error fields (RFC 6749 5.2), if the answer has them. */
function readDetail({ error, error_description: description }: Record<string, unknown>): string {
  const parts = [error, description].filter((part): part is string => typeof part === 'string' && part !== '');
  return parts.length === 0 ? '' : ` (${sanitizeMessage(parts.join(': ')).slice(0, 200)})`;
}
