/**
 * Security Proofs as people make them with their password; accounts with a second factor or a
 * passkey need another way.
 */

type ProofRequest = { url: string; token: string; scope?: string; password: string };

/** The header that carries a proof made in the session of `token`. */
export async function proofHeader({
  url,
  token,
  scope = 'settings.security',
  password,
}: ProofRequest): Promise<{ 'x-security-proof': string }> {
  const response = await fetch(`${url}/api/verify`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ method: 'password', password, scope }),
  });
  const answer = (await response.json()) as { data?: { proof_token: string } };
  if (response.status !== 200 || answer.data === undefined) {
    throw new Error(`no proof of ${scope}: ${response.status} ${JSON.stringify(answer)}`);
  }
  return { 'x-security-proof': answer.data.proof_token };
}
