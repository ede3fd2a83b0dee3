/** Limits the repeats of an Idempotency-Key that wait for their first request. */
export type RepeatLimit = {
  /**
   * Takes the slots of a waiting repeat and returns their release.
   * @throws tasks.idempotency_in_progress when too many are waiting
   */
  acquire(userId: number): () => void;
};
