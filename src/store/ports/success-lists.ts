/**
 * Short lists of when something last succeeded, newest first, for an approximate sliding window.
 * They serve a limit alone: a driver that loses its server goes on in the node's memory and never
 * rejects.
 */
export interface SuccessLists {
  /**
   * The time at `index` (0: the newest) in Unix milliseconds; `undefined` when the list is shorter.
   */
  at(key: string, index: number): Promise<number | undefined>;
  /**
   * Puts `atMs` in front and keeps the newest `keep`; the list goes after `ttlSeconds` without
   * another.
   */
  push(key: string, entry: { atMs: number; keep: number; ttlSeconds: number }): Promise<void>;
}
