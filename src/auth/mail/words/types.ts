import type { english } from './english.ts';

/** The sentences of all mails. `{{name}}` stands for a value. */
export type MailWords = Readonly<Record<keyof typeof english, string>>;
