import { writeNotice } from './notice-texts.ts';
import type { MailLanguage } from './pick-language.ts';
import type { MailContent, MailText, Say } from './types.ts';
import { MAIL_WORDS } from './words/mail-words.ts';

/** The parts of a mail in one language. */
export function writeMail(content: MailContent, language: MailLanguage, system: string): MailText {
  const words = MAIL_WORDS[language];
  const say: Say = (name, values = {}) => fill(words[name], { system, ...values });
  switch (content.kind) {
    case 'verify':
    case 'bind':
      return {
        subject: say('verify.subject'),
        lines: [say(content.kind === 'verify' ? 'verify.line' : 'bind.line')],
        code: content.code,
        after: [say('code.valid', { minutes: content.minutes }), say('code.ignore')],
      };
    case 'account_exists':
      return {
        subject: say('exists.subject'),
        lines: [say('exists.line'), say('exists.signIn', { url: content.loginUrl })],
        link: { label: say('reset.label'), url: content.resetUrl },
        after: [say('exists.ignore')],
      };
    case 'reset':
      return {
        subject: say('reset.subject'),
        lines: [say('reset.line', { username: content.username })],
        link: { label: say('reset.label'), url: content.link },
        after: [say('reset.valid', { minutes: content.minutes }), say('reset.ignore')],
      };
    case 'notice':
      return writeNotice(content, say);
    case 'balance_low': {
      const { username, balance, threshold, hint, url } = content;
      const money = { balance: writeMoney(balance, language), threshold: writeMoney(threshold, language) };
      return {
        subject: say('balance_low.subject'),
        lines: [say('balance_low.line', { username, ...money }), ...(hint === '' ? [] : [hint])],
        link: { label: say('balance_low.label'), url },
        after: [say('balance_low.after')],
      };
    }
    case 'backup_failed':
      return {
        subject: say('backup_failed.subject'),
        // The reason is a sentence of the server or of a program: English, so quoted and by itself.
        lines: [say('backup_failed.line'), say('backup_failed.detail', { reason: content.reason })],
        after: [say('backup_failed.after')],
      };
    case 'test':
      return { subject: say('test.subject'), lines: [say('test.line')], after: [] };
    default: {
      const { kind, ...values } = content;
      return {
        subject: say(`${kind}.subject`, values),
        lines: [say(`${kind}.line`, values)],
        after: [say(`${kind}.after`, values)],
      };
    }
  }
}

const QUOTA_PER_USD = 500_000;

const writeMoney = (quota: number, language: MailLanguage): string =>
  new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' }).format(
    quota / QUOTA_PER_USD,
  );

/** A value is never searched for placeholders. */
const fill = (template: string, values: Readonly<Record<string, string | number>>): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (_all, name: string) => String(values[name] ?? ''));
