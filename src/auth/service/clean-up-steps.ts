import type { CleanUpStep, Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';

export type CleanUpConfig = {
  /**
   * `USER_SESSION_ISSUANCE_WINDOW_SECONDS`, already clamped to the retention: sessions created in
   * it still count towards the issuance limit.
   */
  sessionIssuanceWindowSeconds: number;
  /** `USER_SESSION_REVOKED_RETENTION_DAYS` */
  revokedRetentionDays: number;
  /** `AUDIT_SIGN_IN_DAYS`; 0 keeps sign-ins without end. */
  auditSignInDays: number;
};

const SECONDS_PER_HOUR = 3600;
const SECONDS_PER_DAY = 86_400;
/** Keeps an ended flow for a day: a late replay is still recognised and can be explained. */
const FLOW_RETENTION_SECONDS = SECONDS_PER_DAY;

/** The rows of this room that the hourly clean-up deletes. */
export function authCleanUpSteps(deps: { store: Store; clock: Clock }, config: CleanUpConfig): CleanUpStep[] {
  const { store, clock } = deps;
  const { auditSignInDays } = config;
  const createdAfter = () => clock.unix() - config.sessionIssuanceWindowSeconds;
  const retainedAfter = () => clock.unix() - config.revokedRetentionDays * SECONDS_PER_DAY;
  const steps: CleanUpStep[] = [
    {
      step: 'expired sessions',
      deleteBatch: (limit) =>
        store.sessions.deleteExpired({
          now: clock.unix(),
          createdAfter: createdAfter(),
          revokedAfter: retainedAfter(),
          limit,
        }),
    },
    {
      step: 'revoked sessions',
      deleteBatch: (limit) =>
        store.sessions.deleteRevoked({ revokedUntil: retainedAfter(), createdAfter: createdAfter(), limit }),
    },
    {
      step: 'flows',
      deleteBatch: (limit) => store.flows.deleteDone(clock.unix() - FLOW_RETENTION_SECONDS, limit),
    },
    {
      step: 'replaced API keys',
      deleteBatch: (limit) => store.apiKeys.forgetFormers(clock.unix(), limit),
    },
  ];
  if (auditSignInDays > 0) {
    // Only sign-ins leave the audit log by themselves; changes stay.
    steps.push({
      step: 'sign-ins of the audit log',
      deleteBatch: (limit) => store.logs.deleteAudit('sign_in', auditAge(clock, auditSignInDays), limit),
    });
  }
  return steps;
}

function auditAge(clock: Clock, days: number) {
  const now = clock.unix();
  return { until: now - days * SECONDS_PER_DAY, now };
}

/** The audit log's changes that are past their days; 0 keeps them without end. */
export function auditRetentionSteps({ store, clock }: { store: Pick<Store, 'logs'>; clock: Clock }, days: number) {
  if (days === 0) return [];
  const age = auditAge(clock, days);
  return [
    {
      step: 'changes of the audit log',
      async run(limit: number) {
        const changed = await store.logs.deleteAudit('change', age, limit);
        return { walked: changed, changed };
      },
    },
  ];
}

/**
 * Warns when more than `threshold` sessions, over all users, were opened within the last hour;
 * refuses nothing.
 */
export async function warnOfManySessions(
  deps: { store: Store; clock: Clock; logger: Logger },
  threshold: number,
): Promise<void> {
  const { store, clock, logger } = deps;
  const sessions = await store.sessions.countAllIssued(clock.unix() - SECONDS_PER_HOUR);
  if (sessions > threshold) logger.warn({ sessions, threshold }, 'unusually many sessions were opened within an hour');
}
