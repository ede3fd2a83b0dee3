import { deriveKey } from '../../kernel/index.ts';

/**
 * The keys of one purpose. The first comes from the current secret and makes new tokens and
 * digests; the others only recognise those made under former secrets.
 */
export type PurposeKeys = readonly [Uint8Array, ...Uint8Array[]];

export type SessionKeys = {
  /** Signs access tokens. */
  access: PurposeKeys;
  /** Digests the secret half of refresh tokens. */
  refreshDigest: PurposeKeys;
  /** Derives the successor of a refresh token. */
  refreshSuccessor: PurposeKeys;
  /** Signs Security Proofs. */
  proof: PurposeKeys;
  /** Digests flow tokens. */
  flow: PurposeKeys;
};

/**
 * One key per purpose and secret, so that nothing made for one purpose is accepted for another. The
 * label carries a version.
 */
export function deriveSessionKeys(secrets: readonly [string, ...string[]]): SessionKeys {
  const [current, ...former] = secrets;
  const forPurpose = (purpose: string): PurposeKeys => [
    deriveKey(current, purpose),
    ...former.map((secret) => deriveKey(secret, purpose)),
  ];
  return {
    access: forPurpose('access.v1'),
    refreshDigest: forPurpose('refresh.v1'),
    refreshSuccessor: forPurpose('refresh-rotate.v1'),
    proof: forPurpose('security-proof.v1'),
    flow: forPurpose('flow.v1'),
  };
}
