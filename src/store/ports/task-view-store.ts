/** Filters of lists of tasks, which people keep under a name. */
export type TaskViewRecord = {
  id: number;
  userId: number;
  name: string;
  /** The query of the list's address, without `?`. */
  query: string;
  /** Unix seconds. */
  createdAt: number;
};

export interface TaskViewStore {
  /** The newest first. */
  list(userId: number): Promise<TaskViewRecord[]>;
  /**
   * In place of the view of that name. `undefined` when the user has `max` others. Only in a
   * transaction that has locked the user: otherwise two calls could exceed `max` together.
   */
  save(view: Omit<TaskViewRecord, 'id'>, max: number): Promise<TaskViewRecord | undefined>;
  /** The deleted view; `undefined` when the user has none of that id. */
  delete(id: number, userId: number): Promise<TaskViewRecord | undefined>;
  /** Returns the number of deleted views. */
  deleteAll(userId: number): Promise<number>;
}
