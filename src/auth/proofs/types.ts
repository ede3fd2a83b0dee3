/** What a Security Proof can be made for. */
export const PROOF_SCOPE = {
  channelKeyRead: 'channel.key.read',
  passkeyRegister: 'passkey.register',
  passkeyDelete: 'passkey.delete',
  accountEmail: 'account.email',
  accountDelete: 'account.delete',
  accountExport: 'account.export',
  settingsSecurity: 'settings.security',
} as const;
export type ProofScope = (typeof PROOF_SCOPE)[keyof typeof PROOF_SCOPE];
export const PROOF_SCOPES: readonly ProofScope[] = Object.values(PROOF_SCOPE);

/** How a person proves their identity. */
export type ProofMethod = '2fa' | 'passkey' | 'password';

/** The answer to a successful confirmation. `expires_at` is in Unix seconds. */
export type ProofBundle = { proof_token: string; expires_at: number; method: ProofMethod; scope: ProofScope };
