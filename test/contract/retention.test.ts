/** Old rows: what goes, what stays, and that money is the same afterwards. */
import { expect, test } from 'bun:test';
import { newUuid, quoted, silentLogger, systemClock, withoutMessage } from '../../src/kernel/index.ts';
import { eraseUsersStep } from '../../src/operations/retention/erase-users.ts';
import {
  type RetentionSettings,
  type RetentionStep,
  retentionSteps,
} from '../../src/operations/retention/retention-steps.ts';
import type { NewTask, Store, TaskRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, addRunningTask, describeEachStore, newTask, readLease } from './each-store.ts';
import { openRaw, runRaw } from './open-raw.ts';

const DAY = 86_400;
const KEEP: RetentionSettings = {
  ...{ enabled: true, promptDays: 0, requestDays: 0, answerDays: 0, taskDays: 0, eventDays: 0 },
  ...{ usageDays: 0, ledgerDays: 0, webhookDays: 7 },
};
const now = systemClock.unix();
const daysAgo = (days: number) => now - days * DAY;

const request = { model: 'demo-1', action: 'text_to_video', body: { prompt: 'a cat \u0000' } };
const execution = {
  ...{ requestId: 'r', pluginKey: 'demo', pluginVersion: '1.0.0', generation: 1, surface: 'generic' },
  ...{ request, result: { url: 'https://vendor.example/cat.mp4' } },
};

/** An ended task with everything that it can leave behind. */
async function addEnded(store: Store, days: number, change: Partial<NewTask> = {}): Promise<TaskRecord> {
  const createdAt = daysAgo(days);
  const task = await store.tasks.insert(newTask({ createdAt, execution, ...change }));
  const { taskId, userId } = task;
  await store.tasks.addEvent({ taskId, at: createdAt, kind: 'transition', status: 'QUEUED', detail: 'a cat' });
  const ending = { status: 'SUCCESS', progress: '100%', finishTime: createdAt + 60 } as const;
  const answered = { data: { url: 'https://vendor.example/cat.mp4', prompt: 'a cat' }, state: { a: 1 } };
  expect(await store.tasks.advance(readLease(task), { ...ending, ...answered }, null)).toBe(true);
  await store.webhooks.putFinish(
    {
      ...{ eventId: newUuid(), taskId, userId, apiKeyId: 1, event: 'task.completed' as never },
      ...{ url: 'https://example.org/', host: 'example.org', payload: { prompt: 'a cat' }, createdAt },
    },
    1,
  );
  return task;
}

/**
 * As the gateway runs them; `batches`: at most this many of each step, as if it was killed then.
 */
async function runAll(steps: readonly RetentionStep[], { limit = 2, batches = Infinity } = {}): Promise<number> {
  let changed = 0;
  for (const step of steps) {
    for (let batch = 0; batch < batches; batch += 1) {
      const done = await step.run(limit);
      if (done.walked === 0) break;
      changed += done.changed;
    }
  }
  return changed;
}
const run = async (store: Store, change: Partial<RetentionSettings>, options = {}) =>
  runAll(await retentionSteps({ store, clock: systemClock }, { ...KEEP, ...change }), options);

const read = async (store: Store, task: TaskRecord) => (await store.tasks.byTaskId(task.taskId)) as TaskRecord;
const CONTENT = { promptDays: 90, requestDays: 90, answerDays: 90 };

