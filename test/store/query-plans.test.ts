import { Database as SqliteFile } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { RunStatement } from '../../src/store/drivers/connection.ts';
import { migrateStore } from '../../src/store/index.ts';
import type { Repositories } from '../../src/store/ports/index.ts';
import { createRepositories } from '../../src/store/repositories/index.ts';
import { tablesFor } from '../../src/store/schema/index.ts';
import { querySqlite } from '../../src/store/sqlite/open-sqlite.ts';
import { GIVE_WALLETS } from '../support/backdoor.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Query = [
  name: string,
  ask: (store: Repositories) => Promise<unknown>,
  table: string,
  index: string | RegExp,
  /** What its first statement finds, where others follow from that. */
  found?: unknown[],
];

/**
 * Claims must walk the small indexes of unfinished tasks, or polling slows down with every task
 * that has ended.
 */
const claim = { owner: 'o', limit: 10, leaseForMs: 1 };
const claims: Query[] = [
  [
    'claimDue',
    ({ tasks }) => tasks.claimDue({ ...claim, exceptChannels: [3] }),
    'tasks',
    /(tasks_due.*channel_id ?=.*next_poll_at ?<.*){2}/s,
    [[7, 0]],
  ],
  ['claimInterrupted', ({ tasks }) => tasks.claimInterrupted(claim), 'tasks', 'tasks_submitting'],
  ['claimOverdue', ({ tasks }) => tasks.claimOverdue({ ...claim, submittedBefore: 5 }), 'tasks', 'tasks_overdue'],
  [
    'advance',
    ({ tasks }) => tasks.advance({ taskId: 't', leaseOwner: 'o', leaseSeq: 1 }, { polls: 1 }, 5),
    'tasks',
    'tasks_task_id',
  ],
  ['countUnfinished', ({ tasks }) => tasks.countUnfinished({ channelId: 3 }), 'tasks', 'tasks_running'],
  ['countUnfinished of all', ({ tasks }) => tasks.countUnfinished({}), 'tasks', /tasks_(running|open)/],
  ['running by account', ({ capacity }) => capacity.running(['t'], 'n'), 'tasks', /tasks_(running|open)/],
  ['running by user', ({ waiting }) => waiting.running([7], { locks: false }), 'tasks', 'tasks_open'],
  ['running', ({ queueView }) => queueView.running(), 'tasks', /tasks_(running|open)/],
  ['latestWithData', ({ tasks }) => tasks.latestWithData('rare', 20), 'tasks', 'tasks_answers'],
];

/** The dispatcher asks these of a long queue again and again. */
const queues: Query[] = [
  [
    'heads',
    ({ waiting }) => waiting.heads({ class: 'c3', priority: 0, nodes: [''], limit: 10 }),
    'waiting',
    'waiting_next',
  ],
  ['wake', ({ waiting }) => waiting.wake(), 'waiting', 'waiting_later'],
  ['untilDue', ({ waiting }) => waiting.untilDue(), 'waiting', /waiting_due.*waiting_later/s],
  ['age', ({ waiting }) => waiting.age(10), 'waiting', /waiting_due.*due_at ?</s],
  ['ofDeadNodes', ({ waiting }) => waiting.ofDeadNodes(['n1'], 10), 'waiting', 'waiting_attached'],
];

const page = { page: 1, pageSize: 20 };
/** Lists decide by narrow rows which of the wide ones they read. */
const lists: Query[] = [
  ['list', ({ tasks }) => tasks.list({ model: 'm', status: 'FAILURE' }, page), 'tasks', /task_list/, [[3]]],
  ['list of a user', ({ tasks }) => tasks.list({ userId: 7 }, page), 'task_list', 'task_list_user', [[3]]],
  [
    'list of what a user did not hide',
    ({ tasks }) => tasks.list({ userId: 7, hidden: false }, page),
    'task_list',
    'task_list_hidden',
    [[3]],
  ],
  ['list by cost', ({ tasks }) => tasks.list({}, { ...page, sort: 'cost' }), 'tasks', /task_list/, [[3]]],
  ['feed', ({ tasks }) => tasks.feed({}, { limit: 20, order: 'desc' }), 'tasks', /task_list(_pkey)?/, [[3]]],
  ['failureReasons', ({ tasks }) => tasks.failureReasons({}, 50), 'tasks', /task_list/],
  ['latestSuccesses', ({ tasks }) => tasks.latestSuccesses({}, new Set()), 'tasks', /task_list/],
];

