/**
 * Resolves in the next turn of the event loop. Reads of SQLite resolve within the same turn: a loop
 * of them alone would let nothing else run.
 */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
