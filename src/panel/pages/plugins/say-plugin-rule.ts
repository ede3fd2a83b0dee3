import { createSentenceFinder } from '../../api/recognize-sentence.ts';

type Texts = Readonly<Record<string, string>>;

/** A rule or a hint in the user's language; null for words of a parser or of the plugin itself. */
export type SayRule = (sentence: string) => string | null;

/** Values that may be a sentence themselves. */
const SENTENCES = /^(?:why|fault)$/;

/**
 * Says the rules for plugins in another language. `sentences`: the gateway's English ones by name,
 * with `{{name}}` for values. `texts`: the language's, by the same names.
 */
export function createRuleSpeaker(sentences: Texts, texts: Texts): SayRule {
  const find = createSentenceFinder(sentences);
  const say: SayRule = (sentence) => {
    const found = find(sentence.trim());
    const text = found === null ? undefined : texts[found.name];
    if (found === null || text === undefined) return null;
    return text.replaceAll(/\{\{(\w+)\}\}/g, (_all, name: string) => {
      const value = found.params[name] ?? '';
      return SENTENCES.test(name) ? (say(value) ?? value) : value;
    });
  };
  return say;
}
