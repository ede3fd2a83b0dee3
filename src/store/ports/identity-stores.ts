/**
 * Who owns which identity, and the custom providers of identities. The rules for implementations
 * are those of `store.ts`.
 */
import type { IdentityRecord, OAuthProviderRecord } from './account-records.ts';

/**
 * `taken`: another user holds it. `user_has_one`: this user holds another identity of the provider.
 */
export type ClaimVerdict = 'ok' | 'taken' | 'user_has_one';

export interface IdentityStore {
  /**
   * One statement decides who owns an identity: it has one owner, and a user has one identity a
   * provider. What the user holds already is `ok`; for a user who has been deleted meanwhile
   * everything is `taken`.
   */
  claim(identity: IdentityRecord): Promise<ClaimVerdict>;
  owner(provider: string, subject: string): Promise<IdentityRecord | undefined>;
  /** False when the user had none of this provider. */
  release(userId: number, provider: string): Promise<boolean>;
  /** Gives their number. */
  releaseAll(userId: number): Promise<number>;
  /** Users who have an identity of this provider. */
  countProvider(provider: string): Promise<number>;
  /** By provider. */
  list(userId: number): Promise<IdentityRecord[]>;
}

export type NewOAuthProvider = Omit<OAuthProviderRecord, 'id'>;
export interface OAuthProviderStore {
  /** By id; there are a few. */
  all(): Promise<OAuthProviderRecord[]>;
  bySlug(slug: string): Promise<OAuthProviderRecord | undefined>;
  /** In a transaction: nobody else changes it until that ends. */
  hold(id: number): Promise<OAuthProviderRecord | undefined>;
  /** `undefined` when the slug is taken. */
  insert(provider: NewOAuthProvider): Promise<OAuthProviderRecord | undefined>;
  update(
    id: number,
    change: Partial<Omit<OAuthProviderRecord, 'id' | 'slug' | 'createdAt'>>,
  ): Promise<OAuthProviderRecord | undefined>;
  /** False while users have identities of it, or when there is none. */
  delete(id: number): Promise<boolean>;
}
