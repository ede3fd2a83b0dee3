/**
 * Counters that forget: how often something happened within a window. They serve limits alone,
 * never money or state, so a driver that loses its server counts on in the node's memory and never
 * rejects.
 */
export type Count = {
  /** Everything added within the running window; never below 0. */
  count: number;
  /** Seconds until the window ends and counting starts again at 0; at least 1. */
  resetsInSeconds: number;
};

export interface Counters {
  /**
   * Adds `amount` (negative: gives back) in one atomic step and gives the new count. The window is
   * fixed: the first addition opens it, later ones do not prolong it, so twice a limit can pass
   * around its end.
   */
  add(key: string, amount: number, windowSeconds: number): Promise<Count>;
  /** The running window; `undefined` when nothing was counted in it. */
  peek(key: string): Promise<Count | undefined>;
}
