import type { TextKey } from '../i18n/texts.ts';

/** A sentence of the gateway that was found in an answer: its name, and its values. */
type FoundSentence = { readonly name: string; readonly params: Readonly<Record<string, string>> };

/** The text that says a sentence that was found, and its values. */
type RecognizedSentence = { readonly key: TextKey; readonly params: FoundSentence['params'] };

type Pattern = { name: string; literals: readonly string[]; params: readonly string[] };

/** Values of these are numbers, so that a vendor's similar words are not taken for ours. */
const NUMBERS = /^(?:status|ms|seconds|minutes|max|min|bytes|port|number|times|needed|free)$/;
const NUMBER = /^\d[\d.,]*$/;
/** Groups of reasons name them by their first characters, of this number. */
const CUT = 200;
/** Reasons are shorter; more is not looked at. */
const LONGEST = 4000;

/**
 * Finds which sentence of the gateway a text is. Rows keep reasons in English, as the API says
 * them; this is where they get their code and parameters back. `{{name}}` in a sentence stands for
 * a value. Takes time linear in the text for each sentence.
 */
export function createSentenceFinder(
  sentences: Readonly<Record<string, string>>,
): (text: string) => FoundSentence | null {
  const fixed = new Map<string, string>();
  const patterns: Pattern[] = [];
  for (const [name, sentence] of Object.entries(sentences)) {
    const pieces = sentence.split(/\{\{(\w+)\}\}/);
    if (pieces.length === 1) fixed.set(sentence, name);
    else patterns.push({ name, literals: pieces.filter((_, at) => at % 2 === 0), params: oddOf(pieces) });
  }
  // The one that says most is meant where several fit.
  patterns.sort((a, b) => lengthOf(b) - lengthOf(a));
  return (text) => {
    if (text === '' || text.length > LONGEST) return null;
    const exact = fixed.get(text) ?? (text.length === CUT ? beginningWith(text, fixed) : undefined);
    if (exact !== undefined) return { name: exact, params: {} };
    for (const pattern of patterns) {
      const params = match(text, pattern);
      if (params !== null) return { name: pattern.name, params };
    }
    return null;
  };
}

/** As `createSentenceFinder`, for the sentences whose text is `reason.NAME`. */
export function createRecognizer(
  sentences: Readonly<Record<string, string>>,
): (text: string) => RecognizedSentence | null {
  const find = createSentenceFinder(sentences);
  return (text) => {
    const found = find(text);
    return found === null ? null : { key: `reason.${found.name}` as TextKey, params: found.params };
  };
}

const beginningWith = (text: string, fixed: ReadonlyMap<string, string>): string | undefined =>
  [...fixed].find(([sentence]) => sentence.startsWith(text))?.[1];
const oddOf = (pieces: readonly string[]): string[] => pieces.filter((_, at) => at % 2 === 1);
const lengthOf = ({ literals }: Pattern): number => literals.reduce((sum, { length }) => sum + length, 0);

function match(text: string, { literals, params }: Pattern): Record<string, string> | null {
  const [first = '', ...others] = literals;
  const last = others.pop() ?? '';
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return null;
  const values: string[] = [];
  let from = first.length;
  for (const literal of others) {
    const at = text.indexOf(literal, from);
    if (at < 0 || at > end) return null;
    values.push(text.slice(from, at));
    from = at + literal.length;
  }
  if (from > end) return null;
  values.push(text.slice(from, end));
  const found = params.map((name, at) => [name, values[at] ?? ''] as const);
  const fits = found.every(([name, value]) => value !== '' && (!NUMBERS.test(name) || NUMBER.test(value)));
  return fits ? Object.fromEntries(found) : null;
}
