const MAX_ENTRIES = 1000;
const MAX_LENGTH = 256;

/**
 * `read` with its results remembered by text. When there are too many all are forgotten, and long
 * texts never are remembered, so that clients who choose the texts cannot fill the memory. `read`
 * must depend on the text alone. `watch` gets the function that counts the entries.
 */
export function memoizeTexts<T>(read: (text: string) => T, watch?: (size: () => number) => void): (text: string) => T {
  const known = new Map<string, T>();
  watch?.(() => known.size);
  return (text) => {
    const remembered = known.get(text);
    if (remembered !== undefined || known.has(text)) return remembered as T;
    const result = read(text);
    if (text.length > MAX_LENGTH) return result;
    if (known.size >= MAX_ENTRIES) known.clear();
    known.set(text, result);
    return result;
  };
}
