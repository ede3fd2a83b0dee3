import { removeHiddenCharacters } from './hidden-characters.ts';

const CONTROL = /\p{Cc}/gu;

/** Shorter ones would blank ordinary words. */
const SHORTEST_SECRET = 4;
/** So many characters of a secret at the end of a text are one that was cut off there. */
const SHORTEST_CUT = 8;

/**
 * Text with every given secret replaced: as it is, as JSON writes it, on one line (a service account's key is JSON over many lines, which
 * messages quote and flatten), and cut off by the end of the text. Secrets shorter than four characters are left.
 */
export function redactSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  let out = text;
  for (const secret of secrets) {
    if (!secret || secret.length < SHORTEST_SECRET) continue;
    for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1), secret.replace(CONTROL, ' ')])) {
      out = withoutCut(out.replaceAll(form, '[redacted]'), form);
    }
  }
  return out;
}

function withoutCut(text: string, secret: string): string {
  if (secret.length <= SHORTEST_CUT) return text;
  const beginning = secret.slice(0, SHORTEST_CUT);
  // What could be cut off is shorter than the secret: nothing before that is looked at.
  const from = Math.max(0, text.length - secret.length);
  for (let at = text.indexOf(beginning, from); at !== -1; at = text.indexOf(beginning, at + 1)) {
    if (secret.startsWith(text.slice(at))) return `${text.slice(0, at)}[redacted]`;
  }
  return text;
}

/** A message from a plugin or a vendor made fit for a caller: without hidden characters, at most `max` code points. */
export function sanitizeMessage(text: string, max = 512): string {
  // Of a text of megabytes no more is looked at than can be shown: a code point has two units, and some go.
  const clean = removeHiddenCharacters(text.trimStart().slice(0, 4 * max)).trim();
  const points = [...clean];
  return points.length > max ? points.slice(0, max).join('') : clean;
}
