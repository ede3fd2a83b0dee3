/**
 * Owns: the database's layout as numbered SQL files, embedded in the program. Touches nothing: the
 * store runs them. A file that has been released is never edited; a change is a new number in both
 * dialects.
 */
import postgres1 from './postgres/0001_gateway.sql' with { type: 'text' };
import postgres2 from './postgres/0002_panel_sessions.sql' with { type: 'text' };
import postgres3 from './postgres/0003_factors.sql' with { type: 'text' };
import postgres4 from './postgres/0004_identities.sql' with { type: 'text' };
import postgres5 from './postgres/0005_stored_answers.sql' with { type: 'text' };
import postgres6 from './postgres/0006_webhooks.sql' with { type: 'text' };
import postgres7 from './postgres/0007_relay.sql' with { type: 'text' };
import postgres8 from './postgres/0008_relay_retention.sql' with { type: 'text' };
import postgres9 from './postgres/0009_usage_days.sql' with { type: 'text' };
import postgres10 from './postgres/0010_channel_health.sql' with { type: 'text' };
import postgres11 from './postgres/0011_webhook_secrets.sql' with { type: 'text' };
import postgres12 from './postgres/0012_due_by_channel.sql' with { type: 'text' };
import postgres13 from './postgres/0013_answers_by_plugin.sql' with { type: 'text' };
import postgres14 from './postgres/0014_link_version.sql' with { type: 'text' };
import postgres15 from './postgres/0015_audit_chain.sql' with { type: 'text' };
import postgres16 from './postgres/0016_session_address.sql' with { type: 'text' };
import postgres17 from './postgres/0017_hidden_tasks.sql' with { type: 'text' };
import postgres18 from './postgres/0018_task_sources.sql' with { type: 'text' };
import postgres19 from './postgres/0019_kept_results.sql' with { type: 'text' };
import postgres20 from './postgres/0020_task_links.sql' with { type: 'text' };
import postgres21 from './postgres/0021_results_by_user.sql' with { type: 'text' };
import postgres22 from './postgres/0022_retention.sql' with { type: 'text' };
import postgres23 from './postgres/0023_backup_runs.sql' with { type: 'text' };
import postgres24 from './postgres/0024_imported_rows.sql' with { type: 'text' };
import postgres25 from './postgres/0025_previews.sql' with { type: 'text' };
import postgres26 from './postgres/0026_key_rotation.sql' with { type: 'text' };
import postgres27 from './postgres/0027_usage_figures.sql' with { type: 'text' };
import postgres28 from './postgres/0028_task_list.sql' with { type: 'text' };
import postgres29 from './postgres/0029_bills_by_model.sql' with { type: 'text' };
import postgres30 from './postgres/0030_task_views.sql' with { type: 'text' };
import postgres31 from './postgres/0031_gateway_notices.sql' with { type: 'text' };
import postgres32 from './postgres/0032_long_ids.sql' with { type: 'text' };
import postgres33 from './postgres/0033_folded_names.sql' with { type: 'text' };
import postgres34 from './postgres/0034_stream_numbers.sql' with { type: 'text' };
import postgres35 from './postgres/0035_ledger_reasons.sql' with { type: 'text' };
import postgres36 from './postgres/0036_wallets.sql' with { type: 'text' };
import postgres37 from './postgres/0037_sentences.sql' with { type: 'text' };
import postgres38 from './postgres/0038_budgets.sql' with { type: 'text' };
import postgres39 from './postgres/0039_waiting.sql' with { type: 'text' };
import postgres40 from './postgres/0040_channel_network.sql' with { type: 'text' };
import postgres41 from './postgres/0041_credentials.sql' with { type: 'text' };
import postgres42 from './postgres/0042_plugin_changelogs.sql' with { type: 'text' };
import postgres43 from './postgres/0043_own_limits.sql' with { type: 'text' };
import postgres44 from './postgres/0044_shown_tasks.sql' with { type: 'text' };
import postgres45 from './postgres/0045_model_fallbacks.sql' with { type: 'text' };
import postgres46 from './postgres/0046_batches.sql' with { type: 'text' };
import postgres47 from './postgres/0047_unstored.sql' with { type: 'text' };
import postgres48 from './postgres/0048_upstream_balances.sql' with { type: 'text' };
import postgres49 from './postgres/0049_drained_nodes.sql' with { type: 'text' };
import postgres50 from './postgres/0050_told_limits.sql' with { type: 'text' };
import postgres51 from './postgres/0051_rest_events.sql' with { type: 'text' };
import postgres52 from './postgres/0052_key_addresses.sql' with { type: 'text' };
import postgres53 from './postgres/0053_relayed_tasks.sql' with { type: 'text' };
import postgres54 from './postgres/0054_followed_requests.sql' with { type: 'text' };
import postgres55 from './postgres/0055_open_tasks.sql' with { type: 'text' };
import postgres56 from './postgres/0056_hidden_tasks.sql' with { type: 'text' };
import sqlite1 from './sqlite/0001_gateway.sql' with { type: 'text' };
import sqlite2 from './sqlite/0002_panel_sessions.sql' with { type: 'text' };
import sqlite3 from './sqlite/0003_factors.sql' with { type: 'text' };
import sqlite4 from './sqlite/0004_identities.sql' with { type: 'text' };
import sqlite5 from './sqlite/0005_stored_answers.sql' with { type: 'text' };
import sqlite6 from './sqlite/0006_webhooks.sql' with { type: 'text' };
import sqlite7 from './sqlite/0007_relay.sql' with { type: 'text' };
import sqlite8 from './sqlite/0008_relay_retention.sql' with { type: 'text' };
import sqlite9 from './sqlite/0009_usage_days.sql' with { type: 'text' };
import sqlite10 from './sqlite/0010_channel_health.sql' with { type: 'text' };
import sqlite11 from './sqlite/0011_webhook_secrets.sql' with { type: 'text' };
import sqlite12 from './sqlite/0012_due_by_channel.sql' with { type: 'text' };
import sqlite13 from './sqlite/0013_answers_by_plugin.sql' with { type: 'text' };
import sqlite14 from './sqlite/0014_link_version.sql' with { type: 'text' };
import sqlite15 from './sqlite/0015_audit_chain.sql' with { type: 'text' };
import sqlite16 from './sqlite/0016_session_address.sql' with { type: 'text' };
import sqlite17 from './sqlite/0017_hidden_tasks.sql' with { type: 'text' };
import sqlite18 from './sqlite/0018_task_sources.sql' with { type: 'text' };
import sqlite19 from './sqlite/0019_kept_results.sql' with { type: 'text' };
import sqlite20 from './sqlite/0020_task_links.sql' with { type: 'text' };
import sqlite21 from './sqlite/0021_results_by_user.sql' with { type: 'text' };
import sqlite22 from './sqlite/0022_retention.sql' with { type: 'text' };
import sqlite23 from './sqlite/0023_backup_runs.sql' with { type: 'text' };
import sqlite24 from './sqlite/0024_imported_rows.sql' with { type: 'text' };
import sqlite25 from './sqlite/0025_previews.sql' with { type: 'text' };
import sqlite26 from './sqlite/0026_key_rotation.sql' with { type: 'text' };
import sqlite27 from './sqlite/0027_usage_figures.sql' with { type: 'text' };
import sqlite28 from './sqlite/0028_task_list.sql' with { type: 'text' };
import sqlite29 from './sqlite/0029_bills_by_model.sql' with { type: 'text' };
import sqlite30 from './sqlite/0030_task_views.sql' with { type: 'text' };
import sqlite31 from './sqlite/0031_gateway_notices.sql' with { type: 'text' };
import sqlite32 from './sqlite/0032_long_ids.sql' with { type: 'text' };
import sqlite33 from './sqlite/0033_folded_names.sql' with { type: 'text' };
import sqlite34 from './sqlite/0034_stream_numbers.sql' with { type: 'text' };
import sqlite35 from './sqlite/0035_ledger_reasons.sql' with { type: 'text' };
import sqlite36 from './sqlite/0036_wallets.sql' with { type: 'text' };
import sqlite37 from './sqlite/0037_sentences.sql' with { type: 'text' };
import sqlite38 from './sqlite/0038_budgets.sql' with { type: 'text' };
import sqlite39 from './sqlite/0039_waiting.sql' with { type: 'text' };
import sqlite40 from './sqlite/0040_channel_network.sql' with { type: 'text' };
import sqlite41 from './sqlite/0041_credentials.sql' with { type: 'text' };
import sqlite42 from './sqlite/0042_plugin_changelogs.sql' with { type: 'text' };
import sqlite43 from './sqlite/0043_own_limits.sql' with { type: 'text' };
import sqlite44 from './sqlite/0044_shown_tasks.sql' with { type: 'text' };
import sqlite45 from './sqlite/0045_model_fallbacks.sql' with { type: 'text' };
import sqlite46 from './sqlite/0046_batches.sql' with { type: 'text' };
import sqlite47 from './sqlite/0047_unstored.sql' with { type: 'text' };
import sqlite48 from './sqlite/0048_upstream_balances.sql' with { type: 'text' };
import sqlite49 from './sqlite/0049_drained_nodes.sql' with { type: 'text' };
import sqlite50 from './sqlite/0050_told_limits.sql' with { type: 'text' };
import sqlite51 from './sqlite/0051_rest_events.sql' with { type: 'text' };
import sqlite52 from './sqlite/0052_key_addresses.sql' with { type: 'text' };
import sqlite53 from './sqlite/0053_relayed_tasks.sql' with { type: 'text' };
import sqlite54 from './sqlite/0054_followed_requests.sql' with { type: 'text' };
import sqlite55 from './sqlite/0055_open_tasks.sql' with { type: 'text' };
import sqlite56 from './sqlite/0056_hidden_tasks.sql' with { type: 'text' };
import newSqliteDatabase from './sqlite/new-database.sql' with { type: 'text' };

