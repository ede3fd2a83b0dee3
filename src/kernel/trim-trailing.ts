/**
 * Removes trailing repetitions of one character. Takes linear time; the expression `/x+$/` does
 * not, because it restarts at each `x` of an inner run.
 */
export function trimTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
