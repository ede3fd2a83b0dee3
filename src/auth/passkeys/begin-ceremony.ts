import { type Clock, type JsonObject, randomToken } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { FlowBinding, Flows, FlowTicket, TicketPurpose } from '../flows/flows.ts';

/**
 * What a begin step answers: `options` as `navigator.credentials` takes them, in their JSON form.
 */
export type Ceremony<Options> = FlowTicket & { options: { publicKey: Options } };

/** 256 bits; WebAuthn asks for 128. */
const CHALLENGE_BYTES = 32;

/**
 * Opens a flow that holds a new challenge in base64url, `payload.challenge`, and has options made
 * for it. The browser's dialog and the flow end at the same time.
 */
export async function beginCeremony<Options>(
  { store, flows, clock }: { store: Store; flows: Flows; clock: Clock },
  flow: { purpose: TicketPurpose; binding: FlowBinding; payload?: JsonObject },
  makeOptions: (ceremony: { challenge: Uint8Array<ArrayBuffer>; timeout: number }) => Promise<Options>,
): Promise<Ceremony<Options>> {
  const challenge = randomToken(CHALLENGE_BYTES);
  const ticket = await flows.begin(store, flow.purpose, flow.binding, { ...flow.payload, challenge });
  const publicKey = await makeOptions({
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    timeout: (ticket.expires_at - clock.unix()) * 1000,
  });
  return { options: { publicKey }, ...ticket };
}
