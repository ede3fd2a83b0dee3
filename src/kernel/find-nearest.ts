/** The name among `known` with the fewest edits, at most `maxEdits`, whatever the case. */
export function findNearest(name: string, known: Iterable<string>, maxEdits: number): string | undefined {
  if (name.length > 64) return undefined;
  let found: string | undefined;
  let least = Math.min(maxEdits, Math.floor(name.length / 2)) + 1;
  for (const one of known) {
    if (Math.abs(one.length - name.length) >= least) continue;
    const edits = countEdits(name.toLowerCase(), one.toLowerCase());
    if (edits < least) [found, least] = [one, edits];
  }
  return found;
}

/** Edits of single letters between two short texts (Wagner and Fischer, 1974). */
function countEdits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
