/**
 * Counters within a time window. They only serve limits, never money or state: a driver that loses
 * its server continues in the node's memory and never rejects.
 */
export type Count = {
  /** The sum of all additions in the current window; never below 0. */
  count: number;
  /** Seconds until the window ends and counting restarts at 0; at least 1. */
  resetsInSeconds: number;
};

export interface Counters {
  /**
   * Adds `amount` (negative: gives back) in one atomic step and returns the new count. The window
   * is fixed: the first addition opens it and later ones do not prolong it. Around its end, up to
   * twice a limit can pass.
   */
  add(key: string, amount: number, windowSeconds: number): Promise<Count>;
  /** The current window; `undefined` when it counted nothing. */
  peek(key: string): Promise<Count | undefined>;
}

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
