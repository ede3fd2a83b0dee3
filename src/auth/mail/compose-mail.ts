import { writeMail } from './mail-texts.ts';
import type { MailLanguage } from './pick-language.ts';
import type { MailContent, MailText } from './types.ts';

/** A mail without sender and recipient. */
export type ComposedMail = { subject: string; text: string; html: string };

/** The mail in one language, as text and as HTML without images, scripts or remote content. */
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
