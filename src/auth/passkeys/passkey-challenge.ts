import { type Clock, type JsonObject, randomToken } from '../../kernel/index.ts';
import type { PasskeyRecord, Store } from '../../store/ports/index.ts';
import type { FlowBinding, Flows, FlowTicket, TicketPurpose } from '../tokens/flows.ts';

/** The answer of a first step: `options` as `navigator.credentials` takes them, in JSON form. */
export type Ceremony<Options> = FlowTicket & { options: { publicKey: Options } };

/** 256 bits; WebAuthn asks for 128. */
const CHALLENGE_BYTES = 32;

/**
 * Begins a flow with a new challenge (base64url in `payload.challenge`) and builds the options for
 * it. The browser's dialog and the flow time out together.
 */
export async function beginCeremony<Options>(
  { store, flows, clock }: { store: Store; clock: Clock; flows: Flows },
  flow: { purpose: TicketPurpose; binding: FlowBinding; payload?: JsonObject },
  buildOptions: (ceremony: { challenge: Uint8Array<ArrayBuffer>; timeout: number }) => Promise<Options>,
): Promise<Ceremony<Options>> {
  const challenge = randomToken(CHALLENGE_BYTES);
  const ticket = await flows.begin(store, { ...flow, payload: { ...flow.payload, challenge } });
  const publicKey = await buildOptions({
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: (ticket.expires_at - clock.unix()) * 1000,
  });
  return { options: { publicKey }, ...ticket };
}

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

/** A passkey as its owner sees it. Times are Unix seconds. */
export type PasskeyView = {
  id: number;
  name: string;
  created_at: number;
  /** 0: never. */
  last_used_at: number;
  /** Synchronised between devices; false: bound to one. */
  backed_up: boolean;
  /** Made for the present relying party; others cannot be used. */
  usable: boolean;
};

export const describePasskey = (passkey: PasskeyRecord, rpId: string): PasskeyView => ({
  id: passkey.id,
  name: passkey.name,
  created_at: passkey.createdAt,
  last_used_at: passkey.lastUsedAt,
  backed_up: passkey.backedUp,
  usable: passkey.rpId === rpId,
});

/** The passkey as an entry of a ceremony's options. */
export const describeCredential = ({ credentialId, transports }: PasskeyRecord) => ({ id: credentialId, transports });
