/**
 * Values are `sent` in order, the current one first. They come back in that order, some never.
 * Returns those that may still come back after `value`; null if `value` was not sent from here.
 */
export function pendingValues(sent: readonly string[], value: string): readonly string[] | null {
  const at = sent.lastIndexOf(value);
  return at < 0 ? null : sent.slice(at);
}
