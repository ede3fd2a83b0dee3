import type { AuthSettings } from '../config.ts';

/**
 * The relying party under which passkeys are made and used now: the setting, else the host of the panel's address (design 4.10: never
 * a request's header). Empty while there is no readable address: no passkey belongs to it.
 */
export function relyingPartyId({ passkeys, serverAddress }: AuthSettings): string {
  if (passkeys.rpId !== '') return passkeys.rpId;
  return URL.canParse(serverAddress) ? new URL(serverAddress).hostname : '';
}
