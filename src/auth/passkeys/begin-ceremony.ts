import { type JsonObject, randomToken } from '../../kernel/index.ts';
import type { AuthContext } from '../context.ts';
import type { FlowBinding, FlowTicket, TicketPurpose } from '../flows/flows.ts';

/** The answer of a first step: `options` as `navigator.credentials` takes them, in JSON form. */
export type Ceremony<Options> = FlowTicket & { options: { publicKey: Options } };

/** 256 bits; WebAuthn asks for 128. */
const CHALLENGE_BYTES = 32;

/**
 * Begins a flow with a new challenge (base64url in `payload.challenge`) and builds the options for
 * it. The browser's dialog and the flow time out together.
 */
export async function beginCeremony<Options>(
  { store, flows, clock }: AuthContext,
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
