/**
 * Values are `told` one after the other, the present one first, and come back in that order, some
 * never. Gives what may still come once `value` has; null where it is from elsewhere.
 */
export function pendingValues(sent: readonly string[], value: string): readonly string[] | null {
  const at = sent.lastIndexOf(value);
  return at < 0 ? null : sent.slice(at);
}
