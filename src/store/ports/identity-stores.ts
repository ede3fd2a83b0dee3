/**
 * Owners of identities, and custom identity providers. `store.ts` states the rules for every
 * implementation.
 */
import type { IdentityRecord, OAuthProviderRecord } from './account-records.ts';

/**
 * `taken`: another user holds it. `user_has_one`: this user holds another identity of the provider.
 */
export type ClaimVerdict = 'ok' | 'taken' | 'user_has_one';

export interface IdentityStore {
  /**
   * Decides in one statement who owns an identity. An identity has one owner; a user has one
   * identity per provider. `ok` if the user already holds it. `taken` if the user was deleted
   * meanwhile.
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