/** What all migrations together make of an empty SQLite database, without their history. */
export { newSqliteDatabase };

/**
 * A query that must find nothing before a migration runs; `refusal` says what to do about the rows'
 * single text column.
 */
export type MigrationCheck = { query: string; refusal: (found: string[]) => string };

export type Migration = {
  /** Counts from 1 without gaps. */
  number: number;
  name: string;
  sql: { sqlite: string; postgres: string };
  checks: MigrationCheck[];
  back: Reversal;
};

/**
 * Whether `taskgate upgrade --back` crosses a migration. It removes nothing: the earlier version
 * runs beside the tables and columns that it does not know, and the next upgrade finds them as they
 * were left. `unless`: what must not be found for that, since the earlier version would break it,
 * lose it or take a promise back. `moved`: what the migration moved elsewhere is put `back` for the
 * earlier version, and moved `again` by the next upgrade, in SQL of both dialects. `never`: why
 * only a backup leads back.
 */
export type Reversal = { unless: MigrationCheck[]; moved?: { back: string; again: string } } | { never: string };

/** What it made is new, and the earlier version writes nothing that it would have to know. */
const ALWAYS: Reversal = { unless: [] };

/** `query` finds at least one row where the way back is closed. */
const unless = (query: string, why: string): Reversal => ({ unless: [{ query, refusal: () => why }] });

