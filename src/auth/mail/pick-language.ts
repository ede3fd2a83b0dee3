/** Languages of mails; they are those of the panel. */
export type MailLanguage = 'en' | 'zh';

/** Entries of an `Accept-Language` that are looked at. */
const MAX_TAGS = 10;

/**
 * The user's own language, else the first of the browser's that we have (in its order, weights left
 * aside), else English.
 */
export function pickLanguage(acceptLanguage: string | undefined, own?: string): MailLanguage {
  const tags = (acceptLanguage ?? '').split(',', MAX_TAGS);
  for (const tag of own ? [own, ...tags] : tags) {
    const short = /^\s*([a-z]{2})(?![a-z])/i.exec(tag)?.[1]?.toLowerCase();
    if (short === 'en' || short === 'zh') return short;
  }
  return 'en';
}
