import { isObject, type JsonObject, parseJson, type SecretBox } from '../../kernel/index.ts';
import { authErrors } from '../errors.ts';

/** What the server alone knows of an authorization request until its answer comes back. */
export type FlowSecrets = {
  /** PKCE */
  codeVerifier: string;
  nonce: string;
  /** As it was in the request: the token endpoint must be given the same. */
  redirectUri: string;
  /** With whose affiliate code a new account comes; empty: nobody's. */
  affCode: string;
};

/** As a flow keeps them: whoever reads the database completes nobody's login. */
export const sealSecrets = (box: SecretBox, secrets: FlowSecrets): JsonObject => ({
  sealed: box.seal(JSON.stringify(secrets)),
});

/** Rejects with `auth.flow_invalid` when no `CRYPTO_SECRET` opens them. */
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
