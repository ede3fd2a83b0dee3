/** A value for the header Idempotency-Key: 32 random hex digits. `crypto.randomUUID` is missing over plain HTTP on a local network; this is not. */
export function makeRequestKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