/**
 * Nearly all notices have been delivered; what is pending or under way has small indexes of its
 * own.
 */
const notice = { eventId: 'e', taskId: 't', userId: 1, apiKeyId: 1, url: '', host: '', payload: {}, createdAt: 1 };
const webhooks: Query[] = [
  [
    'claim',
    ({ webhooks }) =>
      webhooks.claim({ ...claim, exclude: { hosts: ['h'], users: [7], userHosts: [{ host: 'h', userId: 8 }] } }),
    'webhook_outbox',
    /webhook_outbox_due.*webhook_outbox_(task|held)/s,
  ],
  [
    'putFinish',
    ({ webhooks }) => webhooks.putFinish({ ...notice, event: 'task.finished' }, 1),
    'other',
    /outbox_(task|due)/,
  ],
  [
    'putKept',
    ({ webhooks }) => webhooks.putKept({ ...notice, event: 'task.artifacts_kept' }, 1),
    'kept_results',
    /kept_results/,
  ],
  [
    'settle',
    ({ webhooks }) =>
      webhooks.settle(
        { id: 7, leaseOwner: 'o', leaseSeq: 1 },
        { status: 'delivered' },
        { at: 1, httpStatus: 200, durationMs: 1, error: '' },
      ),
    'webhook_outbox',
    /PRIMARY KEY|webhook_outbox_pkey|webhook_outbox_held/,
  ],
  ['claim of results', ({ results }) => results.claim({ ...claim, except: [7] }), 'kept_results', 'kept_results_turn'],
  ['releaseOwner', ({ webhooks }) => webhooks.releaseOwner('o'), 'webhook_outbox', 'webhook_outbox_held'],
  ['expireLeases', ({ webhooks }) => webhooks.expireLeases(), 'webhook_outbox', 'webhook_outbox_held'],
  ['byEventId', ({ webhooks }) => webhooks.byEventId('t', 'e'), 'webhook_outbox', 'webhook_outbox_event'],
  ['deleteOld', ({ webhooks }) => webhooks.deleteOld(50, 10), 'webhook_outbox', 'webhook_outbox_created'],
  ['depth', ({ webhooks }) => webhooks.depth(), 'webhook_outbox', 'webhook_outbox_due'],
];

/**
 * The home page must not read all that was ever used, nor the wide rows of tasks that have ended.
 */
const figures: Query[] = [
  ['addUpDays', ({ figures }) => figures.addUpDays(29_000, 100), 'usage_logs', 'usage_logs_created'],
  [
    'usageByDay',
    ({ figures }) => figures.usageByDay({ sinceDay: 1000 }),
    'usage_days',
    /(usage_days_pkey|sqlite_autoindex_usage_days).*usage_logs_created|usage_logs_created.*usage_days_pkey/s,
  ],
  [
    'usageByDay of a user',
    ({ figures }) => figures.usageByDay({ sinceDay: 1000, userId: 7 }),
    'usage_days',
    /usage_days_pkey|sqlite_autoindex_usage_days/,
  ],
  ['channelHealth', ({ figures }) => figures.channelHealth(29_000), 'usage_logs', 'usage_logs_channel'],
  ['countOverdue', ({ figures }) => figures.countOverdue(5), 'tasks', 'tasks_overdue'],
  ['openTasks', ({ figures }) => figures.openTasks({}), 'tasks', /tasks_(open|running|submitting|overdue|due)/],
  [
    'the sums of a user',
    ({ usage }) => usage.byTime({ unit: 'quarter', from: 0, until: 9e9, userId: 7 }),
    'usage_quarters',
    'usage_quarters_user',
  ],
  [
    'the sums of a week',
    ({ usage }) => usage.byDimension({ unit: 'quarter', from: 26_000_000, until: 9e9 }, 'user', 9),
    'usage_quarters',
    /usage_quarters_pkey|SEARCH usage_quarters USING PRIMARY KEY/,
  ],
  ['channelFailures', ({ usage }) => usage.channelFailures(1, 29_000, 9), 'usage_logs', 'usage_logs_channel'],
  ['openTasks of a user', ({ figures }) => figures.openTasks({ userId: 7 }), 'tasks', 'tasks_open'],
];

