/** What people sign in with: flows and codes, second factors, passkeys, identities. */
import type { JsonObject } from '../../kernel/index.ts';

export type FlowPurpose =
  | 'oauth'
  | '2fa_login'
  | 'passkey_login'
  | 'passkey_register'
  | 'passkey_step_up'
  | 'telegram_bind'
  | 'telegram_assertion'
  | 'wechat_login'
  | 'email_verify'
  | 'email_bind'
  | 'password_reset';

/** A temporary authentication flow. A binding that it does not have is empty, or 0. */
export type FlowRecord = {
  /** Hex HMAC-SHA256 of the flow token. */
  tokenHash: string;
  purpose: FlowPurpose;
  provider: string;
  intent: string;
  userId: number;
  sessionId: string;
  payload: JsonObject;
  createdAt: number;
  expiresAt: number;
  /** null: not used yet. A flow can be used once. */
  consumedAt: number | null;
};

/** Bindings that a flow must have to be used. Each one given must be equal. */
export type FlowMatch = Pick<FlowRecord, 'purpose'> &
  Partial<Pick<FlowRecord, 'provider' | 'intent' | 'userId' | 'sessionId'>>;

/**
 * A flow that is used with a code. Its token is derived from the address and no secret; the code is
 * the secret.
 */
export type NewCode = Omit<FlowRecord, 'consumedAt'> & {
  /** Hex HMAC-SHA256 of the code that was sent; never empty. */
  secretHash: string;
};

/** What identifies a flow. */
export type FlowToken = Pick<FlowRecord, 'tokenHash' | 'purpose'>;

/** The hashes that the sent code may have, one for each secret in use. */
export type CodeCandidates = { secretHashes: readonly string[]; now: number };

export interface FlowStore {
  /** False when the token exists: a signed assertion was replayed. */
  insert(flow: FlowRecord): Promise<boolean>;
  /** An unused, unexpired flow that matches and has no code. */
  find(tokenHash: string, match: FlowMatch, now: number): Promise<FlowRecord | undefined>;
  /**
   * Marks such a flow used in one statement with the same conditions. Only one of several
   * concurrent callers gets the flow.
   */
  consume(tokenHash: string, match: FlowMatch, now: number): Promise<FlowRecord | undefined>;
  /** Writes a flow with a code, unused and untried; replaces the one of the same token. */
  putCode(code: NewCode): Promise<void>;
  /**
   * Counts a try in one statement, before the code is checked, and returns the number of tries.
   * `undefined` when the flow is unknown, expired, used, or was tried `limit` times. Must be
   * committed before `takeCode`: never call both in one transaction.
   */
  countTry(flow: FlowToken & { limit: number; now: number }): Promise<number | undefined>;
  /** An unused, unexpired flow whose code is among the candidates. Does not mark it used. */
  findCode(flow: FlowToken & CodeCandidates): Promise<FlowRecord | undefined>;
  /**
   * Marks a flow with a code used in one statement, if its code is among the candidates. Only one
   * of several concurrent callers gets it. Tries are not checked here: `countTry` did that.
   */
  takeCode(flow: FlowToken & CodeCandidates): Promise<FlowRecord | undefined>;
  /** Deletes all flows bound to a user; returns their number. */
  deleteOfUser(userId: number): Promise<number>;
  /**
   * Deletes at most `limit` flows that expired or were used at or before `until`; returns their
   * number.
   */
  deleteDone(until: number, limit: number): Promise<number>;
}

/** A user's authenticator app. */
export type TwoFactorRecord = {
  userId: number;
  /** The shared secret in base32, sealed with CRYPTO_SECRET. */
  secretSealed: string;
  /** False: set up but not confirmed yet. */
  enabled: boolean;
  /** The last time step whose code was used. Codes of this step and earlier ones are refused. */
  lastStep: number;
  /** Attempts since the last right code. An attempt is counted before its code is checked. */
  failures: number;
  /** Unix seconds until which every code is refused unchecked; 0: not locked. */
  lockedUntil: number;
  /** When it was enabled; before that, when the set-up began. */
  createdAt: number;
};

export interface TwoFactorStore {
  byUser(userId: number): Promise<TwoFactorRecord | undefined>;
  /**
   * Enabled authenticator apps of users whose id is above `userId`, in order of id; at most
   * `limit`.
   */
  enabledAfter(userId: number, limit: number): Promise<{ userId: number; secretSealed: string }[]>;
  /**
   * Begins a set-up; replaces one that was not confirmed. False when the user's two-factor is
   * enabled.
   */
  begin(setup: { userId: number; secretSealed: string; createdAt: number }): Promise<boolean>;
  /** Enables a set-up that is pending under exactly this secret; `at` becomes its `createdAt`. */
  enable(userId: number, secretSealed: string, at: number): Promise<boolean>;
  /** Deletes the authenticator app and all backup codes. False when there was none. */
  delete(userId: number): Promise<boolean>;
  /**
   * Counts an attempt in one statement, before its code is checked; `undefined` while locked. The
   * attempt that reaches `limit` locks until `now + lockSeconds`, and so does every later one until
   * a right code. A lock further ahead than that was set by a clock that was ahead, and is over.
   */
  countAttempt(userId: number, lock: { now: number; limit: number; lockSeconds: number }): Promise<number | undefined>;
  /**
   * Marks a time step used and clears the attempts. False when this step or a later one was used,
   * unless the clock was ahead then.
   */
  useStep(userId: number, step: number): Promise<boolean>;
  /**
   * Takes one counted attempt back, and the lock that it may have set. For a right code, and for
   * one that was not checked.
   */
  giveBackAttempt(userId: number): Promise<void>;
  clearAttempts(userId: number): Promise<void>;
  /** Replaces all backup codes of the user. */
  replaceBackupCodes(userId: number, hashes: readonly string[], createdAt: number): Promise<void>;
  /**
   * Marks one unused backup code among the candidates used (one candidate for each secret in use).
   * False when there is none.
   */
  useBackupCode(userId: number, candidateHashes: readonly string[], now: number): Promise<boolean>;
  countBackupCodes(userId: number): Promise<number>;
}

