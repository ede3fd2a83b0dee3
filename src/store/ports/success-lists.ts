/**
 * Short lists of success times, the newest first, for an approximate sliding window. They only
 * serve a limit: a driver that loses its server continues in the node's memory and never rejects.
 */
export interface SuccessLists {
  /**
   * `count`: how many are later than `sinceMs`. `at`: the time at `index` (0: the newest) in Unix
   * milliseconds; `undefined` when the list is shorter.
   */
  read(key: string, query: { sinceMs: number; index: number }): Promise<{ count: number; at: number | undefined }>;
  /**
   * Adds `atMs` at the front and keeps the newest `keep`. The list expires `ttlSeconds` after its
   * last addition.
   */
  push(key: string, entry: { atMs: number; keep: number; ttlSeconds: number }): Promise<void>;
}
