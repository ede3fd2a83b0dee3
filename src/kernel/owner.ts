/**
 * On whose behalf work is done: queues share by owner, and what goes wrong is counted against one.
 * Opaque to those who count; made here, so that two places never name the same user differently.
 */
export const SYSTEM_OWNER = 'system';
/** Callers whose key is missing or not valid, all together. */
export const ANONYMOUS_OWNER = 'anonymous';
export const userOwner = (userId: number): string => `user:${userId}`;