const fillUsage = [
  `insert into usage_logs (user_id, task_id, channel_id, plugin_key, model, kind, quota, detail, created_at)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
   select i % 300, 't' || i, 1, 'demo', 'm', 'settle', 1, '{}', i from n`,
  `insert into usage_days (user_id, day, plugin_key, model, kind, duration, tasks, quota)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
   select i % 300, i / 25, 'demo', 'm' || i, 'settle', 1, 1, 1 from n`,
  `insert into usage_quarters (start, user_id, api_key_id, channel_id, plugin_key, model, succeeded, failed, spend)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
   select i * 900, i % 300, 1, 1, 'demo', 'm', 1, 0, 1 from n`,
  'update usage_progress set until = 29900',
];

const CLAIMS = 'external_identity_claims';

/**
 * Clean-up and counting come by the hour and at each login; they must not read all that is alive.
 */
const accounts: Query[] = [
  [
    'deleteExpired',
    ({ sessions }) => sessions.deleteExpired({ now: 100, createdAfter: 90, revokedAfter: 50, limit: 10 }),
    'user_sessions',
    'user_sessions_expiry',
  ],
  [
    'deleteRevoked',
    ({ sessions }) => sessions.deleteRevoked({ revokedUntil: 50, createdAfter: 90, limit: 10 }),
    'user_sessions',
    'user_sessions_revoked',
  ],
  ['countAllIssued', ({ sessions }) => sessions.countAllIssued(29_950), 'user_sessions', 'user_sessions_created'],
  ['countIssued', ({ sessions }) => sessions.countIssued(7, 29_000), 'user_sessions', 'user_sessions_issued'],
  [
    'countActive',
    ({ sessions }) => sessions.countActive(7, 29_000),
    'user_sessions',
    /user_sessions_(active|issued|expiry)/,
  ],
  ['deleteDone', ({ flows }) => flows.deleteDone(100, 10), 'auth_flows', /auth_flows_expiry.*auth_flows_consumed/s],
  ['consume', ({ flows }) => flows.consume('t', { purpose: 'oauth' }, 5), 'auth_flows', 'auth_flows_token'],
  ['deleteOfUser', ({ flows }) => flows.deleteOfUser(7), 'auth_flows', 'auth_flows_user'],
  [
    'countTry',
    ({ flows }) => flows.countTry({ tokenHash: 't', purpose: 'email_bind', limit: 5, now: 5 }),
    'auth_flows',
    'auth_flows_token',
  ],
  [
    'takeCode',
    ({ flows }) => flows.takeCode({ tokenHash: 't', purpose: 'email_bind', secretHashes: ['s'], now: 5 }),
    'auth_flows',
    'auth_flows_token',
  ],
  ['owner', ({ identities }) => identities.owner('github', 's7'), CLAIMS, 'external_identity_claims_subject'],
  [
    'claim',
    ({ identities }) => identities.claim({ provider: 'github', subject: 's7', userId: 8, createdAt: 1 }),
    CLAIMS,
    /external_identity_claims_subject.*external_identity_claims_user/s,
  ],
  ['identities', ({ identities }) => identities.list(7), CLAIMS, 'external_identity_claims_owner'],
  ['release', ({ identities }) => identities.release(7, 'github'), CLAIMS, /external_identity_claims_(user|owner)/],
  ['releaseAll', ({ identities }) => identities.releaseAll(7), CLAIMS, 'external_identity_claims_owner'],
  ['byNameOrAddress', ({ users }) => users.byNameOrAddress('user-7'), 'users', /users_username.*users_email/s],
  ['update', ({ users }) => users.update(7, { username: 'user-8' }), 'other', 'users_username'],
  ['byAffCode', ({ users }) => users.byAffCode('code-7'), 'users', 'users_aff_code'],
  ['countInvited', ({ users }) => users.countInvited(7), 'users', 'users_inviter'],
  ['byAccessToken', ({ users }) => users.byAccessToken('h'), 'users', 'users_access_token'],
  ['interrupted', ({ relays }) => relays.interrupted(10), 'relay_requests', 'relay_requests_open'],
  ['byRelayId', ({ relays }) => relays.byRelayId('relay_7'), 'relay_requests', 'relay_requests_relay_id'],
  [
    'relayPage',
    ({ relays }) => relays.pageByUser(7, { limit: 10, order: 'desc' }),
    'relay_requests',
    'relay_requests_followed',
  ],
  ['ownObject', ({ relays }) => relays.ownObject(7, 'video', 'video_7'), 'relay_objects', 'relay_objects_name'],
  ['objectOf', ({ relays }) => relays.findObject('relay_7'), 'relay_objects', 'relay_objects_relay'],
  ['ownParts', ({ relays }) => relays.ownParts(7, 'item', ['rs_7', 'rs_8']), 'relay_objects', 'relay_objects_name'],
  ['deleteEnded', ({ relays }) => relays.deleteEnded(50, 10), 'relay_requests', 'relay_requests_ended'],
  ['deleteObjects', ({ relays }) => relays.deleteObjects(50, 10), 'relay_objects', 'relay_objects_created'],
];