/**
 * The first groups of rows that are each `key TAB item`. The databases do not gather them: versions
 * of SQLite before 3.44 have no aggregate that keeps an order.
 */
function grouped(rows: readonly string[]): { key: string; items: string[] }[] {
  const groups = new Map<string, string[]>();
  for (const row of rows) {
    const end = row.indexOf('\t');
    const key = row.slice(0, end);
    groups.set(key, [...(groups.get(key) ?? []), row.slice(end + 1)]);
  }
  return [...groups].slice(0, 10).map(([key, items]) => ({ key, items }));
}

/** Version 0.1.0 knows these. */
const FIRST: Reversal = { never: 'No released version runs on an earlier database.' };

export const migrations: readonly Migration[] = [
  { number: 1, name: '0001_gateway', sql: { sqlite: sqlite1, postgres: postgres1 }, checks: [], back: FIRST },
  {
    number: 2,
    name: '0002_panel_sessions',
    sql: { sqlite: sqlite2, postgres: postgres2 },
    checks: [
      {
        query: `select telegram_id || '\t' || username from users where telegram_id in (select telegram_id from users where telegram_id <> '' group by telegram_id having count(*) > 1) order by telegram_id, id`,
        refusal: (found) =>
          `A Telegram ID may belong to one user only, but these belong to several: ${grouped(found)
            .map(({ key, items }) => `${key} (users ${items.join(', ')})`)
            .join('; ')}. Clear telegram_id of all but one user each, then start again.`,
      },
    ],
    back: FIRST,
  },
  { number: 3, name: '0003_factors', sql: { sqlite: sqlite3, postgres: postgres3 }, checks: [], back: FIRST },
  { number: 4, name: '0004_identities', sql: { sqlite: sqlite4, postgres: postgres4 }, checks: [], back: FIRST },
  { number: 5, name: '0005_stored_answers', sql: { sqlite: sqlite5, postgres: postgres5 }, checks: [], back: FIRST },
  { number: 6, name: '0006_webhooks', sql: { sqlite: sqlite6, postgres: postgres6 }, checks: [], back: FIRST },
  { number: 7, name: '0007_relay', sql: { sqlite: sqlite7, postgres: postgres7 }, checks: [], back: FIRST },
  { number: 8, name: '0008_relay_retention', sql: { sqlite: sqlite8, postgres: postgres8 }, checks: [], back: FIRST },
  { number: 9, name: '0009_usage_days', sql: { sqlite: sqlite9, postgres: postgres9 }, checks: [], back: FIRST },
  { number: 10, name: '0010_channel_health', sql: { sqlite: sqlite10, postgres: postgres10 }, checks: [], back: FIRST },
  {
    number: 11,
    name: '0011_webhook_secrets',
    sql: { sqlite: sqlite11, postgres: postgres11 },
    checks: [],
    back: FIRST,
  },
  { number: 12, name: '0012_due_by_channel', sql: { sqlite: sqlite12, postgres: postgres12 }, checks: [], back: FIRST },
  {
    number: 13,
    name: '0013_answers_by_plugin',
    sql: { sqlite: sqlite13, postgres: postgres13 },
    checks: [],
    back: FIRST,
  },
  { number: 14, name: '0014_link_version', sql: { sqlite: sqlite14, postgres: postgres14 }, checks: [], back: FIRST },
  { number: 15, name: '0015_audit_chain', sql: { sqlite: sqlite15, postgres: postgres15 }, checks: [], back: FIRST },
  {
    number: 16,
    name: '0016_session_address',
    sql: { sqlite: sqlite16, postgres: postgres16 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 17,
    name: '0017_hidden_tasks',
    sql: { sqlite: sqlite17, postgres: postgres17 },
    checks: [],
    back: unless(
      'select task_id from tasks where hidden_at <> 0 limit 1',
      'Users have deleted tasks, which the earlier version would show again.',
    ),
  },
  { number: 18, name: '0018_task_sources', sql: { sqlite: sqlite18, postgres: postgres18 }, checks: [], back: ALWAYS },
  {
    number: 19,
    name: '0019_kept_results',
    sql: { sqlite: sqlite19, postgres: postgres19 },
    checks: [],
    back: unless(
      'select task_id from kept_results limit 1',
      'Results are kept, which the earlier version neither serves nor deletes.',
    ),
  },
  {
    number: 20,
    name: '0020_task_links',
    sql: { sqlite: sqlite20, postgres: postgres20 },
    checks: [],
    back: unless(
      "select task_id from tasks where link_versions <> '' limit 1",
      'Links to results were ended, which the earlier version would serve again.',
    ),
  },
  {
    number: 21,
    name: '0021_results_by_user',
    sql: { sqlite: sqlite21, postgres: postgres21 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 22,
    name: '0022_retention',
    sql: { sqlite: sqlite22, postgres: postgres22 },
    checks: [],
    back: {
      unless: [
        {
          query: 'select action from audit_logs where redacted_by <> 0 limit 1',
          refusal: () => 'A person was erased, and the earlier version would find the audit log changed.',
        },
        {
          query: "select kind from ledger_entries where kind = 'carried' limit 1",
          refusal: () => 'Old lines of the ledger were folded, which the earlier version does not know.',
        },
      ],
    },
  },
  { number: 23, name: '0023_backup_runs', sql: { sqlite: sqlite23, postgres: postgres23 }, checks: [], back: ALWAYS },
  { number: 24, name: '0024_imported_rows', sql: { sqlite: sqlite24, postgres: postgres24 }, checks: [], back: ALWAYS },
  {
    number: 25,
    name: '0025_previews',
    sql: { sqlite: sqlite25, postgres: postgres25 },
    checks: [],
    back: unless(
      "select task_id from kept_results where kind = 'preview' and state = 'wanted' limit 1",
      'Previews are still to be made, which the earlier version would ask the vendors for.',
    ),
  },
  {
    number: 26,
    name: '0026_key_rotation',
    sql: { sqlite: sqlite26, postgres: postgres26 },
    checks: [],
    back: unless(
      "select id from api_keys where former_hash <> '' limit 1",
      'Replaced API keys still work, which the earlier version would refuse. Wait an hour beyond their end, or end them.',
    ),
  },
  {
    number: 27,
    name: '0027_usage_figures',
    sql: { sqlite: sqlite27, postgres: postgres27 },
    checks: [],
    // All of it is made from usage rows, which the earlier version goes on to write.
    back: ALWAYS,
  },
  // The triggers stay, so that tasks of the earlier version are listed too.
  { number: 28, name: '0028_task_list', sql: { sqlite: sqlite28, postgres: postgres28 }, checks: [], back: ALWAYS },
  {
    number: 29,
    name: '0029_bills_by_model',
    sql: { sqlite: sqlite29, postgres: postgres29 },
    checks: [],
    back: ALWAYS,
  },
  { number: 30, name: '0030_task_views', sql: { sqlite: sqlite30, postgres: postgres30 }, checks: [], back: ALWAYS },
  {
    number: 31,
    name: '0031_gateway_notices',
    sql: { sqlite: sqlite31, postgres: postgres31 },
    checks: [],
    // The earlier version warns nobody of a low balance, and ends waiting notices of no API key.
    back: ALWAYS,
  },
  {
    number: 32,
    name: '0032_long_ids',
    sql: { sqlite: sqlite32, postgres: postgres32 },
    checks: [],
    // The earlier version knows no object with such an id, and finds all others.
    back: ALWAYS,
  },
  {
    number: 33,
    name: '0033_folded_names',
    sql: { sqlite: sqlite33, postgres: postgres33 },
    checks: [
      {
        // Only I depends on the language; `lower` has kept all other pairs apart since 0001.
        query: `select lower(replace(username, 'I', 'i')) || '\t' || username || ' (user ' || id || ')' from users where lower(replace(username, 'I', 'i')) in (select lower(replace(username, 'I', 'i')) from users group by lower(replace(username, 'I', 'i')) having count(*) > 1) order by id`,
        refusal: (found) =>
          `User names must differ by more than the case of their letters, but the collation of this database let these in: ${grouped(
            found,
          )
            .map(({ items }) => items.join(', '))
            .join(
              '; ',
            )}. Rename all but one of each (update users set username = 'NEW-NAME' where id = ID), then start again.`,
      },
    ],
    back: ALWAYS,
  },
  {
    number: 34,
    name: '0034_stream_numbers',
    sql: { sqlite: sqlite34, postgres: postgres34 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 35,
    name: '0035_ledger_reasons',
    sql: { sqlite: sqlite35, postgres: postgres35 },
    checks: [],
    // The earlier version takes a repeated change under the same key for another one.
    back: ALWAYS,
  },
  {
    number: 36,
    name: '0036_wallets',
    sql: { sqlite: sqlite36, postgres: postgres36 },
    checks: [],
    back: { never: 'Balances are in wallets, and the earlier version would look for them where they no longer are.' },
  },
  {
    number: 37,
    name: '0037_sentences',
    sql: { sqlite: sqlite37, postgres: postgres37 },
    checks: [],
    back: { never: 'The earlier version would erase a text without the sentence that holds its words.' },
  },
  {
    number: 38,
    name: '0038_budgets',
    sql: { sqlite: sqlite38, postgres: postgres38 },
    checks: [],
    back: {
      unless: ['api_keys', 'users'].map((table) => ({
        query: `select budget from ${table} where budget is not null limit 1`,
        refusal: () => 'Budgets are set, which the earlier version would not keep to.',
      })),
    },
  },
  {
    number: 39,
    name: '0039_waiting',
    sql: { sqlite: sqlite39, postgres: postgres39 },
    checks: [],
    back: unless(
      `select task_id from tasks where status = 'NOT_START' and phase = 'waiting' limit 1`,
      'Tasks wait, which the earlier version would end as interrupted. Set queue.max_wait_seconds to 0 and wait until none is left.',
    ),
  },
  {
    number: 40,
    name: '0040_channel_network',
    sql: { sqlite: sqlite40, postgres: postgres40 },
    checks: [],
    back: unless(
      'select id from channels where proxy_sealed is not null or headers_sealed is not null limit 1',
      'Channels have a proxy or headers of their own, without which the earlier version would call their vendors.',
    ),
  },
  {
    number: 41,
    name: '0041_credentials',
    sql: { sqlite: sqlite41, postgres: postgres41 },
    checks: [],
    back: {
      unless: [
        {
          query:
            'select cast(channel_id as text) from credentials where removed_at = 0 group by channel_id having count(*) > 1 order by channel_id',
          refusal: (ids) =>
            `The earlier version knows one key a channel, and these channels have several: ${ids.join(', ')}. Remove all but one of each.`,
        },
        {
          query: 'select id from credentials where removed_at = 0 and status <> 1 limit 1',
          refusal: () =>
            'The earlier version would use keys that are disabled: enable them, and disable their channels.',
        },
        {
          query: `select tasks.id from tasks join credentials on credentials.id = tasks.credential_id
            where tasks.status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and credentials.removed_at > 0 limit 1`,
          refusal: () => 'Tasks run with keys that were removed: wait until they have ended.',
        },
      ],
      moved: {
        back: `
          alter table channels add column key_sealed text not null default '';
          alter table channels add column key_hint text not null default '';
          update channels set
            key_sealed = coalesce((select key_sealed from credentials where channel_id = channels.id and removed_at = 0), ''),
            key_hint = coalesce((select key_hint from credentials where channel_id = channels.id and removed_at = 0), '');`,
        again: `
          delete from credentials where channel_id not in (select id from channels);
          update credentials set
            key_sealed = (select key_sealed from channels where channels.id = channel_id),
            key_hint = (select key_hint from channels where channels.id = channel_id)
          where removed_at = 0;
          insert into credentials (channel_id, key_sealed, key_hint, used_quota, created_at, updated_at)
            select id, key_sealed, key_hint, used_quota, created_at, updated_at from channels
            where id not in (select channel_id from credentials where removed_at = 0) order by id;
          update tasks set credential_id =
            (select min(id) from credentials where channel_id = tasks.channel_id and removed_at = 0)
          where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and channel_id > 0 and credential_id is null;
          alter table channels drop column key_sealed;
          alter table channels drop column key_hint;`,
      },
    },
  },
  {
    number: 42,
    name: '0042_plugin_changelogs',
    sql: { sqlite: sqlite42, postgres: postgres42 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 43,
    name: '0043_own_limits',
    sql: { sqlite: sqlite43, postgres: postgres43 },
    checks: [],
    back: {
      unless: ['api_keys', 'users'].map((table) => ({
        query: `select id from ${table} where coalesce(requests_per_minute, max_running) is not null limit 1`,
        refusal: () => 'Keys or users have limits of their own, which the earlier version would not keep to.',
      })),
    },
  },
  {
    number: 44,
    name: '0044_shown_tasks',
    sql: { sqlite: sqlite44, postgres: postgres44 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 45,
    name: '0045_model_fallbacks',
    sql: { sqlite: sqlite45, postgres: postgres45 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 46,
    name: '0046_batches',
    sql: { sqlite: sqlite46, postgres: postgres46 },
    checks: [],
    back: {
      unless: [
        {
          query: 'select id from batches where ended_at = 0 limit 1',
          refusal: () => 'Batches have not ended, and the earlier version would not send the rest of them.',
        },
      ],
    },
  },
  {
    number: 47,
    name: '0047_unstored',
    sql: { sqlite: sqlite47, postgres: postgres47 },
    checks: [],
    back: unless(
      'select task_id from unstored_tasks limit 1',
      'Answers of vendors are still to be erased, an hour after their tasks, which the earlier version would not do.',
    ),
  },
  {
    number: 48,
    name: '0048_upstream_balances',
    sql: { sqlite: sqlite48, postgres: postgres48 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 49,
    name: '0049_drained_nodes',
    sql: { sqlite: sqlite49, postgres: postgres49 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 50,
    name: '0050_told_limits',
    sql: { sqlite: sqlite50, postgres: postgres50 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 51,
    name: '0051_rest_events',
    sql: { sqlite: sqlite51, postgres: postgres51 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 52,
    name: '0052_key_addresses',
    sql: { sqlite: sqlite52, postgres: postgres52 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 53,
    name: '0053_relayed_tasks',
    sql: { sqlite: sqlite53, postgres: postgres53 },
    checks: [],
    back: unless(
      'select relay_id from relay_requests where hidden_at <> 0 limit 1',
      'Users have deleted relayed requests, which the earlier version would show again.',
    ),
  },
  {
    number: 54,
    name: '0054_followed_requests',
    sql: { sqlite: sqlite54, postgres: postgres54 },
    checks: [],
    back: ALWAYS,
  },
  {
    number: 55,
    name: '0055_open_tasks',
    sql: { sqlite: sqlite55, postgres: postgres55 },
    checks: [],
    back: {
      unless: [],
      moved: {
        back: `
          drop index tasks_running;
          drop index tasks_open;
          create index tasks_unfinished on tasks (channel_id, platform)
            where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS');
          create index tasks_open on tasks (user_id, status, created_at)
            where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS');
          create index tasks_running on tasks (channel_id, upstream_model, credential_id, slots)
            where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and phase = 'sending';
          create index tasks_running_by_user on tasks (user_id, api_key_id, "group")
            where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and phase = 'sending';`,
        again: sqlite55,
      },
    },
  },
  {
    number: 56,
    name: '0056_hidden_tasks',
    sql: { sqlite: sqlite56, postgres: postgres56 },
    checks: [],
    back: ALWAYS,
  },
];
