/**
 * Every stored time is classified: one that is compared with a clock says how far ahead it was at
 * most when it was written, what compares it, and which test shows that it counts as over beyond.
 */
import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { tablesFor } from '../../src/store/schema/index.ts';

type Deadline = {
  /** How far ahead it is at most when it is written. */
  longest: string;
  /** The file of `src` that compares it. */
  comparedBy: string;
  /** A file of `test`, and a part of the name of the test. */
  shownBy: readonly [string, string];
};

const SET_BACK = 'contract/clock-set-back.test.ts';
const SIGN_IN = 'auth/clock-set-back.test.ts';
const MOVED = 'store/follow-clock.test.ts';
const DEAD_PROCESS = [SET_BACK, 'submissions, polls, relayed requests and backups of dead processes'] as const;
const WEBHOOKS = [SET_BACK, 'webhooks are sent at once'] as const;
const RESULTS = [SET_BACK, 'results are kept at once'] as const;
const LET_IN = [SET_BACK, 'nobody gets in by a session or a flow from the future'] as const;

const DEADLINES: Readonly<Record<string, Deadline>> = {
  'tasks.next_poll_at': {
    longest: 'the longest pause of a poll, five minutes and a tenth',
    comparedBy: 'store/repositories/tasks/claim-tasks.ts',
    shownBy: ['tasks/crash-safety.test.ts', 'a due time too far ahead'],
  },
  'tasks.lease_until': {
    longest: 'LONGEST_LEASE_MS',
    comparedBy: 'store/repositories/tasks/claim-tasks.ts',
    shownBy: DEAD_PROCESS,
  },
  'tasks.submit_time': {
    longest: 'the present; TASK_TIMEOUT_MINUTES are counted by the time that passes',
    comparedBy: 'tasks/polling/poll-engine.ts',
    shownBy: ['tasks/crash-safety.test.ts', 'a clock that jumps by a year, or back, makes no task too old'],
  },
  'tasks.slot_until': {
    longest: 'TASK_TIMEOUT_MINUTES; a slot that is held too long only slows its account',
    comparedBy: 'store/repositories/tasks/capacity.ts',
    shownBy: [MOVED, 'all is due when it would have been'],
  },
  'tasks.dispatched_at': {
    longest: 'the present; starts count for 62 seconds after it',
    comparedBy: 'store/repositories/tasks/capacity.ts',
    shownBy: [MOVED, 'starts count for a declared rate as long as they should'],
  },
  'credentials.balance_at': {
    longest: 'the present; a balance is read again an hour after it',
    comparedBy: 'operations/watches/watch-vendor-accounts.ts',
    shownBy: ['channels/vendor-accounts.test.ts', 'are read again where the last time is from the future'],
  },
  'batches.due_at': {
    longest: 'LONGEST_BATCH_PAUSE_MS',
    comparedBy: 'store/repositories/tasks/batches.ts',
    shownBy: ['contract/batches.test.ts', 'a due time from the future counts as over'],
  },
  'batches.expires_at': {
    longest: 'WINDOW_SECONDS',
    comparedBy: 'surfaces/batches/run-batches.ts',
    shownBy: [
      'surfaces/batches.test.ts',
      'what was not sent within a day never is, and so after a clock that was set back',
    ],
  },
  'batch_items.begun_at': {
    longest: 'the present; an item is sent again for less than a day after it',
    comparedBy: 'surfaces/batches/run-batches.ts',
    shownBy: [
      'surfaces/batches.test.ts',
      'what was not sent within a day never is, and so after a clock that was set back',
    ],
  },
  'waiting.not_before': {
    longest: 'LONGEST_RETURN_MS',
    comparedBy: 'store/repositories/tasks/waiting-queue.ts',
    shownBy: [MOVED, 'tasks in line wait, rest and end'],
  },
  'waiting.deadline': {
    longest: 'LONGEST_WAIT_MS',
    comparedBy: 'store/repositories/tasks/raise-waiting.ts',
    shownBy: [MOVED, 'tasks in line wait, rest and end'],
  },
  'waiting.due_at': {
    longest: 'LONGEST_WAIT_MS',
    comparedBy: 'store/repositories/tasks/raise-waiting.ts',
    shownBy: [MOVED, 'tasks in line wait, rest and end'],
  },
  'capacity.resting_until': {
    longest: 'six hours',
    comparedBy: 'store/repositories/tasks/capacity.ts',
    shownBy: [MOVED, 'all is due when it would have been'],
  },
  'webhook_outbox.next_attempt_at': {
    longest: 'LONGEST_WEBHOOK_PAUSE_MS',
    comparedBy: 'store/repositories/tasks/outbox.ts',
    shownBy: WEBHOOKS,
  },
  'webhook_outbox.give_up_at': {
    longest: 'LONGEST_WEBHOOK_TRIES_MS',
    comparedBy: 'store/repositories/tasks/outbox.ts',
    shownBy: WEBHOOKS,
  },
  'webhook_outbox.last_attempt_at': {
    longest: 'the present; the interval of updates is counted from it',
    comparedBy: 'store/repositories/tasks/outbox.ts',
    shownBy: [SET_BACK, 'a webhook of progress that was sent in the future'],
  },
  'webhook_outbox.lease_until': {
    longest: 'LONGEST_LEASE_MS',
    comparedBy: 'store/repositories/tasks/outbox.ts',
    shownBy: WEBHOOKS,
  },
  'kept_results.next_attempt_at': {
    longest: 'LONGEST_RESULT_PAUSE_MS',
    comparedBy: 'store/repositories/results/results.ts',
    shownBy: RESULTS,
  },
  'kept_results.give_up_at': {
    longest: 'LONGEST_RESULT_TRIES_MS',
    comparedBy: 'store/repositories/results/results.ts',
    shownBy: RESULTS,
  },
  'kept_results.lease_until': {
    longest: 'LONGEST_LEASE_MS',
    comparedBy: 'store/repositories/results/results.ts',
    shownBy: RESULTS,
  },
  'relay_requests.lease_until': {
    longest: 'LONGEST_LEASE_MS',
    comparedBy: 'store/repositories/tasks/relays.ts',
    shownBy: DEAD_PROCESS,
  },
  'backup_runs.lease_until': {
    longest: 'an hour',
    comparedBy: 'store/repositories/gateway/backups.ts',
    shownBy: DEAD_PROCESS,
  },
  'backup_runs.ended_at': {
    longest: 'the present; a failed run is repeated an hour later',
    comparedBy: 'store/repositories/gateway/backups.ts',
    shownBy: [SET_BACK, 'a failed backup is repeated'],
  },
  'backup_runs.started_at': {
    longest: 'the present; a run of up to two days later stands for the one that is due',
    comparedBy: 'operations/backup/due-backups.ts',
    shownBy: ['operations/backup-schedule.test.ts', 'a clock that steps back repeats no backup'],
  },
  'idempotency_keys.expires_at': {
    longest: 'a day',
    comparedBy: 'store/repositories/tasks/idempotency.ts',
    shownBy: [SET_BACK, 'a repeat after some hours buys nothing twice'],
  },
  'idempotency_keys.created_at': {
    longest: 'the present; a key of more than a day ahead is free',
    comparedBy: 'store/repositories/tasks/idempotency.ts',
    shownBy: [SET_BACK, 'a repeat after some hours buys nothing twice'],
  },
  'nodes.heartbeat_at': {
    longest: 'the present; a node is alive for NODE_ALIVE_SECONDS after it',
    comparedBy: 'store/repositories/gateway/nodes.ts',
    shownBy: ['contract/settings.test.ts', 'a node counts as alive while its heartbeat is recent'],
  },
  'user_sessions.previous_valid_until': {
    longest: 'REPLAY_WINDOW_SECONDS',
    comparedBy: 'auth/sessions/rotate-refresh.ts',
    shownBy: [SIGN_IN, 'a refresh token that was replaced in the future'],
  },
  'user_sessions.expires_at': {
    longest: 'what the session began with',
    comparedBy: 'auth/sessions/check-session.ts',
    shownBy: LET_IN,
  },
  'user_sessions.created_at': {
    longest: 'the present; sign-ins are limited by a window before it',
    comparedBy: 'store/repositories/accounts/sessions.ts',
    shownBy: [SIGN_IN, 'sign-ins from the future do not use up present ones'],
  },
  'user_sessions.last_active_at': {
    longest: 'the present; SESSION_IDLE_TIMEOUT is counted from it',
    comparedBy: 'auth/sessions/check-session.ts',
    shownBy: [SIGN_IN, 'a session that was used in the future counts as idle'],
  },
  'auth_flows.expires_at': {
    longest: 'what the flow began with',
    comparedBy: 'store/repositories/accounts/flows.ts',
    shownBy: LET_IN,
  },
  'auth_flows.created_at': {
    longest: 'the present; a flow from the future is over',
    comparedBy: 'store/repositories/accounts/flows.ts',
    shownBy: LET_IN,
  },
  'two_factor.locked_until': {
    longest: 'five minutes',
    comparedBy: 'store/repositories/accounts/factors.ts',
    shownBy: [MOVED, 'a locked second factor stays locked as long as it should'],
  },
  'two_factor.last_step': {
    longest: 'two steps of a code, and the leeway of clocks',
    comparedBy: 'store/repositories/accounts/factors.ts',
    shownBy: [SET_BACK, 'a second factor that was locked or used in the future'],
  },
  'api_keys.former_until': {
    longest: 'LONGEST_FORMER_SECONDS',
    comparedBy: 'store/repositories/accounts/api-keys.ts',
    shownBy: LET_IN,
  },
  'balance_alerts.told_at': {
    longest: 'the present; nobody is warned again within a day',
    comparedBy: 'store/repositories/money/balance-alerts.ts',
    shownBy: [SET_BACK, 'a user who was warned of a low balance in the future'],
  },
  'retention_progress.at': {
    longest: 'half a day, so that a run is not repeated',
    comparedBy: 'operations/retention/run-retention.ts',
    shownBy: ['operations/run-retention.test.ts', 'a clock that is set back repeats no run'],
  },
  'usage_progress.until': {
    longest: 'a day, for which rows count as made at its time',
    comparedBy: 'store/repositories/usage/figures.ts',
    shownBy: ['contract/figures.test.ts', 'count each row once, though the clock was'],
  },
  'usage_sums_progress.until': {
    longest: 'a day, for which rows count as made at its time',
    comparedBy: 'store/repositories/usage/figures.ts',
    shownBy: ['contract/figures.test.ts', 'count each row once, though the clock was'],
  },
};

