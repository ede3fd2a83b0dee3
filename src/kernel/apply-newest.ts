/**
 * For a node's copy of what the store holds: reads and applies, and readings that overlap never put
 * an older state over a newer one, whichever answers first. The returned function rejects as `read`
 * does.
 */
export function applyNewest<T>(read: () => Promise<T>, apply: (value: T) => void): () => Promise<void> {
  let begun = 0;
  let applied = 0;
  return async () => {
    begun += 1;
    const turn = begun;
    const value = await read();
    if (turn < applied) return;
    applied = turn;
    apply(value);
  };
}
