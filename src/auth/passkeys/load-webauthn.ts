/**
 * Loaded with the first ceremony: it takes a tenth of a second and 25 MB, which a gateway without
 * passkeys never spends.
 */
export async function loadWebAuthn() {
  const [server, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { ...server, ...helpers };
}
