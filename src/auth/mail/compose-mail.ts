import { QUOTA_PER_USD } from '../../kernel/index.ts';
import { MAIL_WORDS, type MailLanguage } from './mail-languages.ts';
import type { MailContent, MailText, Notice, Say } from './types.ts';

/** An email without sender and recipient. */
export type ComposedMail = { subject: string; text: string; html: string };

/** The email in one language, as text and as HTML without images, scripts or remote content. */
export function composeMail(
  content: MailContent,
  language: MailLanguage,
  { systemName, serverAddress }: { systemName: string; serverAddress: string },
): ComposedMail {
  const mail = writeMail(content, language, systemName);
  const signature = `${systemName} · ${serverAddress}`;
  return { subject: mail.subject, text: writeText(mail, signature), html: writeHtml(mail, signature, language) };
}

function writeText({ lines, code, link, after }: MailText, signature: string): string {
  const parts = [
    ...lines,
    ...(code ? [`    ${code}`] : []),
    ...(link ? [`${link.label}:\n${link.url}`] : []),
    ...after,
  ];
  return `${parts.join('\n\n')}\n\n-- \n${signature}\n`;
}

function writeHtml({ lines, code, link, after }: MailText, signature: string, language: MailLanguage): string {
  const paragraph = (text: string) => `<p>${escapeHtml(text)}</p>`;
  const parts = [
    ...lines.map(paragraph),
    ...(code ? [`<p style="font-size:24px;letter-spacing:4px"><strong>${escapeHtml(code)}</strong></p>`] : []),
    // The full URL is also the link's text, so that readers see where it leads.
    ...(link
      ? [`<p>${escapeHtml(link.label)}:<br><a href="${escapeHtml(link.url)}">${escapeHtml(link.url)}</a></p>`]
      : []),
    ...after.map(paragraph),
    `<p style="color:#666">${escapeHtml(signature)}</p>`,
  ];
  return `<!doctype html>\n<html lang="${TAGS[language]}"><head><meta charset="utf-8"></head><body>\n${parts.join('\n')}\n</body></html>\n`;
}

/** Languages whose texts are those of one region or script. */
const TAGS: Readonly<Record<MailLanguage, string>> = {
  en: 'en',
  zh: 'zh-CN',
  ja: 'ja',
  es: 'es',
  de: 'de',
  pt: 'pt-BR',
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The parts of an email in one language. */
function writeMail(content: MailContent, language: MailLanguage, system: string): MailText {
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
      const money = {
        // It is below the threshold, and must not read as the same amount.
        balance: writeMoney(balance, language, { roundingMode: 'floor' }),
        threshold: writeMoney(threshold, language, { maximumFractionDigits: 6 }),
      };
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

const writeMoney = (quota: number, language: MailLanguage, digits: Intl.NumberFormatOptions): string =>
  new Intl.NumberFormat(language, {
    ...{ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' },
    ...digits,
  }).format(quota / QUOTA_PER_USD);

/** A value is never searched for placeholders. */
const fill = (template: string, values: Readonly<Record<string, string | number>>): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (_all, name: string) => String(values[name] ?? ''));

/** 2026-11-22 19:55 UTC */
const writeTime = (at: number): string => `${new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** What the email advises if the owner did not do this. */
const adviceFor = ({ by, about }: Notice) => {
  if (by !== 'owner') return 'advice.others';
  return about === 'password_changed' || about === 'password_reset' ? 'advice.password' : 'advice.owner';
};

const ACTORS = { administrator: 'notice.byAdministrator', operator: 'notice.byOperator' } as const;

/** Tells the owner of an account what happened to it. */
function writeNotice(notice: Notice, say: Say): MailText {
  const { about, by, origin, at, last, username, provider } = notice;
  return {
    subject: say(`${about}.subject`),
    lines: [
      say(about, { provider }),
      say('notice.account', { username }),
      say('notice.when', { time: writeTime(at) }),
      ...(by === 'owner' ? [] : [say(ACTORS[by])]),
      ...(origin ? describeOrigin(origin, say) : []),
    ],
    after: [...(last ? [say('notice.last')] : []), say(adviceFor(notice))],
  };
}

function describeOrigin({ device, ip, untrustedProxy: proxy }: NonNullable<Notice['origin']>, say: Say): string[] {
  return [
    say('notice.device', { device: device || say('notice.unknownDevice') }),
    say('notice.address', { ip: proxy ? say('notice.proxy', { ip, proxy }) : ip }),
  ];
}
