import { type AppError, type Sentence, sentence } from '../../kernel/index.ts';
import type { CallProvider } from '../../upstream/index.ts';
import { authErrors } from '../errors.ts';

/** The parameters of an authorization request that are the same for every provider. */
export type CodeRequest = {
  redirectUri: string;
  state: string;
  /** PKCE, S256. */
  codeChallenge: string;
  nonce: string;
};

/** The parameters that came back to `redirectUri`, and the secrets of the request. */
export type CodeAnswer = {
  code: string;
  state: string;
  /** RFC 9207: the issuer that the answer names, if any. */
  iss: string | undefined;
  redirectUri: string;
  codeVerifier: string;
  nonce: string;
};

export type ExternalIdentity = {
  /** The provider's permanent id of the user. */
  subject: string;
  /** The names that the provider gives; empty: none. */
  username: string;
  displayName: string;
  /** Empty unless the provider says that it is verified. */
  email: string;
};

/**
 * An enabled provider under the present configuration. Both methods reject with
 * `auth.provider_failed` when the provider or its configuration is at fault, and `identify` with
 * `auth.access_denied` for a person whom the access policy does not admit.
 */
export type IdentityProvider = {
  /** Its name in URLs and in identities. */
  slug: string;
  name: string;
  /** The address to send the browser to. */
  authorizationUrl(request: CodeRequest): Promise<string>;
  identify(answer: CodeAnswer): Promise<ExternalIdentity>;
};

/**
 * Gives the function that sends requests to a provider. Hosts of the `configured` addresses, which
 * an administrator entered, may be private.
 */
export type OpenProvider = (configured: readonly string[]) => CallProvider;

/** `message` goes to the caller, so it must contain no address and no credential. */
export const providerFailed = (message: Sentence, cause?: unknown): AppError =>
  authErrors.provider_failed({ message, ...(cause === undefined ? {} : { cause }) });

/** The width of the identity's column. */
const MAX_SUBJECT = 128;
// biome-ignore lint/suspicious/noControlCharactersInRegex: this rejects them
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * A provider's id of a person as text.
 *
 * @throws `auth.provider_failed` for an invalid id.
 */
export function readSubject(value: unknown): string {
  const subject = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  // The database replaces half characters, so that two ids with one would be the same person.
  const isId =
    typeof subject === 'string' &&
    subject.trim() !== '' &&
    subject.length <= MAX_SUBJECT &&
    subject.isWellFormed() &&
    !CONTROL.test(subject);
  if (!isId) throw providerFailed(sentence('oauth.who'));
  return subject;
}

/** A name or an address in a profile; empty for anything that is not text. */
export const readText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');
