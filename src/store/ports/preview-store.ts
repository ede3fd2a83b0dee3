/** Pictures of artifacts; `store.ts` states the rules. */

import type { CopiedFile, ResultRecord, WantedResult } from './result-store.ts';

/** The `kind` of a preview among the kept results. */
export const PREVIEW_KIND = 'preview';

/**
 * Previews are kept results whose key is `preview:` and that of their artifact: they are claimed,
 * served, released and swept as such. Here is what differs.
 */
export interface PreviewStore {
  /**
   * Adds previews of one task that the gateway is to make, as `ResultStore.want` does. False where
   * the task is gone or hidden: then nothing was written.
   */
  want(previews: readonly WantedResult[], forMs: number): Promise<boolean>;
  /**
   * Keeps a preview that somebody else made, unless one is kept: who makes one loses their claim.
   * `no_task`: the task is gone, hidden or another user's. Otherwise as `ResultStore.keep`; nothing
   * is written unless `kept`.
   */
  add(preview: WantedResult, file: CopiedFile): Promise<'kept' | 'exists' | 'no_task' | 'over_quota' | 'being_deleted'>;
  /** The kept previews of these tasks, each task's in the order in which they came. */
  ofTasks(taskIds: readonly string[]): Promise<ResultRecord[]>;
  /** Bytes of all previews, and the user who has the most of them. */
  usage(): Promise<{ bytes: number; largestUserId: number | undefined }>;
  /** Forgets about `limit` previews of a user, the oldest first, and releases their files. */
  forgetOldest(userId: number, limit: number): Promise<number>;
}
