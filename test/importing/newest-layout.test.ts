/** The layout of late 2026: plugins with versions, channels bound to them, prices of their own. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import type { ImportReport } from '../../src/importing/report.ts';
import { sha256Hex } from '../../src/kernel/index.ts';
import { type OpenedStore, openTestStore, pluginSource } from '../plugins/support.ts';
import { copySample, sampleFile } from '../support/new-api-source.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { importFrom, secretBox } from './import-from.ts';

const quote = (value: unknown): string =>
  value === null || typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
const insert = (table: string, row: Record<string, unknown>): string =>
  `insert into "${table}" (${Object.keys(row)
    .map((name) => `"${name}"`)
    .join(', ')}) values (${Object.values(row).map(quote).join(', ')})`;

const versionFor = (key: string, version: string) => pluginSource({ key, version, models: [`${key}-1`] });
const plugin = (key: string, version: string, more: object = {}) => {
  const source = versionFor(key, version);
  return insert('task_plugins', {
    ...{ key, version, api_version: 1, source, source_hash: sha256Hex(source), enabled: 1, active: 0 },
    ...{ remark: '', created_at: 1_790_000_000, ...more },
  });
};
const channel = (id: number, type: number, more: object) =>
  insert('channels', {
    ...{
      id,
      type,
      key: `key-${id}`,
      status: 1,
      name: `channel ${id}`,
      base_url: 'https://up.example',
      group: 'default',
    },
    ...{ models: 'incho-1', channel_info: '{}', created_time: 1_790_000_000, ...more },
  });
const option = (key: string, value: object | string) =>
  insert('options', { key, value: typeof value === 'string' ? value : JSON.stringify(value) });

let opened: OpenedStore;
let path: string;
let report: ImportReport;
const SCRIPT = 'export const buildBalanceRequest = () => ({});';

beforeAll(async () => {
  opened = await openTestStore('sqlite');
  path = sampleFile(
    'delete from channels',
    "delete from options where key like 'Model%' or key like 'billing_setting%'",
    'create table task_plugins (id integer primary key, key text, version text, api_version integer, source text, source_hash text, icon text, enabled numeric, active numeric, created_at bigint, remark text)',
    plugin('incho', '1.0.0'),
    plugin('incho', '1.1.0', { active: 1, remark: 'the new one' }),
    plugin('alibaba', '1.4.2', { active: 1, enabled: 0 }),
    plugin('broken', '1.0.0', { source_hash: sha256Hex('another') }),
    channel(1, 61, { setting: '{"task_plugin_key":"incho"}' }),
    channel(2, 61, { setting: '{}' }),
    channel(3, 60, {
      models: 'incho-1,doubao-seedance-2-0-260128,gpt-4o',
      setting: '{"task_plugin_key":"incho","task_extend_plugin_keys":["google","incho"]}',
    }),
    channel(4, 60, { models: 'gpt-4o', setting: '' }),
    channel(5, 48, { models: 'grok-4', base_url: '', settings: JSON.stringify({ balance_script: SCRIPT }) }),
    channel(6, 1, {
      models: 'gpt-4o',
      setting: '{"proxy":"socks5://user:p%40ss@proxy.lan"}',
      header_override: '{"X-Manager":"one","x-key":"of {api_key}","X-Empty":""}',
    }),
    channel(7, 1, {
      models: 'gpt-4o',
      setting: '{"proxy":"ftp://proxy.lan"}',
      header_override: JSON.stringify({
        ...{ '*': true, 'regex:^x-': '', 'X-Client': '{client_header:X-Client}', 'X-Manager': 'one' },
        ...{ Authorization: 'Bearer {api_key}', Host: 'x', 'X-Number': 7, 'bad name': 'x' },
      }),
    }),
    channel(8, 1, {
      models: 'gpt-4o',
      key: 'one\ntwo',
      channel_info: '{"is_multi_key":true}',
      header_override: '{"X-Key":"{api_key}"}',
    }),
    channel(9, 1, { models: 'gpt-4o', header_override: '["X-Manager"]' }),
    channel(10, 48, {
      models: 'grok-4,grok-imagine-video,clip',
      model_mapping: '{"clip":"grok-imagine-video-1.5","grok-4":"grok-4-latest"}',
    }),
    channel(11, 48, { models: 'grok-imagine-video' }),
    option('billing_setting.billing_mode', { 'incho-1': 'tiered_expr' }),
    option('billing_setting.billing_expr', { 'incho-1': '0.9' }),
    option('billing_setting.plugin_billing_expr', {
      'incho::incho-1': 'v1:0.05 * u("images")',
      'google::incho-1': '1',
    }),
    option('ModelPrice', { 'grok-4': 0.5, 'gpt-4o': 0.25 }),
  );
  report = await importFrom(opened.store, path);
});
afterAll(() => opened.close());

const remarks = (kind: string) =>
  report.remarks.filter((remark) => remark.kind === kind).map(({ id, effect, code }) => `${id} ${effect} ${code}`);

test('plugins come with all their versions, and serve the one that served there', async () => {
  expect(
    (await opened.store.plugins.versions('incho')).map(({ version, active, remark }) => [version, active, remark]),
  ).toEqual([
    ['1.1.0', true, 'the new one'],
    ['1.0.0', false, ''],
  ]);
  expect((await opened.store.plugins.versions('alibaba')).map(({ active, enabled }) => [active, enabled])).toEqual([
    [true, false],
  ]);
  expect(remarks('plugin')).toEqual(['broken@1.0.0 left unreadable']);
  expect(await opened.store.plugins.versions('broken')).toEqual([]);
});

test('PostgreSQL, which has truth values of its own, says the same of them', async () => {
  const url = await testDatabaseUrl();
  const server = new SQL({ url, max: 1 });
  const target = await openTestStore('sqlite');
  try {
    await copySample(server, 'postgres', path);
    await importFrom(target.store, url);
    for (const key of ['incho', 'alibaba']) {
      const read = async ({ store }: OpenedStore) =>
        (await store.plugins.versions(key)).map(({ version, active, enabled }) => [version, active, enabled]);
      expect(await read(target)).toEqual(await read(opened));
    }
  } finally {
    await server.close();
    await target.close();
  }
});

test('a channel keeps the script that reads what is left at its vendor', async () => {
  const channels = await opened.store.channels.all();
  expect(channels.find(({ name }) => name === 'channel 5')?.settings).toEqual({ balance_script: SCRIPT });
  // It is code that gets the channel's key, which root alone may enter here.
  expect(remarks('channel')).toContain('5 note balance_script');
});

test('channels keep their plugins; another gateway serves the rest by relay', async () => {
  const channels = await opened.store.channels.all();
  expect(
    channels
      .slice(0, 5)
      .map(({ name, type, taskPluginKey, settings, baseUrl, models }) => [
        ...[name, type, taskPluginKey, settings.task_extend_plugin_keys, baseUrl, models.length],
      ]),
  ).toEqual([
    ['channel 1', 61, 'incho', undefined, 'https://up.example', 1],
    ['channel 3', 60, 'incho', ['gemini'], 'https://up.example', 3],
    ['channel 3 (relay)', 1, null, undefined, 'https://up.example', 3],
    ['channel 4', 1, null, undefined, 'https://up.example', 1],
    ['channel 5', 1, null, undefined, 'https://api.x.ai', 1],
  ]);
  expect(remarks('channel').slice(0, 2)).toEqual(['2 left no_plugin', '3 changed relay']);
});

test("a plugin's models of a vendor that is relayed otherwise get a channel of their own", async () => {
  const channels = (await opened.store.channels.all()).slice(9);
  expect(channels.map(({ name, type, models }) => [name, type, models])).toEqual([
    ['channel 10', 48, ['grok-imagine-video', 'clip']],
    ['channel 10 (relay)', 1, ['grok-4']],
    ['channel 11', 48, ['grok-imagine-video']],
  ]);
  expect(remarks('channel')).toContain('10 changed relay');
});

test('a channel keeps its proxy, which resolves names there, and its headers; what it cannot have here switches it off', async () => {
  const [good, ...others] = (await opened.store.channels.all()).slice(5, 9);
  expect(secretBox.open(good?.proxySealed ?? '')).toBe('socks5h://user:p%40ss@proxy.lan');
  expect(secretBox.open(good?.headersSealed ?? '')).toBe('{"X-Manager":"one","x-key":"of key-6"}');
  expect([good?.status, ...others.map(({ status }) => status)]).toEqual([1, 2, 2, 2]);
  expect(others.map(({ proxySealed }) => proxySealed)).toEqual([null, null, null]);
  const messageFor = (id: string) =>
    report.remarks.find((remark) => remark.kind === 'channel' && remark.id === id)?.message ?? '';
  for (const name of ['*', 'regex:^x-', 'X-Client', 'Authorization', 'Host', 'X-Number', 'bad name'])
    expect([name, messageFor('7').includes(`a header_override of "${name}"`)]).toEqual([name, true]);
  expect(messageFor('7')).toContain('a proxy that cannot be read');
  expect(messageFor('7')).not.toContain('"X-Manager"');
  expect(messageFor('8')).toContain('a header_override of "X-Key"');
  expect(messageFor('9')).toContain('a header_override that cannot be read');
});

test('prices of a plugin count before those of its model, over its own facts alone', async () => {
  const prices = (await opened.store.prices.all()).map((row) => [row.pluginKey, row.model, row.expression]);
  expect(prices).toContainEqual(['incho', 'incho-1', '0.05 * u("images")']);
  expect(prices).toContainEqual(['*', 'grok-4', '0.5']);
  expect(prices.filter(([key]) => key === 'gemini')).toEqual([]);
  expect(remarks('price')).toContain('incho-1 left inexact');
});

test('another run changes nothing', async () => {
  const again = await importFrom(opened.store, path);
  expect([again.taken, again.present.plugin, again.present.channel]).toEqual([{}, 3, 10]);
  expect(await opened.store.channels.all()).toHaveLength(12);
});

test('another run brings no version of a plugin back that was deleted here', async () => {
  const [plugin] = await opened.store.plugins.active();
  if (!plugin) throw new Error('the source has plugins');
  const { key, version } = plugin;
  expect(await opened.store.transaction((tx) => tx.plugins.delete(key, version, 1))).toBe(true);
  const again = await importFrom(opened.store, path);
  expect(again.taken).toEqual({});
  expect(again.remarks.map(({ id, code }) => `${id} ${code}`)).toContain(`${key}@${version} deleted_here`);
  expect(await opened.store.plugins.byVersion(key, version)).toBeUndefined();
});

test('a plugin of which no version served there serves nothing here', async () => {
  const target = await openTestStore('sqlite');
  try {
    const table =
      'create table task_plugins (key text, version text, api_version integer, source text, source_hash text, enabled numeric, active numeric, created_at bigint, remark text)';
    const report = await importFrom(target.store, sampleFile(table, plugin('idle', '1.0.0')));
    expect(report.taken.plugin).toBe(1);
    expect((await target.store.plugins.versions('idle')).map(({ active }) => active)).toEqual([false]);
  } finally {
    await target.close();
  }
});
