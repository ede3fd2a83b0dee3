import { httpErrors } from '../errors.ts';

/** Bytes on disk at once, for files that are arriving or waiting to be sent to their vendor. */
type UploadLimits = { nodeBytes: number; userBytes: number };

export type UploadBudget = {
  /**
   * Reserves `bytes` of disk. `userId` null: counted for the node only.
   * @throws http.uploads_limited, http.upload_storage; nothing is reserved then
   */
  reserve(userId: number | null, bytes: number): void;
  release(userId: number | null, bytes: number): void;
};

const USER_RETRY_SECONDS = 5;
const NODE_RETRY_SECONDS = 60;

/** Shares the disk among users: neither one user's files nor those of all users fill it. */
export function createUploadBudget({ nodeBytes, userBytes }: UploadLimits): UploadBudget {
  let reserved = 0;
  const reservedByUser = new Map<number, number>();

  return {
    reserve(userId, bytes) {
      const own = userId === null ? 0 : (reservedByUser.get(userId) ?? 0);
      if (userId !== null && own + bytes > userBytes) {
        throw httpErrors.uploads_limited({
          message: `The files of all your requests in progress are together larger than ${userBytes} bytes. Nothing was submitted; try again when one of them has ended.`,
          details: { limit_bytes: userBytes },
          retryAfterSeconds: USER_RETRY_SECONDS,
        });
      }
      if (reserved + bytes > nodeBytes) throw httpErrors.upload_storage({ retryAfterSeconds: NODE_RETRY_SECONDS });
      reserved += bytes;
      if (userId !== null) reservedByUser.set(userId, own + bytes);
    },
    release(userId, bytes) {
      reserved -= bytes;
      if (userId === null) return;
      const left = (reservedByUser.get(userId) ?? 0) - bytes;
      if (left > 0) reservedByUser.set(userId, left);
      else reservedByUser.delete(userId);
    },
  };
}
