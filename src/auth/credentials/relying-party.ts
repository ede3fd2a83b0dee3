import { isIP } from 'node:net';
import { type AppError, err, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

/**
 * The WebAuthn relying party under the present settings. It comes from settings only, never from a
 * request's headers.
 */
export type RelyingParty = {
  /** A domain. */
  id: string;
  /** Shown in passkey dialogs. */
  name: string;
  /** Origins of the panel's pages, at least one. The host of each is `id` or a subdomain of it. */
  origins: readonly string[];
  userVerification: AuthSettings['passkeys']['userVerification'];
  attachment: AuthSettings['passkeys']['attachment'];
};

/**
 * The relying party's id: the setting, else the host of the panel's address. Empty without a valid
 * address; no passkey matches then.
 */
export function relyingPartyId({ passkeys, serverAddress }: AuthSettings): string {
  if (passkeys.rpId !== '') return passkeys.rpId;
  return URL.canParse(serverAddress) ? new URL(serverAddress).hostname : '';
}

/**
 * The relying party of every ceremony.
 *
 * @throws `auth.method_disabled` when passkeys are switched off, or when no browser would accept a
 * ceremony under the present settings; the message then says which setting to change.
 */
export function requireRelyingParty(settings: AuthSettings): RelyingParty {
  const found = findRelyingParty(settings);
  if (!found.ok) throw found.error;
  return found.value;
}

/** The relying party, or why there is none. */
export function findRelyingParty(settings: AuthSettings): Result<RelyingParty, AppError> {
  const { passkeys, serverAddress, systemName } = settings;
  if (!passkeys.enabled) return err(authErrors.method_disabled());
  const id = relyingPartyId(settings);
  if (id === '' || id.startsWith('[') || isIP(id) !== 0) {
    return unusable(sentence('passkeys.ip'));
  }

  const address = URL.canParse(serverAddress) ? [new URL(serverAddress).origin] : [];
  const named = passkeys.origins.length > 0 ? passkeys.origins : address;
  const covered = named.filter((origin) => URL.canParse(origin) && covers(id, new URL(origin).hostname));
  if (covered.length === 0) {
    return unusable(sentence('passkeys.elsewhere', { domain: id }));
  }
  const origins = covered.filter((origin) => passkeys.allowInsecureOrigin || isSecure(new URL(origin)));
  if (origins.length === 0) {
    return unusable(sentence('passkeys.https'));
  }
  return ok({
    id,
    name: passkeys.rpDisplayName || systemName,
    origins,
    userVerification: passkeys.userVerification,
    attachment: passkeys.attachment,
  });
}

const unusable = (message: Sentence) => err(authErrors.method_disabled({ message }));

/**
 * Whether pages of `host` may use passkeys of `id`. As in browsers, a single label such as `com`
 * covers no subdomains.
 */
const covers = (id: string, host: string): boolean => host === id || (id.includes('.') && host.endsWith(`.${id}`));

/** Browsers have passkeys in secure contexts only: https, or http on the machine itself. */
const isSecure = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost');
