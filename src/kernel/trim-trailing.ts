/**
 * The text without the trailing repetitions of one character. Takes linear time: the expression
 * `/x+$/` does not, since it begins anew at each `x` of a run that does not stand at the end.
 */
export function trimTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