export type PasskeyRecord = {
  id: number;
  userId: number;
  /** base64url */
  credentialId: string;
  /** COSE key, base64url. */
  publicKey: string;
  /** The relying party it was created for. It cannot be used under another one. */
  rpId: string;
  name: string;
  /** The authenticator's signature counter. */
  counter: number;
  transports: string[];
  /** Whether it is synchronised between devices or bound to one. */
  backedUp: boolean;
  createdAt: number;
  /** 0: never. */
  lastUsedAt: number;
};

export type NewPasskey = Omit<PasskeyRecord, 'id' | 'lastUsedAt'>;

export interface PasskeyStore {
  /** `undefined` when this credential is already registered. */
  insert(passkey: NewPasskey): Promise<PasskeyRecord | undefined>;
  byCredentialId(credentialId: string): Promise<PasskeyRecord | undefined>;
  /** The oldest first. */
  list(userId: number): Promise<PasskeyRecord[]>;
  /**
   * Records a use in one statement that matches the counter as it was read. False when another use
   * came in between.
   */
  use(id: number, use: { expectedCounter: number; counter: number; backedUp: boolean; at: number }): Promise<boolean>;
  rename(id: number, userId: number, name: string): Promise<PasskeyRecord | undefined>;
  delete(id: number, userId: number): Promise<boolean>;
  /** Deletes all passkeys of a user; returns their number. */
  deleteAll(userId: number): Promise<number>;
}

/**
 * Who owns an identity: `subject` at `provider`. The provider is `telegram`, `github`, … or the
 * slug of a custom provider, at most 32 characters; the subject has at most 128. An email address
 * is an identity too, lower-cased, under the provider `email`.
 */
export type IdentityRecord = { provider: string; subject: string; userId: number; createdAt: number };

/**
 * `taken`: another user holds it. `user_has_one`: this user holds another identity of the provider.
 */
export type ClaimVerdict = 'ok' | 'taken' | 'user_has_one';

export interface IdentityStore {
  /**
   * Decides in one statement who owns an identity. An identity has one owner; a user has one
   * identity per provider. `ok` if the user already holds it. `taken` if the user was deleted.
   */
  claim(identity: IdentityRecord): Promise<ClaimVerdict>;
  owner(provider: string, subject: string): Promise<IdentityRecord | undefined>;
  /** False when the user had no identity of this provider. */
  release(userId: number, provider: string): Promise<boolean>;
  /** Returns the number of released identities. */
  releaseAll(userId: number): Promise<number>;
  /** Users who have an identity of this provider. */
  countProvider(provider: string): Promise<number>;
  /** In order of provider. */
  list(userId: number): Promise<IdentityRecord[]>;
}

/**
 * How the client authenticates to a custom provider: 0 as the endpoint accepts it, 1 in the body, 2
 * with HTTP Basic.
 */
export type OAuthAuthStyle = 0 | 1 | 2;

export const AUTH_STYLE = { auto: 0, body: 1, basic: 2 } as const satisfies Record<string, OAuthAuthStyle>;

/**
 * A custom OAuth2 provider. Endpoints are URLs. The `…Field` members are dotted paths in the
 * response of the user info endpoint.
 */
export type OAuthProviderRecord = {
  id: number;
  /**
   * Its permanent name in paths and identities. At most 26 characters, so that `oauth:<slug>` fits
   * a session's sign-in method.
   */
  slug: string;
  name: string;
  icon: string;
  enabled: boolean;
  clientId: string;
  /** Sealed with CRYPTO_SECRET; empty: none. */
  clientSecretSealed: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  userInfoEndpoint: string;
  /** The discovery URL that the endpoints came from; empty: they were entered by hand. */
  wellKnown: string;
  /** Separated by spaces. */
  scopes: string;
  userIdField: string;
  usernameField: string;
  displayNameField: string;
  emailField: string;
  authStyle: OAuthAuthStyle;
  /** Who may sign in, as JSON text; empty: everyone. */
  accessPolicy: string;
  accessDeniedMessage: string;
  createdAt: number;
  updatedAt: number;
};

export type NewOAuthProvider = Omit<OAuthProviderRecord, 'id'>;

export interface OAuthProviderStore {
  /** In order of id; there are only a few. */
  all(): Promise<OAuthProviderRecord[]>;
  bySlug(slug: string): Promise<OAuthProviderRecord | undefined>;
  /** Only in a transaction: locks the provider's row until it ends. */
  lock(id: number): Promise<OAuthProviderRecord | undefined>;
  /** `undefined` when the slug is taken. */
  insert(provider: NewOAuthProvider): Promise<OAuthProviderRecord | undefined>;
  update(
    id: number,
    change: Partial<Omit<OAuthProviderRecord, 'id' | 'slug' | 'createdAt'>>,
  ): Promise<OAuthProviderRecord | undefined>;
  /** False while users have identities of it, or when it does not exist. */
  delete(id: number): Promise<boolean>;
}