/** Times of the calendar that people or rules have set: they hold by whatever the clock shows. */
const CALENDAR = [
  'api_keys.expires_at',
  'batch_files.expires_at',
  'budget_sums.ends_at',
  'credentials.expires_at',
  'kept_results.kept_until',
  'usage_sums_progress.quarters_from',
  ...['usage_days.day', 'usage_quarters.start', 'usage_dates.start', 'channel_hours.start'],
  ...['node_samples.start', 'gateway_samples.start', 'plugin_outcomes.minute'],
];

/**
 * When something happened: shown, sorted by, and removed some days later by work that a clock which
 * is wrong holds back (`clock.ts`).
 */
const RECORDS: Readonly<Record<string, string>> = {
  users: 'access_token_created_at created_at last_login_at deleted_at erased_at',
  user_sessions: 'revoked_at',
  auth_flows: 'consumed_at',
  external_identity_claims: 'created_at',
  oauth_providers: 'created_at updated_at',
  passkeys: 'created_at last_used_at',
  two_factor: 'created_at',
  backup_codes: 'created_at used_at',
  wallets: 'created_at',
  api_keys: 'created_at last_used_at',
  task_views: 'created_at',
  channels: 'created_at updated_at',
  credentials: 'created_at last_error_at removed_at updated_at',
  task_plugins: 'created_at',
  prices: 'updated_at',
  nodes: 'started_at',
  usage_logs: 'created_at',
  audit_logs: 'created_at',
  tasks: 'start_time finish_time created_at updated_at hidden_at waiting_since',
  waiting: 'since',
  capacity: 'changed_at',
  rest_events: 'at until',
  task_list: 'created_at hidden_at',
  task_events: 'at',
  batches: 'created_at started_at cancelling_at ended_at',
  batch_files: 'created_at',
  ledger_entries: 'created_at',
  webhook_outbox: 'created_at',
  webhook_deliveries: 'at',
  relay_requests: 'created_at finished_at hidden_at',
  relay_objects: 'created_at',
  plugin_sources: 'created_at used_at adopted_at',
  deleted_plugin_versions: 'deleted_at',
  plugin_activations: 'activated_at rolled_back_at',
  kept_results: 'kept_at created_at',
  kept_files: 'changed_at',
  imported_rows: 'created_at',
  channel_tests: 'tested_at',
};

