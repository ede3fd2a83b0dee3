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
