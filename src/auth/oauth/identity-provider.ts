import type { AppError } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import { authErrors } from '../errors.ts';

/** What the authorization request carries besides the provider's own. */
export type CodeRequest = {
  redirectUri: string;
  state: string;
  /** PKCE, S256. */
  codeChallenge: string;
  nonce: string;
};

/** What came back to `redirectUri`, and what only this server knows of the request it answers. */
export type CodeAnswer = {
  code: string;
  state: string;
  /** RFC 9207: who says that it answers; undefined: it does not say. */
  iss: string | undefined;
  redirectUri: string;
  codeVerifier: string;
  nonce: string;
};

export type ExternalIdentity = {
  /** What the provider calls its user for good. */
  subject: string;
  /** Names as the provider has them, empty where it has none. */
  username: string;
  displayName: string;
  /** Empty unless the provider says that it is verified. */
  email: string;
};

/**
 * A provider that is switched on, as it is configured now. Both methods reject with
 * `auth.provider_failed` for whatever the provider or its configuration does wrong, and `identify`
 * with `auth.access_denied` for a person whom the rules do not admit.
 */
export type IdentityProvider = {
  /** Its name in paths and in identities. */
  slug: string;
  name: string;
  /** The address to send the browser to. */
  authorizationUrl(request: CodeRequest): Promise<string>;
  identify(answer: CodeAnswer): Promise<ExternalIdentity>;
};

/**
 * Begins a conversation with a provider; `configured` are the addresses that an administrator wrote
 * down.
 */
export type OpenProvider = (configured: readonly string[]) => CallProvider;

/** The provider did not do its part. `message` goes to the caller: no address, no credential. */
export const providerFailed = (message: string, cause?: unknown): AppError =>
  authErrors.provider_failed({ message, ...(cause === undefined ? {} : { cause }) });

/** As wide as the identity's column. */
const MAX_SUBJECT = 128;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * A provider's id of a person as text. Rejects with `auth.provider_failed` for what can be none.
 */
export function readSubject(value: unknown): string {
  const subject = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof subject !== 'string' || subject.trim() === '' || subject.length > MAX_SUBJECT || CONTROL.test(subject)) {
    throw providerFailed('The provider does not say who signed in.');
  }
  return subject;
}

/** A name or an address in a profile; empty for everything else. */
export const readText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');
