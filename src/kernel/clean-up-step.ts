/** Rows that their room no longer needs. The clean-up calls each step until it deletes nothing. */
export type CleanUpStep = {
  /** Names the rows in the log. */
  step: string;
  /** Deletes about `limit` rows; resolves to how many. */
  deleteBatch(limit: number): Promise<number>;
};
