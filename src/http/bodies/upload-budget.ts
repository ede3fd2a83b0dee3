import { httpErrors } from '../errors.ts';

/** Bytes on disk at once of files that arrive or wait for their vendor. */
type UploadBudgetLimits = { nodeBytes: number; userBytes: number };

export type UploadBudget = {
  /**
   * `userId` null: nobody's in particular. @throws http.uploads_limited, http.upload_storage, and
   * takes nothing then
   */
  take(userId: number | null, bytes: number): void;
  give(userId: number | null, bytes: number): void;
};

const USER_RETRY_SECONDS = 5;
const NODE_RETRY_SECONDS = 60;

/**
 * Shares the disk among users: nobody's files fill it, neither one's own nor those of all together.
 */
export function createUploadBudget({ nodeBytes, userBytes }: UploadBudgetLimits): UploadBudget {
  let taken = 0;
  const takenBy = new Map<number, number>();

  return {
    take(userId, bytes) {
      const own = userId === null ? 0 : (takenBy.get(userId) ?? 0);
      if (userId !== null && own + bytes > userBytes) {
        throw httpErrors.uploads_limited({
          message: `The files of all your requests under way are together larger than ${userBytes} bytes. Nothing was submitted; try again when one has ended.`,
          details: { limit_bytes: userBytes },
          retryAfterSeconds: USER_RETRY_SECONDS,
        });
      }
      if (taken + bytes > nodeBytes) throw httpErrors.upload_storage({ retryAfterSeconds: NODE_RETRY_SECONDS });
      taken += bytes;
      if (userId !== null) takenBy.set(userId, own + bytes);
    },
    give(userId, bytes) {
      taken -= bytes;
      if (userId === null) return;
      const left = (takenBy.get(userId) ?? 0) - bytes;
      if (left > 0) takenBy.set(userId, left);
      else takenBy.delete(userId);
    },
  };
}
