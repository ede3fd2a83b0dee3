/** Values of a sentence's placeholders. */
export type SentenceParams = Readonly<Record<string, string | number>>;

/**
 * What a caller is told: `text` in English for the API, `reason` (`room.name`) and `params` for
 * the panel, which says it in its user's language.
 */
export type Sentence = { readonly reason: string; readonly params: SentenceParams; readonly text: string };

/**
 * Declares a room's sentences once: `const s = defineSentences('auth', { no_mail: 'No mail is sent
 * here.' })`, then `s.no_mail()`. `{{name}}` stands for a parameter.
 */
export function defineSentences<C extends Readonly<Record<string, string>>>(
  room: string,
  catalogue: C,
): { readonly [K in keyof C]: (params?: SentenceParams) => Sentence } {
  const sentences: Record<string, (params?: SentenceParams) => Sentence> = {};
  for (const [name, template] of Object.entries(catalogue)) {
    sentences[name] = (params = {}) => ({ reason: `${room}.${name}`, params, text: fill(template, params) });
  }
  return sentences as { readonly [K in keyof C]: (params?: SentenceParams) => Sentence };
}

/** A sentence as fields of an answer: the English message, and what another language needs. */
export const toMessage = ({
  reason,
  params,
  text,
}: Sentence): { message: string; reason: string; params: SentenceParams } => ({
  message: text,
  reason,
  params,
});

const fill = (template: string, params: SentenceParams): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (_all, name: string) => String(params[name] ?? ''));
