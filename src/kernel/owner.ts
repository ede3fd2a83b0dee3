/**
 * The owner on whose behalf work is done: queues share by owner, and failures are counted per
 * owner. Opaque to those who count. Created here only, so that a user has one name everywhere.
 */
export const SYSTEM_OWNER = 'system';
/** All callers without a valid key together. */
export const ANONYMOUS_OWNER = 'anonymous';
export const userOwner = (userId: number): string => `user:${userId}`;
