/**
 * Loads the library at the first ceremony: it takes 0.1 s and 25 MB, which a gateway without
 * passkeys saves.
 */
export async function loadWebAuthn() {
  const [server, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { ...server, ...helpers };
}
