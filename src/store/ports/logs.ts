/** The usage rows of ended tasks, and the audit log. */
import type { JsonObject, StoredSentence } from '../../kernel/index.ts';
import type { Page, Paged } from './paging.ts';

/**
 * Every action that the audit log may name: `area.verb`. Those of `auth` are sign-ins and have a
 * chain of their own. Rows of other versions may have others.
 */
export const AUDIT_ACTIONS = [
  'api_key.create',
  'api_key.delete',
  'api_key.end_former',
  'api_key.rotate',
  'api_key.update',
  'api_key.webhook_secret',
  'audit.redact',
  'auth.factor_failed',
  'auth.locked',
  'auth.login',
  'auth.login_failed',
  'auth.logout',
  'auth.refresh_reuse',
  'backup.begin',
  'node.drain',
  'node.resume',
  'backup.restore',
  'case.share',
  'channel.create',
  'channel.delete',
  'channel.credential_add',
  'channel.credential_update',
  'channel.credential_remove',
  'channel.key_view',
  'channel.wake',
  'channel.clear_ceilings',
  'channel.clear_abandoned',
  'channel.test',
  'channel.update',
  'export.audit',
  'export.ledger',
  'export.statements',
  'export.tasks',
  'export.usage',
  'export.users',
  'import.new_api',
  'oauth_provider.create',
  'oauth_provider.delete',
  'oauth_provider.test',
  'oauth_provider.update',
  'option.set',
  'option.test',
  'plugin.activate',
  'plugin.delete',
  'plugin.install',
  'plugin.market_key_accept',
  'plugin.market_key_hand_over',
  'plugin.market_key_pin',
  'plugin.move',
  'plugin.narrow',
  'plugin.rollback',
  'plugin.status',
  'plugin.upload',
  'price.delete',
  'price.save',
  'secrets.rotate',
  'setup.complete',
  'task.answer',
  'task.cancel',
  'task.delete',
  'task.links.revoke',
  'task.move_to_front',
  'task.retry',
  'task.submit',
  'task.webhook_redeliver',
  'user.2fa.backup_codes',
  'user.2fa.disable',
  'user.2fa.enable',
  'user.2fa.setup',
  'user.balance_alert',
  'user.balance_alert_secret',
  'user.create',
  'user.delete',
  'user.demote',
  'user.disable',
  'user.email_bind',
  'user.email_unbind',
  'user.enable',
  'user.export',
  'user.identity.bind',
  'user.identity.unbind',
  'user.links.revoke',
  'user.passkey.delete',
  'user.passkey.register',
  'user.passkey.rename',
  'user.passkey.reset',
  'user.password',
  'user.password_reset',
  'user.profile',
  'user.promote',
  'user.quota',
  'user.register',
  'user.session.revoke',
  'user.sessions.revoke',
  'user.token.create',
  'user.token.delete',
  'user.token.revoke',
  'user.two_factor.reset',
  'user.unbind',
  'user.update',
  'user.view.delete',
  'user.view.save',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export type AuditRecord = {
  id: number;
  /** null for the command line and for the system itself. */
  userId: number | null;
  username: string;
  /** `session`, `access_token`, `cli`, `setup`, `registration`, `mailed_link`. */
  authMethod: string;
  ip: string;
  /** `channel.create`, `plugin.activate`, … */
  action: string;
  target: string;
  /** The values before and after the change, without secrets. */
  detail: JsonObject;
  createdAt: number;
};

/** What this version writes. */
export type NewAuditRow = Omit<AuditRecord, 'id' | 'action'> & { action: AuditAction };

/**
 * Sign-ins have their own chain, because they are deleted after a time while changes are kept for
 * good.
 */
export type AuditChainName = 'change' | 'sign_in';

/** A row where a chain of the audit log differs from what was written. */
export type AuditFault = {
  chain: AuditChainName;
  /**
   * The changed row, the first row after a gap, or the last row if the end of the chain is missing.
   */
  id: number;
  /**
   * `changed`: the row's content differs. `missing`: rows before it, or after it at the end of the
   * chain, are gone.
   */
  fault: 'changed' | 'missing';
};

export type AuditFilter = {
  /** A part of the actor's name at that time, ignoring case. */
  user?: string;
  /** A prefix of the action: `channel`, `user.delete`. */
  action?: string;
  /** The exact target: `channel:3`. */
  target?: string;
  /** Unix seconds; `since` and `until` are inclusive. */
  since?: number;
  until?: number;
};

export type UsageLogRecord = {
  id: number;
  userId: number;
  /** null: a row from before wallets, whose wallet has the user's id. */
  walletId: number | null;
  apiKeyId: number | null;
  taskId: string;
  channelId: number;
  pluginKey: string;
  model: string;
  kind: 'settle' | 'refund';
  quota: number;
  detail: JsonObject;
  /** What the reason in `detail` says; null without one, and for older rows. */
  reasonSentence: StoredSentence | null;
  createdAt: number;
  /** Seconds from the request to the end; -1: not known. */
  seconds: number;
};

/** Times are inclusive. */
export type UsageFilter = {
  userId?: number;
  apiKeyId?: number;
  channelId?: number;
  pluginKey?: string;
  model?: string;
  since?: number;
  until?: number;
};

/** With the names of those who still exist. */
export type NamedUsage = UsageLogRecord & { username: string | null; apiKeyName: string | null };

/**
 * The `seconds` of a row that corrects an earlier one of its task: its quota is the difference, and
 * it counts no task.
 */
export const CORRECTION_SECONDS = -2;

export type NewUsageRow = Omit<UsageLogRecord, 'id' | 'seconds' | 'reasonSentence'> &
  Partial<Pick<UsageLogRecord, 'seconds' | 'reasonSentence'>>;

export interface LogStore {
  addUsage(row: NewUsageRow): Promise<void>;
  /** Many rows, in their order, by one statement. */
  addUsageRows(rows: readonly NewUsageRow[]): Promise<void>;
  listUsage(filter: UsageFilter, page: Page): Promise<Paged<NamedUsage>>;
  /** The latest rows before the row `before`, uncounted. */
  readUsage(filter: UsageFilter, part: { before?: number; limit: number }): Promise<NamedUsage[]>;
  /**
   * Appends a row to the chain of its action (`auth.…` to that of sign-ins). It locks the chain
   * until its transaction ends, so call it in a transaction of its own.
   */
  addAudit(row: NewAuditRow): Promise<void>;
  /**
   * Deletes at most `limit` of the oldest rows of a chain, written at or before `until`, and stores
   * the last one's hash. Returns their number. Rows between them that a clock wrote which was ahead
   * of `now` go with them.
   */
  deleteAudit(chain: AuditChainName, age: { until: number; now: number }, limit: number): Promise<number>;
  /**
   * Reads all chains. Returns the first fault of each, the number of rows in chains, and the number
   * of later rows that are in none (written by an older version, or from outside).
   */
  verifyAudit(): Promise<{ faults: AuditFault[]; chained: number; unchained: number }>;
  /** The latest first. */
  listAudit(filter: AuditFilter, page: Page): Promise<Paged<AuditRecord>>;
  /** The latest rows before the row `before`, uncounted. */
  readAudit(filter: AuditFilter, part: { before?: number; limit: number }): Promise<AuditRecord[]>;
}
