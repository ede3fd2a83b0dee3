import type { ResultState } from '../ports/index.ts';
import type { Kit } from './kits.ts';

/**
 * Results of tasks that the gateway keeps, and their files. Times are Unix seconds where the
 * property's name does not end in `Ms`.
 */
export const defineResults = (kit: Kit) => ({
  keptResults: kit.table('kept_results', {
    id: kit.id(),
    taskId: kit.text('task_id').notNull(),
    artifactKey: kit.text('artifact_key').notNull(),
    userId: kit.big('user_id').notNull(),
    state: kit.text('state').$type<ResultState>().notNull(),
    kind: kit.text('kind').notNull().default(''),
    sha256: kit.varchar('sha256', 64),
    bytes: kit.big('bytes').notNull().default(0),
    mimeType: kit.text('mime_type').notNull().default(''),
    keptAt: kit.big('kept_at').notNull().default(0),
    keptUntil: kit.big('kept_until').notNull().default(0),
    reason: kit.text('reason').notNull().default(''),
    attempts: kit.int('attempts').notNull().default(0),
    nextAttemptAtMs: kit.big('next_attempt_at').notNull(),
    giveUpAtMs: kit.big('give_up_at').notNull(),
    leaseOwner: kit.text('lease_owner'),
    leaseUntilMs: kit.big('lease_until').notNull().default(0),
    leaseSeq: kit.big('lease_seq').notNull().default(0),
    createdAt: kit.big('created_at').notNull(),
    width: kit.int('width').notNull().default(0),
    height: kit.int('height').notNull().default(0),
  }),

  keptFiles: kit.table('kept_files', {
    sha256: kit.varchar('sha256', 64).notNull(),
    bytes: kit.big('bytes').notNull(),
    refs: kit.int('refs').notNull(),
    changedAt: kit.big('changed_at').notNull(),
  }),
});
