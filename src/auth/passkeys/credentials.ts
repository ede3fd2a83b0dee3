/**
 * The parts of `credential.toJSON()` in a browser that we read; binary values are base64url. The
 * HTTP room must check that `id` is base64url: it goes into queries.
 */
type Credential<Response> = { id: string; rawId: string; type: 'public-key'; response: Response };

export type RegistrationCredential = Credential<{
  clientDataJSON: string;
  attestationObject: string;
  transports?: string[];
}>;

export type AssertionCredential = Credential<{
  clientDataJSON: string;
  authenticatorData: string;
  signature: string;
  userHandle?: string | null;
}>;

/** The user handle of a passkey: the decimal user id in ASCII. */
export const userHandle = (userId: number): Uint8Array<ArrayBuffer> => new TextEncoder().encode(String(userId));
