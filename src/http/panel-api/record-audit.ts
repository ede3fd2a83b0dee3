import type { AuditAction, PanelPrincipal, RequestOrigin } from '../../auth/index.ts';
import type { Clock, JsonObject, Logger } from '../../kernel/index.ts';

/** A row of the audit log, as the store saves it. */
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

export type NewAuditRow = AuditRow & { action: AuditAction };

export type AuditEntry = {
  action: AuditAction;
  /** The changed object, for instance `channel:3`. */
  target: string;
  /** The values before and after, without secrets. */
  detail: JsonObject;
};

export type Account = { userId: number; username: string };

/**
 * Who acted: a signed-in user, the account created by the set-up link, a newly registered account,
 * or the owner of a mailed link.
 */
export type Actor = { panel: PanelPrincipal } | { setup: Account } | { registered: Account } | { mailedLink: Account };

export type RecordAudit = (actor: Actor & { origin: RequestOrigin }, entry: AuditEntry) => Promise<void>;

/**
 * Writes who did what, with which credential and from where. The change itself is already done: an
 * audit row that cannot be stored goes to the log in full, and the request still succeeds.
 */
export function createRecordAudit(deps: {
  addAudit: (row: NewAuditRow) => Promise<void>;
  clock: Clock;
  logger: Logger;
}): RecordAudit {
  return async (actor, entry) => {
    const row: NewAuditRow = { ...describeActor(actor), ip: actor.origin.ip, ...entry, createdAt: deps.clock.unix() };
    try {
      await deps.addAudit(row);
    } catch (error) {
      deps.logger.error({ err: error, audit: row }, 'audit row could not be stored; this line has its content');
    }
  };
}

function describeActor(actor: Actor): Pick<AuditRow, 'userId' | 'username' | 'authMethod'> {
  if ('setup' in actor) return { ...actor.setup, authMethod: 'setup' };
  if ('registered' in actor) return { ...actor.registered, authMethod: 'registration' };
  if ('mailedLink' in actor) return { ...actor.mailedLink, authMethod: 'mailed_link' };
  const { user, kind } = actor.panel;
  return { userId: user.id, username: user.username, authMethod: kind === 'session' ? 'session' : 'access_token' };
}

/**
 * Writes the audit row of an account that a sign-in at a provider created; nothing if it did not.
 */
export async function auditNewUser(
  audit: RecordAudit,
  created: Account | undefined,
  { provider, origin }: { provider: string; origin: RequestOrigin },
): Promise<void> {
  if (!created) return;
  const { userId, username } = created;
  const detail = { username, provider };
  await audit({ registered: created, origin }, { action: 'user.register', target: `user:${userId}`, detail });
}
