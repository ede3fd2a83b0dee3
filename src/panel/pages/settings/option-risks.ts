import type { TextKey } from '../../i18n/texts.ts';

type Read = (key: string) => string;
type Risk = { text: TextKey; of: readonly string[]; isTaken(read: Read): boolean };

const isOn = (read: Read, key: string): boolean => read(key) === 'true';

const risks: readonly Risk[] = [
  {
    text: 'settings.warn.open',
    of: ['RegisterEnabled', 'TurnstileCheckEnabled', 'EmailVerificationEnabled'],
    isTaken: (read) =>
      isOn(read, 'RegisterEnabled') && !isOn(read, 'TurnstileCheckEnabled') && !isOn(read, 'EmailVerificationEnabled'),
  },
  {
    text: 'settings.warn.unpriced',
    of: ['billing.unpriced'],
    isTaken: (read) => read('billing.unpriced') === 'everyone',
  },
  {
    text: 'settings.warn.http',
    of: ['ServerAddress'],
    isTaken: (read) =>
      /^http:\/\/(?!(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\]))/i.test(read('ServerAddress')),
  },
  {
    text: 'settings.warn.certificate',
    of: ['SMTPInsecureSkipVerify'],
    isTaken: (read) => isOn(read, 'SMTPInsecureSkipVerify'),
  },
  {
    text: 'settings.warn.plainMail',
    of: ['SMTPAccount', 'SMTPToken', 'SMTPSSLEnabled', 'SMTPStartTLSEnabled'],
    isTaken: (read) =>
      read('SMTPAccount') !== '' && !isOn(read, 'SMTPSSLEnabled') && !isOn(read, 'SMTPStartTLSEnabled'),
  },
  {
    text: 'settings.warn.insecurePasskey',
    of: ['passkey.allow_insecure_origin'],
    isTaken: (read) => isOn(read, 'passkey.allow_insecure_origin'),
  },
  { text: 'settings.warn.rpId', of: ['passkey.rp_id'], isTaken: () => true },
  {
    text: 'settings.warn.noPassword',
    of: ['PasswordLoginEnabled'],
    isTaken: (read) => !isOn(read, 'PasswordLoginEnabled'),
  },
];

/**
 * What deserves a word before it is saved: risks that the changed options take or have a part in.
 * `read` gives the values to come.
 */
export const listRisks = (changed: readonly string[], read: Read): TextKey[] =>
  risks.filter(({ of, isTaken }) => of.some((key) => changed.includes(key)) && isTaken(read)).map(({ text }) => text);
