import { type Static, t } from 'elysia';

/** The scopes of a Security Proof, as a field of a body. */
export const proofScope = t.Union([
  t.Literal('channel.key.read'),
  t.Literal('passkey.register'),
  t.Literal('passkey.delete'),
  t.Literal('account.email'),
  t.Literal('account.delete'),
  t.Literal('account.export'),
  t.Literal('settings.security'),
]);

/**
 * The scope of the Security Proof that a route needs. `when` says in which cases, if not always;
 * the OpenAPI document shows it.
 */
export type ProofNeed = { scope: Static<typeof proofScope>; when?: string };

/** The Security Proof in a request's header. */
export const readProof = (request: Request): string | undefined => request.headers.get('x-security-proof') ?? undefined;
