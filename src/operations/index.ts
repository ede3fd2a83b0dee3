/**
 * Owns: what keeps a gateway alive, such as the retention of old rows. May touch: the store and all
 * rooms below. Never touches: HTTP requests.
 */

export { eraseUsersStep } from './retention/erase-users.ts';
export { retentionSteps } from './retention/retention-steps.ts';
export type { RetentionSettings, RetentionStep } from './retention/types.ts';
