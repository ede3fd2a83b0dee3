import { defineSentences } from '../kernel/index.ts';

/** Why a change of settings is refused; the panel has each in its languages. */
export const settingSentences = defineSentences('settings', {
  needed_by_feature: '{{feature}} is on and needs {{names}}: switch it off first.',
  feature_needs: 'Set {{names}} before {{feature}} is switched on{{note}}.',
  one_tls_mode:
    'SMTPSSLEnabled (TLS from the first byte) and SMTPStartTLSEnabled exclude each other: switch the other one off.',
  secret_moved:
    '{{secret}} was entered for the former {{option}} and is sent nowhere else: enter it again, or empty it, in the same change.',
  root_locked_out:
    'Root could no longer sign in: with PasswordLoginEnabled off a root account needs a passkey or an identity at a provider that is switched on.',
  identities_bound:
    '{{identities}} bound at {{provider}}. With another {{option}} they may be those of other people: unbind them first, or send force: true if it is the same provider with the same ids.',
  named_twice: '{{option}} is named twice: send it once.',
});
