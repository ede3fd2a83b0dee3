import { isObject, type JsonObject, parseJson, type SecretBox } from '../../kernel/index.ts';
import { authErrors } from '../errors.ts';

/** The secrets of an authorization request that the server keeps until the answer comes back. */
export type FlowSecrets = {
  /** PKCE */
  codeVerifier: string;
  nonce: string;
  /** As in the request: the token endpoint must get the same value. */
  redirectUri: string;
  /** The affiliate code for a new account; empty: none. */
  affCode: string;
};

/** Sealed for the flow's row, so that a reader of the database cannot complete a login. */
export const sealSecrets = (box: SecretBox, secrets: FlowSecrets): JsonObject => ({
  sealed: box.seal(JSON.stringify(secrets)),
});

/** @throws `auth.flow_invalid` when no `CRYPTO_SECRET` opens them. */
export function openSecrets(box: SecretBox, payload: JsonObject): FlowSecrets {
  const opened = parseJson(box.open(String(payload.sealed)) ?? '');
  if (!isObject(opened)) throw authErrors.flow_invalid();
  const { codeVerifier, nonce, redirectUri, affCode } = opened;
  return {
    codeVerifier: String(codeVerifier),
    nonce: String(nonce),
    redirectUri: String(redirectUri),
    affCode: String(affCode),
  };
}
