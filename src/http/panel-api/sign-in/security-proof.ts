import { type Static, t } from 'elysia';

/** What a Security Proof may be for, as a field of a body. */
export const proofScope = t.Union([
  t.Literal('channel.key.read'),
  t.Literal('passkey.register'),
  t.Literal('passkey.delete'),
  t.Literal('account.email'),
  t.Literal('account.delete'),
  t.Literal('settings.security'),
]);

/**
 * For what a route takes a Security Proof, and when it does if not always; the interface's
 * description says so.
 */
export type ProofNeed = { scope: Static<typeof proofScope>; when?: string };

/** The proof that came with a request. */
export const readProof = (request: Request): string | undefined => request.headers.get('x-security-proof') ?? undefined;
