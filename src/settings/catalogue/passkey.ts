import { boolean, choice, isDomain, isOrigin, list, type OptionRules, text } from './option-rule.ts';

const MAX_ORIGINS = 20;

export const passkeyOptions = {
  /**
   * Whether passkeys can be created and used. While off, users can still rename and delete theirs.
   */
  'passkey.enabled': { proof: 'settings.security', ...boolean(true) },
  /** The gateway's name in passkey dialogs. Empty: the system name. */
  'passkey.rp_display_name': { proof: 'settings.security', ...text('') },
  /**
   * The domain that passkeys belong to. Empty: the host of ServerAddress. A passkey works for the
   * domain it was created for only.
   */
  'passkey.rp_id': {
    proof: 'settings.security',
    ...text(
      '',
      (value) => value === '' || isDomain(value),
      "a domain in lower case, the panel's own host or one above it (example.org for https://panel.example.org), without scheme and port, or nothing",
    ),
  },
  /** The origins at which passkeys can be used. Empty: the origin of ServerAddress. */
  'passkey.origins': {
    proof: 'settings.security',
    ...list({
      maximum: MAX_ORIGINS,
      allows: isOrigin,
      wanted:
        'exact origins in lower case (https://panel.example.org, with a port if it is not the usual one, without slash at the end), or nothing',
    }),
  },
  /**
   * Whether passkeys can be used on plain http pages other than localhost. Few browsers allow it.
   */
  'passkey.allow_insecure_origin': { proof: 'settings.security', ...boolean(false) },
  /** Whether an authenticator must verify the person by PIN or biometrics. */
  'passkey.user_verification': {
    proof: 'settings.security',
    ...choice(['preferred', 'required', 'discouraged'], 'preferred, required or discouraged'),
  },
  /** Which authenticators may store a new passkey: this device, another one, or any. */
  'passkey.attachment_preference': {
    proof: 'settings.security',
    ...choice(['', 'platform', 'cross-platform'], 'platform, cross-platform or nothing'),
  },
} satisfies OptionRules;
