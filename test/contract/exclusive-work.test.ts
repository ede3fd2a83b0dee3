import { expect, test } from 'bun:test';
import { until } from '../support/until.ts';
import { describeEachStore } from './each-store.ts';

describeEachStore('exclusive work', (opened) => {
  test('runs once at a time under one name, and returns its value', async () => {
    const { store } = opened();
    let running = 0;
    const go = Promise.withResolvers<void>();
    const works = Array.from({ length: 5 }, (_, i) =>
      store.exclusively('clean-up', async () => {
        running += 1;
        await go.promise;
        return i;
      }),
    );
    const refused: unknown[] = [];
    for (const work of works) void work.then((value) => value === undefined && refused.push(value));
    await until(() => refused.length === 4);
    expect(running).toBe(1);
    expect(await store.exclusively('another', async () => 'done')).toBe('done');
    go.resolve();
    expect((await Promise.all(works)).filter((value) => value !== undefined)).toHaveLength(1);
    expect(running).toBe(1);
    expect(await store.exclusively('clean-up', async () => 'again')).toBe('again');
  });

  test('may use the store, and leaves no lock when it throws', async () => {
    const { store } = opened();
    const fault = new Error('fault');
    const attempt = store.exclusively('failing', async () => {
      await store.options.put('exclusive', 'x');
      throw fault;
    });
    await expect(attempt).rejects.toBe(fault);
    expect(await store.exclusively('failing', () => store.options.get('exclusive'))).toBe('x');
  });

  test('is refused inside a transaction and after closing', async () => {
    const another = await opened().openAnother();
    const misused = another.transaction(() => another.exclusively('inside', async () => 1));
    await expect(misused).rejects.toMatchObject({ code: 'store.misused' });
    await another.close();
    await expect(another.exclusively('closed', async () => 1)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