describeEachStore(
  'retention',
  (opened) => {
    test('removes prompts, requests and answers of old ended tasks, and keeps the rest of the row', async () => {
      const { store } = opened();
      const [old, young] = [await addEnded(store, 100), await addEnded(store, 80)];
      const running = await addRunningTask(store, { createdAt: daysAgo(200), execution });
      expect(await run(store, CONTENT)).toBe(1);
      const stripped = await read(store, old);
      expect(stripped).toMatchObject({ status: 'SUCCESS', data: null, state: null, billing: old.billing });
      expect(stripped.properties).toEqual({ ...old.properties, input: '', expired: true });
      const { request: _request, result: _result, ...left } = execution;
      expect(stripped.execution).toEqual(left);
      for (const task of [young, running])
        expect(await read(store, task)).toMatchObject({ properties: { input: 'a cat' }, execution: { request } });
      expect((await store.tasks.events(old.taskId)).length).toBeGreaterThan(0);
    });

    test('parts have days of their own, and a request stays no longer than its prompt', async () => {
      const { store } = opened();
      const task = await addEnded(store, 50);
      await run(store, { promptDays: 40, requestDays: 365, answerDays: 60 });
      const stripped = await read(store, task);
      expect(stripped.properties).toMatchObject({ input: '' });
      expect(stripped.execution.request).toBeUndefined();
      expect(stripped.data).not.toBeNull();
      await run(store, { promptDays: 40, requestDays: 365, answerDays: 45 });
      expect((await read(store, task)).data).toBeNull();
    });

    test('nothing is removed while it is off, or while the days are 0', async () => {
      const { store } = opened();
      const task = await addEnded(store, 5000);
      expect(await run(store, { ...CONTENT, taskDays: 1, enabled: false })).toBe(0);
      expect(await run(store, {})).toBe(0);
      expect(await read(store, task)).toMatchObject({ properties: { input: 'a cat' } });
    });

    test('the next run continues where a killed one stopped, and finds a task that was still running then', async () => {
      const { store } = opened();
      const running = await addRunningTask(store, { createdAt: daysAgo(300), execution });
      const tasks: TaskRecord[] = [];
      for (const days of [110, 109, 108, 107, 106]) tasks.push(await addEnded(store, days));
      const inputs = () => Promise.all(tasks.map(async (task) => (await read(store, task)).properties.input));
      expect(await run(store, CONTENT, { batches: 2 })).toBe(3);
      expect(await inputs()).toEqual(['', '', '', 'a cat', 'a cat']);
      expect(await run(store, CONTENT)).toBe(2);
      expect(await inputs()).toEqual(['', '', '', '', '']);
      await runRaw(
        opened(),
        `update tasks set status = 'FAILURE', finish_time = ${now - 2 * DAY} where task_id = '${running.taskId}'`,
      );
      expect(await run(store, CONTENT)).toBe(1);
      expect((await read(store, running)).properties.input).toBe('');
      expect(await run(store, CONTENT)).toBe(0);
    });

    test('a task is deleted with timeline and notices, but not while its result is kept', async () => {
      const { store } = opened();
      const [old, kept] = [await addEnded(store, 400), await addEnded(store, 399)];
      await runRaw(
        opened(),
        `insert into kept_results (task_id, artifact_key, user_id, state, next_attempt_at, give_up_at, created_at)
         values ('${kept.taskId}', 'video', 1, 'kept', 0, 0, 0), ('${old.taskId}', 'video', 1, 'lost', 0, 0, 0)`,
      );
      const { taskId, userId } = old;
      const file = { sha256: 'a'.repeat(64), bytes: 9, mimeType: 'image/webp', keptAt: 1, keptUntil: 0 };
      const preview = { taskId, userId, artifactKey: 'preview:video', kind: 'preview', createdAt: 1 };
      expect(await store.previews.add(preview, file)).toBe('kept');
      expect(await run(store, { taskDays: 365 })).toBe(1);
      expect(await store.results.files('', 10)).toEqual([{ sha256: file.sha256, bytes: 9, refs: 0 }]);
      expect(await store.tasks.byTaskId(old.taskId)).toBeUndefined();
      expect(await store.tasks.byTaskId(kept.taskId)).toBeDefined();
      const raw = openRaw(opened());
      for (const table of ['task_events', 'webhook_outbox', 'kept_results']) {
        const rows = await raw.rows(`select distinct task_id from ${table}`);
        expect({ table, rows }).toMatchObject({ table, rows: [{ task_id: kept.taskId }] });
      }
      await raw.run(`delete from kept_results`);
      await raw.close();
      expect(await run(store, { taskDays: 365 })).toBe(1);
    });

    test('a task goes with the files of its request', async () => {
      const { store } = opened();
      const { taskId, userId } = await addEnded(store, 400);
      const [sha256, bytes] = ['b'.repeat(64), 9];
      const kept = { taskId, userId, keptAt: 1, keptUntil: 0, files: [{ artifactKey: 'input:0', bytes, sha256 }] };
      expect(await store.transaction((tx) => tx.results.keepFiles(kept))).toBe(true);
      expect(await run(store, { taskDays: 365 })).toBe(1);
      expect(await store.tasks.byTaskId(taskId)).toBeUndefined();
      expect(await store.results.listInputs(taskId)).toEqual([]);
      expect(await store.results.files(sha256.slice(0, -1), 1)).toEqual([{ sha256, bytes, refs: 0 }]);
    });

    test('usage rows go after the figures by day hold them, and the figures stay', async () => {
      const { store } = opened();
      const usage = { userId: 1, walletId: 1, apiKeyId: 1, taskId: 't', channelId: 1, pluginKey: 'demo', model: 'm' };
      for (const days of [400, 400, 399, 10])
        await store.logs.addUsage({
          ...{ ...usage, kind: 'settle', quota: 7, detail: {}, createdAt: daysAgo(days) },
        });
      const figures = () => store.figures.usageByDay({ sinceDay: 0 });
      const before = await figures();
      expect(await store.retention.deleteUsage(now, 10)).toBe(0);
      expect(await run(store, { usageDays: 365 })).toBe(3);
      expect((await store.logs.listUsage({}, { page: 1, pageSize: 10 })).total).toBe(1);
      const sorted = (rows: Awaited<typeof before>) => [...rows].sort((a, b) => a.day - b.day);
      expect(sorted(await figures())).toEqual(sorted(before));
    });

    test('ledger lines of ended tasks become one line a user and month, and every balance stays', async () => {
      const { store } = opened();
      const users = [await addUser(store, { balance: 1000 }), await addUser(store, { balance: 500 })];
      const at = Date.UTC(2024, 0, 20) / 1000;
      const book = async (userId: number, days: number, status: 'SUCCESS' | 'open') => {
        const task = await addRunningTask(store, { userId, quota: 10, createdAt: at + days * DAY });
        await store.transaction(async (tx) => {
          const entry = {
            walletId: userId,
            userId,
            apiKeyId: null,
            taskId: task.taskId,
            attempt: 0,
            at: at + days * DAY,
          };
          await tx.ledger.reserve({ ...entry, amount: 10 });
          if (status === 'open') return;
          await tx.ledger.post({ ...entry, kind: 'settle', amount: 3 });
        });
        if (status === 'SUCCESS')
          await runRaw(opened(), `update tasks set status = 'SUCCESS', quota = 7 where task_id = '${task.taskId}'`);
        return task;
      };
      for (const user of users) for (const days of [0, 1, 15, 16, 17]) await book(user.id, days, 'SUCCESS');
      const first = users[0]?.id ?? 0;
      const open = await book(first, 2, 'open');
      const balances = async () => (await store.users.lock(users.map(({ id }) => id))).map(({ quota }) => quota);
      const before = await balances();

      await run(store, { ledgerDays: 365 }, { limit: 3, batches: 3 });
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      await run(store, { ledgerDays: 365 }, { limit: 3 });
      expect(await balances()).toEqual(before);
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      const lines = async () => (await store.ledger.list(first, { page: 1, pageSize: 50 })).items;
      expect((await lines()).map(({ kind, amount, note }) => [kind, amount, note])).toEqual([
        ['reserve', -10, ''],
        ['carried', -21, '2024-02'],
        ['carried', -14, '2024-01'],
        ['grant', 1000, ''],
      ]);

      // The open one ends: its lines are folded by a later run.
      await store.ledger.post({
        ...{
          walletId: first,
          apiKeyId: null,
          taskId: open.taskId,
          kind: 'settle',
          attempt: 0,
          amount: 10,
          at: at + 3 * DAY,
        },
      });
      await runRaw(opened(), `update tasks set status = 'FAILURE', quota = 0 where task_id = '${open.taskId}'`);
      await run(store, { ledgerDays: 365 });
      expect((await lines()).map(({ kind, amount }) => [kind, amount])).toEqual([
        ['carried', -21],
        ['carried', -14],
        ['grant', 1000],
      ]);
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
    });

    test('two nodes that fold the same lines at once count each once', async () => {
      const { store, openAnother } = opened();
      const user = await addUser(store, { balance: 100_000 });
      for (let i = 0; i < 40; i += 1)
        await store.ledger.post({
          ...{
            walletId: user.walletId,
            apiKeyId: null,
            taskId: newUuid(),
            kind: 'settle',
            attempt: 0,
            amount: -i,
            at: 100,
          },
        });
      const other = await openAnother();
      await Promise.all([store, other].map((node) => run(node, { ledgerDays: 365 }, { limit: 7 })));
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      const { items } = await store.ledger.list(user.id, { page: 1, pageSize: 50 });
      expect(items.filter(({ kind }) => kind === 'carried')).toMatchObject([{ amount: -780 }]);
    });

    test('a deleted account is erased with its content, and its bills and the audit chains hold', async () => {
      const { store } = opened();
      const [user, other] = [await addUser(store, { username: 'ada' }), await addUser(store)];
      const tasks = [await addEnded(store, 1, { userId: user.id }), await addEnded(store, 1, { userId: user.id })];
      const running = await addRunningTask(store, { userId: user.id, createdAt: now, execution });
      const foreign = await addEnded(store, 1, { userId: other.id });
      const audit = { authMethod: 'session', ip: '203.0.113.7', createdAt: now };
      const own = { ...audit, userId: user.id, username: 'ada' };
      await store.logs.addAudit({ ...own, action: 'auth.login', target: '', detail: { limited_as: '203.0.113.9' } });
      await store.logs.addAudit({ ...own, action: 'channel.update', target: 'channel:1', detail: { after: { a: 1 } } });
      const key = { name: 'at home', allow_ips: ['203.0.113.7'], webhook_url: 'https://ada.example.org' };
      await store.logs.addAudit({ ...own, action: 'api_key.create', target: 'api_key:4', detail: { after: key } });
      const phone = { before: { name: 'phone' }, after: { name: 'phone of Ada' } };
      await store.logs.addAudit({ ...own, action: 'user.passkey.rename', target: 'passkey:5', detail: phone });
      await store.logs.addAudit({
        ...{ ...audit, userId: other.id, username: 'bob', action: 'user.update', target: `user:${user.id}` },
        detail: { before: { email: 'ada@example.org' } },
      });
      const session = { sid: 's-1', userId: user.id, version: 1, userAuthVersion: 1, status: 'revoked' } as const;
      await store.sessions.insert({
        ...{ ...session, refreshHash: 'h', previousRefreshHash: null, previousValidUntil: 0, loginMethod: 'password' },
        ...{ ip: '203.0.113.7', addressKey: '203.0.113.7', userAgent: 'Ada’s browser', createdAt: now },
        ...{ lastActiveAt: now, expiresAt: now + 3600, revokedAt: now, revokedReason: 'user_deleted' },
      });
      const erase = (batches = Infinity) =>
        runAll([eraseUsersStep({ store, clock: systemClock, logger: silentLogger })], { batches });

      expect(await erase()).toBe(0);
      const deletedAt = systemClock.unix();
      await runRaw(opened(), `update users set deleted_at = ${deletedAt} where id = ${user.id}`);
      // A request that began before the deletion may still write what it did.
      expect(await erase()).toBe(0);
      await runRaw(opened(), `update users set deleted_at = ${deletedAt - 60} where id = ${user.id}`);
      await erase(1);
      await erase();
      // One still runs, so a later run looks again, and writes nothing.
      expect(await erase()).toBe(0);
      for (const task of tasks) {
        expect(await read(store, task)).toMatchObject({ data: null, properties: { input: '' }, callbackUrl: null });
        expect((await read(store, task)).hiddenAt).toBeGreaterThan(0);
        expect(await store.tasks.events(task.taskId)).toEqual([]);
      }
      expect(await read(store, running)).toMatchObject({ properties: { input: 'a cat' }, hiddenAt: 0 });
      expect(await read(store, foreign)).toMatchObject({ properties: { input: 'a cat' }, hiddenAt: 0 });
      expect(await store.personalData.usersToErase(0, { limit: 10, deletedUntil: systemClock.unix() })).toEqual([
        user.id,
      ]);

      const raw = openRaw(opened());
      await raw.run(`update tasks set status = 'FAILURE', finish_time = ${now} where task_id = '${running.taskId}'`);
      await erase();
      expect(await store.personalData.usersToErase(0, { limit: 10, deletedUntil: systemClock.unix() })).toEqual([]);
      expect(await read(store, running)).toMatchObject({ properties: { input: '' } });
      const rows = await raw.rows('select username, ip, detail from audit_logs where redacted_by > 0 order by id');
      const name = `deleted:${user.id}`;
      expect(rows).toEqual([
        { username: name, ip: '', detail: '{}' },
        { username: name, ip: '', detail: '{"after":{"a":1}}' },
        { username: name, ip: '', detail: '{}' },
        { username: name, ip: '', detail: '{}' },
        { username: 'bob', ip: '203.0.113.7', detail: '{}' },
      ]);
      expect((await store.logs.verifyAudit()).faults).toEqual([]);
      expect(await store.sessions.bySid('s-1')).toMatchObject({
        status: 'revoked',
        ip: '',
        addressKey: '',
        userAgent: '',
      });
      const [{ payloads } = {}] = await raw.rows(
        `select count(*) as payloads from webhook_outbox where user_id = ${user.id}`,
      );
      expect(Number(payloads)).toBe(0);
      await raw.run("update audit_logs set username = 'eve' where action = 'channel.update'");
      expect((await store.logs.verifyAudit()).faults).toMatchObject([{ chain: 'change', fault: 'changed' }]);
      await raw.close();
    });

    test('what a request from before the deletion still wrote about the account goes as well', async () => {
      const { store } = opened();
      const user = await addUser(store);
      await runRaw(opened(), `update users set deleted_at = ${systemClock.unix() - 60} where id = ${user.id}`);
      const key = await addKey(store, user.id, { webhookUrl: 'https://ada.example.org' });
      await store.taskViews.save({ userId: user.id, name: 'my cats', query: 'q=cat', createdAt: now }, 50);
      const choice = { threshold: 5, mail: true, webhookUrl: 'https://ada.example.org' };
      await store.balanceAlerts.choose(user.id, choice, now);
      await store.twoFactor.begin({ userId: user.id, secretSealed: 'sealed', createdAt: now });
      await runAll([eraseUsersStep({ store, clock: systemClock, logger: silentLogger })]);
      expect(await store.apiKeys.byId(key.id)).toBeUndefined();
      expect(await store.taskViews.list(user.id)).toEqual([]);
      expect(await store.balanceAlerts.byUser(user.id)).toBeUndefined();
      expect(await store.twoFactor.byUser(user.id)).toBeUndefined();
    });

    test('an account that was erased by its number at once is erased again when late requests have ended', async () => {
      const { store } = opened();
      const user = await addUser(store);
      await runRaw(opened(), `update users set deleted_at = ${systemClock.unix()} where id = ${user.id}`);
      const early = await addEnded(store, 1, { userId: user.id });
      const deps = { store, clock: systemClock, logger: silentLogger };
      await runAll([eraseUsersStep(deps, user.id)]);
      expect(await read(store, early)).toMatchObject({ properties: { input: '' } });
      // A request from before the deletion.
      const late = await addEnded(store, 1, { userId: user.id });
      await runRaw(opened(), `update users set deleted_at = deleted_at - 60 where id = ${user.id}`);
      await runAll([eraseUsersStep(deps)]);
      expect(await read(store, late)).toMatchObject({ properties: { input: '' } });
      expect(await runAll([eraseUsersStep(deps)])).toBe(0);
      expect(await store.personalData.usersToErase(0, { limit: 10, deletedUntil: systemClock.unix() })).toEqual([]);
    });

    test('no bill of a deleted account quotes a prompt any more, and its sums are the same', async () => {
      const { store } = opened();
      const user = await addUser(store, { username: 'ada' });
      const reason = 'the prompt "a cat" is not allowed';
      const refusal = { code: 'tasks.upstream_rejected', kind: 'unprocessable' as const, message: reason };
      const task = await store.tasks.insert(
        newTask({ userId: user.id, createdAt: now, execution: { ...execution, failure: refusal } }),
      );
      const said = withoutMessage(quoted(reason));
      const failed = { status: 'FAILURE', failReason: reason, failReasonSentence: said, finishTime: now } as const;
      await store.tasks.advance(readLease(task), failed, null);
      expect(await read(store, task)).toMatchObject({ failReasonSentence: said });
      const bill = { taskId: task.taskId, userId: user.id, walletId: user.walletId, apiKeyId: null };
      await store.ledger.grant({
        walletId: user.walletId,
        kind: 'topup',
        key: 'top',
        amount: 500,
        note: 'invoice 7',
        at: now,
      });
      await store.ledger.reserve({ ...bill, attempt: 0, amount: 70, at: now });
      await store.ledger.post({ ...bill, kind: 'refund', attempt: 0, amount: 70, note: quoted(reason), at: now });
      const page = { page: 1, pageSize: 10 };
      const usage = { ...bill, channelId: 1, pluginKey: 'demo', model: 'demo-1', quota: 70, createdAt: now };
      await store.logs.addUsage({ ...usage, kind: 'refund', detail: { usd: 0, reason }, reasonSentence: said });
      expect((await store.logs.listUsage({ userId: user.id }, page)).items).toMatchObject([{ reasonSentence: said }]);
      await runRaw(opened(), `update users set deleted_at = ${daysAgo(1)} where id = ${user.id}`);
      await runAll([eraseUsersStep({ store, clock: systemClock, logger: silentLogger })], { limit: 1 });

      const { items } = await store.ledger.list(user.id, page);
      expect(items.map(({ kind, amount, note }) => [kind, amount, note])).toEqual([
        ['refund', 70, ''],
        ['reserve', -70, ''],
        ['topup', 500, 'invoice 7'],
      ]);
      expect((await store.logs.listUsage({ userId: user.id }, page)).items).toMatchObject([
        { quota: 70, detail: { usd: 0 } },
      ]);
      expect(JSON.stringify([items, await store.logs.listUsage({}, page), await read(store, task)])).not.toContain(
        'cat',
      );
      expect((await read(store, task)).execution.failure?.code).toBe('tasks.upstream_rejected');
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      expect(await store.personalData.usersToErase(0, { limit: 10, deletedUntil: systemClock.unix() })).toEqual([]);
    });

    test('a row that is only said to be redacted is found to be changed', async () => {
      const { store } = opened();
      const row = { userId: 1, username: 'ada', authMethod: 'session', ip: '', target: 'channel:1', detail: {} };
      for (const action of ['channel.create', 'channel.update', 'channel.delete'] as const)
        await store.logs.addAudit({ ...row, action, createdAt: 1 });
      await runRaw(
        opened(),
        `update audit_logs set username = 'eve', redacted_by = id + 1 where action = 'channel.update'`,
      );
      expect((await store.logs.verifyAudit()).faults).toMatchObject([{ chain: 'change', fault: 'changed' }]);
    });
  },
  { fresh: 'test' },
);

describeEachStore(
  'the room of removed content',
  (opened) => {
    test('is free for new rows in the same file', async () => {
      const { store } = opened();
      const properties = { input: 'a cat '.repeat(400), originModelName: 'm', upstreamModelName: 'm' };
      for (let n = 0; n < 60; n += 1) await addEnded(store, 100, { properties });
      const before = await store.figures.databaseSize();
      expect(await run(store, CONTENT, { limit: 20 })).toBe(60);
      const { freeBytes } = await store.figures.databaseSize();
      expect(freeBytes - before.freeBytes).toBeGreaterThan(60 * 1000);
    });
  },
  { databases: ['sqlite'] },
);
