import { err, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import type { Mail } from './types.ts';

/** What an SMTP conversation needs of a mail. */
export type WrittenMail = { from: string; to: string; message: Buffer };

// RFC 5321 4.1.2 without quoted local parts; lengths from 4.5.3.1. ASCII only, so nothing in it can
// begin another line or another address.
const ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}$/;
const NAMED = /^([^<>]*) <([^<>]+)>$/;
const NAME = /^[\w-]{1,64}$/;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

/**
 * The email as MIME: text and HTML. Anything that could add a header or another recipient is
 * refused, never repaired: line breaks and control characters in names and subjects, and anything
 * but one plain address.
 */
export async function writeMail({ from, to, id, subject, text, html }: Mail): Promise<Result<WrittenMail, Sentence>> {
  const [, name = '', address = from] = NAMED.exec(from) ?? [];
  if (CONTROL.test(from) || !ADDRESS.test(address)) return err(sentence('mail.sender'));
  if (CONTROL.test(to) || !ADDRESS.test(to)) return err(sentence('mail.recipient'));
  if (id !== undefined && !NAME.test(id)) return err(sentence('mail.name'));
  if (CONTROL.test(subject)) return err(sentence('mail.subject'));
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const composed = new MailComposer({
    from: { name, address },
    to: { name: '', address: to },
    ...(id === undefined ? {} : { messageId: `<${id}@${address.slice(address.lastIndexOf('@') + 1)}>` }),
    subject,
    text,
    html,
    // RFC 3834: asks other machines not to reply automatically.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return ok({ from: address, to, message: await composed.compile().build() });
}
