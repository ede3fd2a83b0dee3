/** The store's clock, and the stored deadlines that move with it. */

export interface ClockStore {
  /** Milliseconds since the Unix epoch: by the database's clock on PostgreSQL. */
  nowMs(): Promise<number>;
  /** When the newest task or usage row was written, in Unix seconds; 0 where there is none. */
  latestWriteAt(): Promise<number>;
  /**
   * Moves deadlines with a clock that was set ahead by `byMs`, or back where that is negative, so
   * that each is as far away as before. A clock that was set ahead moves only those at which
   * something ends: what waits may come early. For the only process of a database.
   */
  moveDeadlines(byMs: number): Promise<void>;
}
