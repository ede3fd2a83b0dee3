/** Case files: who may read which, what they never show, and the links that share them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { CaseAudience, CaseKind } from '../../src/reports/index.ts';
import type { Store, TaskRecord, UserRecord } from '../../src/store/ports/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { createMovableClock } from '../support/movable-clock.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const DAY = 86_400;
const PROMPT = 'a secret recipe in the prompt';

const describeCases = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  let channelId: number;
  const clock = createMovableClock();
  const people = {} as Record<'owner' | 'other' | 'admin' | 'root', UserRecord>;
  let done: TaskRecord;
  let failed: TaskRecord;

  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox, { clock });
    channelId = await engine.addChannel();
    await engine.start();
    const owner = await addCaller(store, 10_000_000, { language: 'de' });
    people.owner = owner.user;
    people.other = (await addCaller(store)).user;
    people.admin = (await addCaller(store, 0, { role: 10 })).user;
    people.root = (await addCaller(store, 0, { role: 100 })).user;
    done = await submit(owner, PROMPT);
    failed = await submit(owner, `${PROMPT} [fail]`);
  });
  afterAll(() => engine.stop());

  async function submit(caller: Awaited<ReturnType<typeof addCaller>>, prompt: string): Promise<TaskRecord> {
    const body = { model: 'demo-video', prompt, seconds: 3 };
    const task = await engine.surfaces.submitGeneric(caller, {
      requestId: 'r',
      pluginKey: 'demo',
      request: jsonRequest(body),
    });
    engine.finishJobs();
    return ended(store, task.taskId);
  }

  const read = (reader: UserRecord, [kind, id]: [CaseKind, string | number], audience: CaseAudience = 'operator') =>
    engine.reports.caseFile({ kind, id: String(id), audience, reader });
  const isRefused = (found: Promise<unknown>) =>
    expect(found).rejects.toMatchObject({ code: 'reports.case_not_found' });

  test('a task that succeeded is explained with its bill, in words that can be sent', async () => {
    const found = await read(people.owner, ['task', done.taskId], 'user');
    expect(found).toMatchObject({ language: 'de', money: { reserved: 30_000, charged: 30_000, refunded: 0 } });
    expect(found.answer.map(({ reason }) => reason)).toEqual(['cases.task_succeeded', 'cases.charged']);
    expect(found.answer[1]?.message).toBe('It cost $0.06, as estimated.');
    // The panel leads from the key's name to its page.
    expect(found.facts.find(({ name }) => name === 'api_key')).toMatchObject({ id: done.apiKeyId });
  });

  test('a task that failed says why, and that its money is back', async () => {
    const found = await read(people.admin, ['task', failed.taskId]);
    expect(found.answer.map(({ reason }) => reason).slice(0, 2)).toEqual(['cases.task_failed', 'cases.refunded']);
    expect(found.money).toEqual({ reserved: 30_000, charged: 0, refunded: 30_000 });
    expect(found.said?.text).toBe(failed.failReason);
    expect(found.ledger.reduce((sum, { amount }) => sum + amount, 0)).toBe(0);
  });

  test('what names the channel, the key and the vendor is for operators, and audit rows for root', async () => {
    await store.transaction((tx) =>
      tx.logs.addAudit({
        ...{ userId: people.root.id, username: 'root', authMethod: 'session', ip: '203.0.113.9' },
        ...{ action: 'task.answer', target: `task:${done.taskId}`, detail: {}, createdAt: clock.unix() },
      }),
    );
    const names = async (reader: UserRecord, audience: CaseAudience) =>
      (await read(reader, ['task', done.taskId], audience)).facts.map(({ name }) => name);
    const private_ = ['channel', 'upstream_model', 'vendor_id', 'user'];
    expect(await names(people.admin, 'operator')).toEqual(expect.arrayContaining(private_));
    for (const [reader, audience] of [
      [people.owner, 'user'],
      [people.root, 'user'],
    ] as const) {
      const shown = await names(reader, audience);
      expect(private_.filter((name) => shown.includes(name))).toEqual([]);
    }
    expect((await read(people.root, ['task', done.taskId])).audit).toMatchObject([{ action: 'task.answer' }]);
    expect((await read(people.admin, ['task', done.taskId])).audit).toEqual([]);
    expect((await read(people.root, ['task', done.taskId], 'user')).audit).toEqual([]);
  });

  test('no case file has a key, a prompt, a vendor’s answer or an address of a person', async () => {
    // A key without a label is named by its last characters there.
    const channels = ['#7 (6789) rate_limited', '#8 key'];
    await store.tasks.notePassedOver(failed.taskId, { at: clock.unix(), channels });
    const { timeline } = await read(people.root, ['task', failed.taskId]);
    expect(timeline.find((event) => event.kind === 'passed_over')?.detail).toBe('#7 rate_limited, #8 key');
    for (const [kind, id] of [
      ['task', done.taskId],
      ['task', failed.taskId],
      ['user', people.owner.id],
      ['channel', channelId],
    ] as const) {
      const text = JSON.stringify(await read(people.root, [kind, id]));
      for (const secret of ['vendor-key-0123456789', '6789', PROMPT, '203.0.113.9', engine.vendorUrl])
        expect([kind, secret, text.includes(secret)]).toEqual([kind, secret, false]);
    }
  });

  test('users read their own tasks alone; administrators no account of their rank', async () => {
    await isRefused(read(people.other, ['task', done.taskId], 'user'));
    await isRefused(read(people.owner, ['task', done.taskId], 'operator'));
    await isRefused(read(people.owner, ['user', people.owner.id], 'user'));
    await isRefused(read(people.owner, ['channel', channelId]));
    await isRefused(read(people.admin, ['user', people.root.id]));
    await isRefused(read(people.admin, ['channel', channelId], 'user'));
    for (const id of ['0', '1e3', '../1', '999999', ''])
      for (const kind of ['task', 'user', 'channel'] as const) await isRefused(read(people.root, [kind, id]));
    expect((await read(people.admin, ['user', people.owner.id])).title).toBe(people.owner.username);
  });

  test('accounts and channels are explained by what ended recently', async () => {
    const user = await read(people.admin, ['user', people.owner.id]);
    expect(user.answer.map(({ reason }) => reason)).toEqual([
      'cases.user_tasks',
      'cases.only_failure',
      'cases.user_balance',
    ]);
    expect(user.answer[0]?.params).toEqual({ succeeded: 1, failed: 1, amount: 0.06 });
    expect(user.ledger.slice(0, 2).map(({ kind, amount, taskId, model }) => [kind, amount, taskId, model])).toEqual(
      expect.arrayContaining([
        ['task_charged', -30_000, done.taskId, 'demo-video'],
        ['task_refunded', 0, failed.taskId, 'demo-video'],
      ]),
    );
    for (const each of [...user.failures, ...(await read(people.admin, ['user', people.owner.id], 'user')).failures])
      expect(Object.keys(each).sort()).toEqual(['reason', 'sentence', 'tasks']);
    const channel = await read(people.admin, ['channel', channelId]);
    expect(channel.answer[0]?.reason).toBe('cases.channel_ready');
    expect(channel.answer[1]?.params).toEqual({ succeeded: 1, failed: 1 });
  });

  const shareDone = async (issuer: UserRecord, audience: CaseAudience = 'user') => {
    const shared = { kind: 'task', id: done.taskId, audience } as const;
    return (await engine.results.caseLinks.issue(shared, { id: issuer.id, days: 7 })).access;
  };
  const open = (access: string, id = done.taskId) =>
    engine.results.caseLinks.open({ kind: 'task', id, access, address: '198.51.100.7' });

  test('a link opens what it was made for, until it expires', async () => {
    const access = await shareDone(people.owner);
    expect(await open(access)).toMatchObject({ audience: 'user', issuer: { id: people.owner.id } });
    clock.pass((7 * DAY - 60) * 1000);
    expect(await open(access)).toBeDefined();
    clock.pass(61_000);
    expect(await open(access)).toBeUndefined();
  });

  test('forged: another task, audience, issuer, expiry or kind of link opens nothing', async () => {
    const access = await shareDone(people.owner);
    const [audience, issuer, expiresAt, ...rest] = access.split('.');
    const artifact = (await engine.results.artifacts(done)).artifacts[0]?.content_url ?? '';
    const foreign = new URL(artifact).searchParams.get('access') ?? '';
    const forged = [
      ['operator', issuer, expiresAt, ...rest].join('.'),
      [audience, String(people.root.id), expiresAt, ...rest].join('.'),
      [audience, issuer, String(Number(expiresAt) + DAY), ...rest].join('.'),
      `${audience}.${issuer}.${foreign}`,
      `user.${people.owner.id}.${foreign.length === 43 ? `0.0.${foreign}` : foreign}`,
      '',
      'user.1.',
    ];
    for (const each of forged) expect([each, await open(each)]).toEqual([each, undefined]);
    expect(await open(access, failed.taskId)).toBeUndefined();
  });

  test('a link ends with the rights of its issuer, and with their and the task’s links', async () => {
    const byAdmin = await shareDone(people.admin, 'operator');
    const opened = await open(byAdmin);
    expect(opened?.audience).toBe('operator');
    await store.users.administer(people.admin.id, { role: 1 }, people.admin.authVersion);
    const demoted = await open(byAdmin);
    await isRefused(read(demoted?.issuer as UserRecord, ['task', done.taskId], 'operator'));

    const before = await shareDone(people.owner);
    await engine.results.revokeLinks((await store.tasks.byTaskId(done.taskId)) as TaskRecord);
    expect(await open(before)).toBeUndefined();
    const after = await shareDone(people.owner);
    expect(await open(after)).toBeDefined();
    await store.users.moveLinkVersion(people.owner.id);
    expect(await open(after)).toBeUndefined();
  });

  test('a link that others shared ends when the owner deletes the task, and with the owner’s account', async () => {
    const leaver = await addCaller(store, 10_000_000);
    const [hidden, kept] = [await submit(leaver, PROMPT), await submit(leaver, PROMPT)];
    const share = ({ taskId: id }: TaskRecord) =>
      engine.reports.caseFile({ kind: 'task', id, audience: 'user', reader: people.root, isShared: true });
    expect(await share(hidden)).toBeDefined();
    await engine.tasks.delete(leaver.user.id, hidden.taskId);
    await isRefused(share(hidden));
    expect(await read(people.root, ['task', hidden.taskId])).toBeDefined();
    expect(await share(kept)).toBeDefined();
    await store.transaction((tx) => tx.users.softDelete(leaver.user.id, leaver.user.authVersion, clock.unix()));
    await isRefused(share(kept));
    expect(await read(people.root, ['task', kept.taskId])).toBeDefined();
  });

  test('links that are guessed are counted and stopped', async () => {
    const guess = () => open(`user.1.99999999999.0.${'a'.repeat(43)}`);
    await expect(
      (async () => {
        for (let tries = 0; tries < 100; tries += 1) await guess();
      })(),
    ).rejects.toMatchObject({ code: 'tasks.artifact_access_limited' });
  });
};

describeEachStore('case files', (opened) => describe('with the demo vendor', () => describeCases(opened)), {
  databases: RULE_DATABASES,
});
