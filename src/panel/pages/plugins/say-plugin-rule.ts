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

/** A fault of a plugin in one line: `/key: …` or `source line 3: …`. */
type PlacedFault = { place: string; message: string };

const BETWEEN = /; (?=(?:meta|source|exports\/[^\s:]+|\/[^\s:]+)(?: line \d+)?: )/;
const FAULT = /^(meta|source|exports\/[^\s:]+|\/[^\s:]+)(?: line (\d+))?: (.+)$/;

/** Reads a plugin's faults in one line, as its status has them; null for other text. */
export function readPlacedFaults(line: string): PlacedFault[] | null {
  const faults = line.split(BETWEEN).map((each) => {
    const [, path, number, message] = FAULT.exec(each) ?? [];
    if (path === undefined || message === undefined) return null;
    return { place: number === undefined ? path : `${path}:${number}`, message };
  });
  return faults.every((fault) => fault !== null) ? faults : null;
}
