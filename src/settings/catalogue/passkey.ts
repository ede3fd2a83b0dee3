import { boolean, choice, isDomain, isOrigin, list, type OptionRules, text } from './option-rule.ts';

const MAX_ORIGINS = 20;

export const passkeyOptions = {
  /**
   * Whether passkeys can be made and used; while they are off, their owners can still rename and
   * delete them.
   */
  'passkey.enabled': { proof: 'settings.security', ...boolean(true) },
  /** What passkey dialogs call the gateway; nothing: the system name. */
  'passkey.rp_display_name': { proof: 'settings.security', ...text('') },
  /**
   * The domain that passkeys belong to; nothing: the host of ServerAddress. Passkeys made for
   * another domain cannot be used.
   */
  'passkey.rp_id': {
    proof: 'settings.security',
    ...text(
      '',
      (value) => value === '' || isDomain(value),
      "a domain in lower case, the panel's own host or one above it (example.org for https://panel.example.org), without scheme and port, or nothing",
    ),
  },
  /** The pages on which passkeys can be used; nothing: the origin of ServerAddress. */
  'passkey.origins': {
    proof: 'settings.security',
    ...list(
      [],
      MAX_ORIGINS,
      isOrigin,
      'exact origins in lower case (https://panel.example.org, with a port if it is not the usual one, without slash at the end), or nothing',
    ),
  },
  /**
   * Whether passkeys can be used on plain http pages other than localhost; few browsers take part.
   */
  'passkey.allow_insecure_origin': { proof: 'settings.security', ...boolean(false) },
  /** Whether an authenticator must recognise the person by PIN or body. */
  'passkey.user_verification': {
    proof: 'settings.security',
    ...choice(['preferred', 'required', 'discouraged'], 'preferred, required or discouraged'),
  },
  /** Which authenticators may hold a new passkey: this device, another one, or any. */
  'passkey.attachment_preference': {
    proof: 'settings.security',
    ...choice(['', 'platform', 'cross-platform'], 'platform, cross-platform or nothing'),
  },
} satisfies OptionRules;
