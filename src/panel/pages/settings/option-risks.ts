import type { TextKey } from '../../i18n/texts.ts';

type ReadOption = (key: string) => string;
type Risk = { text: TextKey; options: readonly string[]; applies(read: ReadOption): boolean };

const isOn = (read: ReadOption, key: string): boolean => read(key) === 'true';

const risks: readonly Risk[] = [
  {
    text: 'settings.warn.open',
    options: ['RegisterEnabled', 'TurnstileCheckEnabled', 'EmailVerificationEnabled'],
    applies: (read) =>
      isOn(read, 'RegisterEnabled') && !isOn(read, 'TurnstileCheckEnabled') && !isOn(read, 'EmailVerificationEnabled'),
  },
  {
    text: 'settings.warn.unpriced',
    options: ['billing.unpriced'],
    applies: (read) => read('billing.unpriced') === 'everyone',
  },
  {
    text: 'settings.warn.retention',
    options: ['enabled', 'prompt_days', 'request_days', 'answer_days', 'event_days', 'task_days', 'usage_days'].map(
      (name) => `retention.${name}`,
    ),
    applies: (read) => isOn(read, 'retention.enabled'),
  },
  {
    text: 'settings.warn.ledgerFold',
    options: ['retention.enabled', 'retention.ledger_days'],
    applies: (read) => isOn(read, 'retention.enabled') && read('retention.ledger_days') !== '0',
  },
  {
    text: 'settings.warn.http',
    options: ['ServerAddress'],
    applies: (read) =>
      /^http:\/\/(?!(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\]))/i.test(read('ServerAddress')),
  },
  {
    text: 'settings.warn.certificate',
    options: ['SMTPInsecureSkipVerify'],
    applies: (read) => isOn(read, 'SMTPInsecureSkipVerify'),
  },
  {
    text: 'settings.warn.plainMail',
    options: ['SMTPAccount', 'SMTPToken', 'SMTPSSLEnabled', 'SMTPStartTLSEnabled'],
    applies: (read) =>
      read('SMTPAccount') !== '' && !isOn(read, 'SMTPSSLEnabled') && !isOn(read, 'SMTPStartTLSEnabled'),
  },
  {
    text: 'settings.warn.insecurePasskey',
    options: ['passkey.allow_insecure_origin'],
    applies: (read) => isOn(read, 'passkey.allow_insecure_origin'),
  },
  { text: 'settings.warn.rpId', options: ['passkey.rp_id'], applies: () => true },
  {
    text: 'settings.warn.noPassword',
    options: ['PasswordLoginEnabled'],
    applies: (read) => !isOn(read, 'PasswordLoginEnabled'),
  },
];

/**
 * The risks to confirm before saving: those that apply to the new values and involve a changed
 * option. `read` returns the new values.
 */
export const findOptionRisks = (changed: readonly string[], read: ReadOption): TextKey[] =>
  risks
    .filter(({ options, applies }) => options.some((key) => changed.includes(key)) && applies(read))
    .map(({ text }) => text);
