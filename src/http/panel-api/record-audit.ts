import type { PanelPrincipal, RequestOrigin } from '../../auth/index.ts';
import type { Clock, JsonObject, Logger } from '../../kernel/index.ts';

/** A row of the audit trail as the store takes it. */
export type AuditRow = {
  userId: number | null;
  username: string;
  authMethod: string;
  ip: string;
  action: string;
  target: string;
  detail: JsonObject;
  createdAt: number;
};

export type AuditEntry = {
  /** `channel.create`, `plugin.activate`, … */
  action: string;
  /** What was written, for instance `channel:3`. */
  target: string;
  /** Before and after, without secrets. */
  detail: JsonObject;
};

export type Account = { userId: number; username: string };

/**
 * A signed-in user, the account that the set-up link made, one that has registered itself, or the
 * owner of a mailed link.
 */
export type Actor = { panel: PanelPrincipal } | { setup: Account } | { registered: Account } | { mailedLink: Account };

export type RecordAudit = (who: Actor & { origin: RequestOrigin }, entry: AuditEntry) => Promise<void>;

/**
 * Writes who did what, by which credential and from where. The write itself has happened by then: a
 * row that cannot be stored goes to the log in full and does not turn a done change into a failure.
 */
export function createRecordAudit(deps: {
  addAudit: (row: AuditRow) => Promise<void>;
  clock: Clock;
  logger: Logger;
}): RecordAudit {
  return async (who, entry) => {
    const row: AuditRow = { ...describeActor(who), ip: who.origin.ip, ...entry, createdAt: deps.clock.unix() };
    try {
      await deps.addAudit(row);
    } catch (error) {
      deps.logger.error({ err: error, audit: row }, 'an audit row could not be stored');
    }
  };
}

function describeActor(who: Actor): Pick<AuditRow, 'userId' | 'username' | 'authMethod'> {
  if ('setup' in who) return { ...who.setup, authMethod: 'setup' };
  if ('registered' in who) return { ...who.registered, authMethod: 'registration' };
  if ('mailedLink' in who) return { ...who.mailedLink, authMethod: 'mailed_link' };
  const { user, kind } = who.panel;
  return { userId: user.id, username: user.username, authMethod: kind === 'session' ? 'session' : 'access_token' };
}
