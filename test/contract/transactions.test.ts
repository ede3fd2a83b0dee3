import { expect, test } from 'bun:test';
import { AppError, newUuid } from '../../src/kernel/index.ts';
import type { Repositories } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore, newTask, readLease } from './each-store.ts';

describeEachStore('transactions', (opened) => {
  const option = (key: string) => opened().store.options.get(key);

  test('a value is returned after the commit, and every reader sees what was written', async () => {
    const { store } = opened();
    const other = await opened().openAnother();
    for (let i = 0; i < 30; i += 1) {
      const key = newUuid();
      expect(await store.transaction(async (tx) => tx.options.put(key, 'in').then(() => i))).toBe(i);
      expect([await store.options.get(key), await other.options.get(key)]).toEqual(['in', 'in']);
      await store.options.put(key, 'alone');
      expect([await store.options.get(key), await other.options.get(key)]).toEqual(['alone', 'alone']);
    }
  });

  test('a transaction reads what it wrote; others do not before it ends', async () => {
    const { store } = opened();
    const other = await opened().openAnother();
    const key = newUuid();
    let seenOutside: string | undefined = 'unset';
    await store.transaction(async (tx) => {
      await tx.options.put(key, 'mine');
      expect(await tx.options.get(key)).toBe('mine');
      seenOutside = await other.options.get(key);
    });
    expect(seenOutside).toBeUndefined();
  });

  test('a transaction that throws leaves nothing, and its own error is thrown', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 1000 });
    const task = newTask({ userId: user.id });
    const fault = new TypeError('a fault of the work');
    const attempt = store.transaction(async (tx) => {
      await tx.ledger.reserve({
        walletId: user.walletId,
        userId: user.id,
        apiKeyId: null,
        taskId: task.taskId,
        attempt: 0,
        amount: 400,
        at: 1,
      });
      const row = await tx.tasks.insert(task);
      await tx.tasks.advance(readLease(row), { status: 'SUBMITTED' }, 0);
      await tx.options.put(task.taskId, 'x');
      throw fault;
    });
    await expect(attempt).rejects.toBe(fault);
    expect((await store.users.byId(user.id))?.quota).toBe(1000);
    expect(await store.tasks.byTaskId(task.taskId)).toBeUndefined();
    expect(await store.ledger.byTask(task.taskId)).toEqual([]);
    expect(await option(task.taskId)).toBeUndefined();
  });

  test('a statement that was begun beside a failure is taken back with the others', async () => {
    const { store } = opened();
    const key = newUuid();
    const fault = new Error('a fault of the work');
    const attempt = store.transaction((tx) => Promise.all([tx.options.put(key, 'beside'), Promise.reject(fault)]));
    await expect(attempt).rejects.toBe(fault);
    expect(await option(key)).toBeUndefined();
  });

  test('of 40 concurrent transactions the failing half harms none of the others', async () => {
    const { store } = opened();
    const user = await addUser(store, { balance: 40 });
    const keys = Array.from({ length: 40 }, () => newUuid());
    /** The first of a shared commit, too. */
    const fails = (i: number) => i % 2 === 0;
    const results = await Promise.allSettled(
      keys.map((key, i) =>
        store.transaction(async (tx) => {
          await tx.options.put(key, `${i}`);
          await tx.ledger.reserve({
            walletId: user.walletId,
            userId: user.id,
            apiKeyId: null,
            taskId: key,
            attempt: 0,
            amount: 1,
            at: 1,
          });
          if (fails(i)) throw new Error(`work ${i}`);
          return i;
        }),
      ),
    );
    for (const [i, result] of results.entries()) {
      if (fails(i)) expect(result).toMatchObject({ status: 'rejected', reason: { message: `work ${i}` } });
      else expect(result).toEqual({ status: 'fulfilled', value: i });
      expect(await option(keys[i] ?? '')).toBe(fails(i) ? undefined : `${i}`);
    }
    expect((await store.users.byId(user.id))?.quota).toBe(20);
  });

  test('a statement that the database refuses fails only its transaction, even when its code goes on', async () => {
    const { store } = opened();
    const task = await store.tasks.insert(newTask());
    const [key, neighbour] = [newUuid(), newUuid()];
    const [refused, stubborn, fine] = await Promise.allSettled([
      store.transaction((tx) => tx.tasks.insert(newTask({ taskId: task.taskId }))),
      store.transaction(async (tx) => {
        await tx.options.put(key, 'written before');
        await tx.tasks.insert(newTask({ taskId: task.taskId })).catch(() => undefined);
      }),
      store.transaction((tx) => tx.options.put(neighbour, 'fine')),
    ]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'store.broken_invariant' } });
    expect(stubborn).toMatchObject({ status: 'rejected', reason: { code: 'store.misused' } });
    expect(fine.status).toBe('fulfilled');
    expect([await option(key), await option(neighbour)]).toEqual([undefined, 'fine']);
  });

  test('two transactions that lock the same rows in opposite order both succeed', async () => {
    const { store } = opened();
    const [a, b] = [await addUser(store), await addUser(store)];
    const cross = (first: number, second: number) =>
      store.transaction(async (tx) => {
        await tx.users.recordSignIn(first, first);
        // Lets the other one take its first lock; on SQLite, where transactions run one after the
        // other, it has no effect.
        for (let i = 0; i < 5; i += 1) await tx.users.byId(first);
        await tx.users.recordSignIn(second, first);
      });
    await Promise.all([cross(a.id, b.id), cross(b.id, a.id)]);
    const logins = [(await store.users.byId(a.id))?.lastLoginAt, (await store.users.byId(b.id))?.lastLoginAt];
    expect(new Set(logins).size).toBe(1);
  });

  test('the store is refused inside a transaction, which would otherwise wait for itself', async () => {
    const { store } = opened();
    const misused = { code: 'store.misused' };
    await expect(store.transaction(() => store.options.put('k', 'v'))).rejects.toMatchObject(misused);
    await expect(store.transaction(() => store.options.get('k'))).rejects.toMatchObject(misused);
    await expect(store.transaction(() => store.transaction(async () => 1))).rejects.toMatchObject(misused);
    // Code that a transaction left behind may use the store once it has ended.
    const { later } = await store.transaction(async () => ({ later: new Promise((resolve) => setImmediate(resolve)) }));
    await later.then(() => store.options.get('k'));
  });

  test('a transaction used after its end is refused, also during the next one', async () => {
    const { store } = opened();
    let leaked: Repositories | undefined;
    await store.transaction(async (tx) => {
      leaked = tx;
    });
    await expect(leaked?.options.put('leak', 'v')).rejects.toMatchObject({ code: 'store.misused' });
    let attempt: Promise<unknown> | undefined;
    const start = Promise.withResolvers<void>();
    const outsider = start.promise.then(() => leaked?.options.put('leak', 'v'));
    outsider.catch(() => undefined);
    await store.transaction(async (tx) => {
      start.resolve();
      attempt = outsider.catch((error: unknown) => error) as Promise<unknown>;
      await attempt;
      await tx.options.put('own', 'v');
    });
    expect(await attempt).toMatchObject({ code: 'store.misused' });
    expect([await option('leak'), await option('own')]).toEqual([undefined, 'v']);
  });

  test('errors carry neither SQL nor data, their causes included', async () => {
    const { store } = opened();
    const secret = 'SECRET-VALUE';
    const task = await store.tasks.insert(newTask({ taskId: secret }));
    const error = await store.tasks.insert(newTask({ taskId: task.taskId })).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    const cause = (error as AppError).cause as Error;
    const said = [(error as AppError).message, cause.message, Bun.inspect(error)].join('\n');
    expect(said).not.toContain(secret);
    expect(said.toLowerCase()).not.toContain('insert into');
    expect(cause.message).toMatch(/^(SQLITE_CONSTRAINT_UNIQUE|23505 \(tasks, tasks_task_id\))$/);
  });

  test('this process is notified of a change at once, until it unsubscribes; a failing listener harms no other', async () => {
    const { store } = opened();
    const heard: string[] = [];
    const failing = store.subscribe(() => {
      throw new Error('listener');
    });
    const stop = store.subscribe((topic) => heard.push(topic));
    await store.publish('plugins');
    await store.publish('prices');
    expect(heard).toEqual(['plugins', 'prices']);
    stop();
    failing();
    await store.publish('options');
    expect(heard).toEqual(['plugins', 'prices']);
  });

  test('ping answers while open; after closing everything is refused as unavailable', async () => {
    const store = await opened().openAnother();
    await store.ping();
    await store.close();
    const unavailable = { kind: 'unavailable' };
    await expect(store.options.put('k', 'v')).rejects.toMatchObject(unavailable);
    await expect(store.options.get('k')).rejects.toMatchObject(unavailable);
    await expect(store.ping()).rejects.toMatchObject(unavailable);
    await expect(store.transaction(async (tx) => tx.options.get('k'))).rejects.toMatchObject(unavailable);
    await store.close();
  });
});