const fill = (count: number, status: string) =>
  `insert into tasks (task_id, platform, user_id, "group", channel_id, action, status, progress, created_at, updated_at, quota,
    properties, execution, billing, next_poll_at, submit_time, finish_time)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
   select '${status}' || i, 'demo', 1, 'default', i % 10, '', '${status}', '', 1, 1, 0, '{}', '{}', '{}', i, i, ${status === 'SUCCESS' ? 'i' : '0'} from n`;

const fillWebhooks = [
  `insert into webhook_outbox (event_id, task_id, user_id, api_key_id, event, url, host, payload, status, next_attempt_at, give_up_at,
    created_at, lease_owner, lease_until)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
   select 'e' || i, 't' || i / 5, 1, 1, 'task.updated', '', 'h' || i % 9, '{}', case when i % 30 = 0 then 'pending' else 'delivered' end,
    i, i, i, case when i % 300 = 0 then 'o' || i % 5 end, case when i % 300 = 0 then 1 else 0 end from n`,
];

/** One of a hundred results is not copied yet. */
const fillResults = [
  `insert into kept_results (task_id, artifact_key, user_id, state, next_attempt_at, give_up_at, created_at)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
   select 't' || i, 'video', i % 900, case when i % 100 = 0 then 'wanted' else 'kept' end, i, i, i from n`,
];

/** One of a hundred waits again after a refusal, and one for its client. */
const fillQueues = [
  `insert into waiting (task_id, class, priority, turn, not_before, user_id, attached, since, deadline, due_at, request)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
   select 't' || i, 'c' || i % 30, 0, i, case when i % 100 = 0 then i else 0 end, i % 300,
    case when i % 100 = 1 then 'n2' else '' end, i, 9e12, 8e12 + i, '{}' from n`,
];