/** Numbers that are not times: ids, counts, sums and lengths. */
const NO_TIMES =
  /^(id|.*_id|role|status|type|version|.*_version|tries|counter|auth_style|failures|cases|priority|weight|.*quota|request_count|redacted_by|.*seconds|.*_?tasks|position|skipped|polls|poll_failures|lease_seq|outputs_after|http_status|.*attempts?|amount|.*spend|retries|duration(_ms)?|.*bytes|refs|width|height|threshold|told_threshold|.*_micros|succeeded|failed|lag_ms|lateness_ms|unfinished|due|.*spent|.*budget.*|max_running|requests_per_minute|slots|total|turn|raised|returns|waiting|parked|ceiling|rest_step|rest_generation)$/;

const columns = Object.values(tablesFor('sqlite') as Record<string, SQLiteTable>).flatMap((table) => {
  const { name, columns: all } = getTableConfig(table);
  const numbers = all.filter(({ columnType }) => columnType === 'SQLiteInteger');
  return numbers.filter((column) => !NO_TIMES.test(column.name)).map((column) => `${name}.${column.name}`);
});

const records = Object.entries(RECORDS).flatMap(([table, names]) => names.split(' ').map((name) => `${table}.${name}`));

test('every column with a time is a deadline with a longest span, of the calendar, or a record', () => {
  // A new one: add it above, with the test that moves the clock.
  expect([...Object.keys(DEADLINES), ...CALENDAR, ...records].sort()).toEqual([...columns].sort());
});

test.each(Object.entries(DEADLINES))(
  '%s is compared and shown where the list says',
  (_column, { comparedBy, shownBy }) => {
    expect(existsSync(join(import.meta.dir, '../../src', comparedBy))).toBe(true);
    const [file, name] = shownBy;
    expect(readFileSync(join(import.meta.dir, '..', file), 'utf8')).toContain(name);
  },
);
