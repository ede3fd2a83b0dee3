import { deriveKey } from '../kernel/index.ts';

/**
 * The keys of one purpose: the first belongs to the current secret, the others only recognise what
 * older ones made.
 */
export type PurposeKeys = readonly [Uint8Array, ...Uint8Array[]];

export type SessionKeys = {
  /** Signs access tokens. */
  access: PurposeKeys;
  /** Digests the secret half of refresh tokens. */
  refreshDigest: PurposeKeys;
  /** Makes the successor of a refresh token. */
  refreshSuccessor: PurposeKeys;
  /** Signs Security Proofs. */
  proof: PurposeKeys;
  /** Digests flow tokens. */
  flow: PurposeKeys;
};

/**
 * One key per purpose and secret, so that nothing made for one end is accepted at another. The
 * label carries a version.
 */
export function deriveSessionKeys(secrets: readonly [string, ...string[]]): SessionKeys {
  const [current, ...previous] = secrets;
  const forPurpose = (purpose: string): PurposeKeys => [
    deriveKey(current, purpose),
    ...previous.map((secret) => deriveKey(secret, purpose)),
  ];
  return {
    access: forPurpose('access.v1'),
    refreshDigest: forPurpose('refresh.v1'),
    refreshSuccessor: forPurpose('refresh-rotate.v1'),
    proof: forPurpose('security-proof.v1'),
    flow: forPurpose('flow.v1'),
  };
}