const fillAccounts = [
  `insert into users (username, role, status, created_at, access_token, email, aff_code, inviter_id)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
   select 'user-' || i, 1, 1, i, 'token-' || i, 'user-' || i || '@example.org', 'code-' || i, i % 500 from n`,
  GIVE_WALLETS,
  `insert into external_identity_claims (provider, subject, user_id, created_at)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 9000)
   select case i % 3 when 0 then 'github' when 1 then 'email' else 'oidc' end, 's' || i, 1 + i / 3, i from n where i < 9000`,
  `insert into user_sessions (sid, user_id, user_auth_version, status, refresh_hash, login_method, ip, user_agent, created_at,
    last_active_at, expires_at, revoked_at)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
   select 's' || i, 1 + i % 3000, 1, case when i % 2 = 0 then 'active' else 'revoked' end, '', '', '', '', i, i, i, i from n`,
  `insert into auth_flows (token_hash, purpose, created_at, expires_at, consumed_at, user_id)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000)
   select 't' || i, 'oauth', i, i, case when i % 2 = 0 then i end, i % 3000 from n`,
  `insert into relay_requests (relay_id, kind, user_id, "group", channel_id, model, status, quota, billing, request_id, lease_owner, lease_until, created_at)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
   select 'relay_' || i, 'video', 1, '', 1, '', case when i % 100 = 0 then 'OPEN' else 'BILLED' end, 0, '{}', '', '', i, i from n`,
  `insert into relay_objects (object_id, kind, vendor, user_id, channel_id, relay_id, created_at)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
   select 'video_' || i, 'video', '', 1, 1, 'relay_' || i, i from n`,
];

async function explained(
  run: RunStatement,
  dialect: 'sqlite' | 'postgres',
  [, ask, , , found]: Query,
): Promise<string> {
  const plan: string[] = [];
  let rows = found;
  const explain: RunStatement = async (text, params) => {
    const prefix = dialect === 'sqlite' ? 'explain query plan ' : 'explain ';
    plan.push(...(await run(prefix + text, params)).map((row) => String(row.at(-1))));
    const answer = rows ?? [];
    rows = [];
    return answer as unknown[][];
  };
  const store = createRepositories({ dialect, tables: tablesFor(dialect), clock: systemClock, run: explain });
  await ask(store);
  return plan.join('\n');
}

const setup = { dataDir: '', synchronous: 'NORMAL', clock: systemClock, logger: silentLogger } as const;

describe('claims and the hourly work walk their indexes', () => {
  test('on SQLite', async () => {
    const dataDir = temporaryFolder();
    await migrateStore({ ...setup, dataDir, databaseUrl: '' });
    const file = new SqliteFile(join(dataDir, 'taskgate.db'));
    const run: RunStatement = async (text, params) => querySqlite(file, text, params);
    for (const query of [...claims, ...queues, ...lists, ...webhooks, ...accounts, ...figures]) {
      const [name, , table, index] = query;
      const plan = `${name}: ${await explained(run, 'sqlite', query)}`;
      expect(plan).toMatch(index);
      expect(plan).not.toMatch(new RegExp(`SCAN ${table}(?! USING (COVERING )?INDEX)`));
    }
    file.close();
    rmSync(dataDir, { recursive: true });
  });

  test('on PostgreSQL', async () => {
    const sql = new SQL({ url: await migratedDatabaseUrl(), max: 1 });
    for (const [count, status] of [
      [30_000, 'SUCCESS'],
      [2000, 'IN_PROGRESS'],
      [500, 'NOT_START'],
    ] as const) {
      await sql.unsafe(fill(count, status));
    }
    for (const text of [...fillWebhooks, ...fillQueues, ...fillResults, ...fillAccounts, ...fillUsage])
      await sql.unsafe(text);
    await sql.unsafe('analyze');
    const run: RunStatement = async (text, params) => (await sql.unsafe(text, params).values()) as unknown[][];
    for (const query of [...claims, ...queues, ...lists, ...webhooks, ...accounts, ...figures]) {
      const [name, , table, index] = query;
      const plan = `${name}: ${await explained(run, 'postgres', query)}`;
      expect(plan).toMatch(index);
      expect(plan).not.toContain(`Seq Scan on ${table}`);
    }
    await sql.close();
  });
});
