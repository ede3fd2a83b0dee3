import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { OutcomeCount } from '../../src/store/ports/index.ts';
import { addRunningTask, describeEachStore, newTask, readLease } from './each-store.ts';

describeEachStore('sources that began tasks', (opened) => {
  const source = (key: string, sourceHash: string) => ({ sourceHash, key, version: '1.0.0', source: `// “${key}”` });

  test('a source is kept once and read by its hash; a task names it', async () => {
    const { store } = opened();
    const [key, hash] = [randomAlnum(8), randomAlnum(64)];
    await store.pluginSources.keep({ ...source(key, hash), at: 100 });
    await store.pluginSources.keep({ ...source(key, hash), source: 'other', at: 200 });
    expect(await store.pluginSources.read(hash)).toEqual(source(key, hash));
    expect(await store.pluginSources.read('unknown')).toBeUndefined();
    const task = await store.tasks.insert(newTask({ sourceHash: hash }));
    expect(await store.tasks.byTaskId(task.taskId)).toMatchObject({ sourceHash: hash });
    expect(await store.tasks.insert(newTask())).toMatchObject({ sourceHash: '' });
  });

  test('an adoption moves the tasks of all other sources of a key; a later one replaces it', async () => {
    const { store } = opened();
    const key = randomAlnum(8);
    const [one, two, three] = [randomAlnum(64), randomAlnum(64), randomAlnum(64)];
    for (const hash of [one, two, three]) await store.pluginSources.keep({ ...source(key, hash), at: 100 });
    const other = randomAlnum(64);
    await store.pluginSources.keep({ ...source(randomAlnum(8), other), at: 100 });
    const adoptions = async () =>
      (await store.pluginSources.adoptions())
        .filter(({ sourceHash }) => [one, two, three, other].includes(sourceHash))
        .map(({ sourceHash, adoptedBy, adoptedAt }) => [sourceHash, adoptedBy, adoptedAt]);
    await store.pluginSources.adopt({ key, by: two, at: 150 });
    expect(await adoptions()).toEqual(
      [
        [one, two, 150],
        [three, two, 150],
      ].sort(),
    );
    await store.pluginSources.adopt({ key, by: one, at: 160 });
    expect(await adoptions()).toEqual(
      [
        [two, one, 160],
        [three, one, 160],
      ].sort(),
    );
  });

  test('the unfinished tasks of a source are counted where they are polled', async () => {
    const { store } = opened();
    const key = randomAlnum(8);
    const [one, two] = [randomAlnum(64), randomAlnum(64)];
    for (const hash of [one, two]) await store.pluginSources.keep({ ...source(key, hash), at: 100 });
    const old = await store.tasks.insert(newTask({ sourceHash: one }));
    const counts = async () => {
      const found = await store.pluginSources.countUnfinished();
      return [found.get(one), found.get(two)];
    };
    expect(await counts()).toEqual([1, undefined]);
    await store.pluginSources.adopt({ key, by: two, at: old.createdAt });
    expect(await counts()).toEqual([undefined, 1]);
    await store.pluginSources.adopt({ key, by: two, at: old.createdAt - 1 });
    expect(await counts()).toEqual([1, undefined]);
  });

  test('a source stays while a task runs, while others are adopted by it, and while it was used recently', async () => {
    const { store } = opened();
    const key = randomAlnum(8);
    const [running, adopter, adopted, recent, unused] = Array.from({ length: 5 }, () => randomAlnum(64));
    for (const [hash = '', at] of [
      [running, 1],
      [adopter, 1],
      [adopted, 90],
      [recent, 90],
      [unused, 1],
    ] as const)
      await store.pluginSources.keep({ ...source(key, hash), at });
    await store.pluginSources.adopt({ key, by: adopter ?? '', at: 95 });
    const task = await addRunningTask(store, { sourceHash: running ?? '' });
    expect(await store.pluginSources.deleteUnused(50, 100)).toBe(1);
    for (const hash of [running, adopter, adopted, recent])
      expect(await store.pluginSources.read(hash ?? '')).toBeDefined();
    const [claimed] = (
      await store.tasks.claimDue({ owner: 'n', limit: 100, leaseForMs: 1000, exceptChannels: [] })
    ).filter(({ taskId }) => taskId === task.taskId);
    if (claimed) await store.tasks.advance(readLease(claimed), { status: 'FAILURE' }, null);
    expect(await store.pluginSources.deleteUnused(50, 100)).toBe(1);
    expect(await store.pluginSources.read(running ?? '')).toBeUndefined();
  });
});

describeEachStore('outcomes of plugin calls', (opened) => {
  test('counts of nodes add up by stage and minute, and old ones are deleted', async () => {
    const { store } = opened();
    const sourceHash = randomAlnum(64);
    const count = (minute: number, [cases, failures]: [number, number], stage: OutcomeCount['stage'] = 'poll') => ({
      ...{ sourceHash, stage, minute, cases, failures },
    });
    await Promise.all([
      store.pluginOutcomes.add([count(10, [2, 1]), count(11, [5, 0])]),
      store.pluginOutcomes.add([count(10, [3, 3]), count(11, [1, 1], 'submit')]),
    ]);
    expect(await store.pluginOutcomes.latest(sourceHash, 10)).toEqual([
      count(11, [5, 0]),
      count(11, [1, 1], 'submit'),
      count(10, [5, 4]),
    ]);
    expect(await store.pluginOutcomes.latest(sourceHash, 1)).toHaveLength(1);
    expect(await store.pluginOutcomes.deleteBefore(11, 100)).toBeGreaterThan(0);
    expect(await store.pluginOutcomes.latest(sourceHash, 10)).toHaveLength(2);
  });

  test('one of ten nodes may roll an activation back, once, also after the same version is activated again', async () => {
    const { store } = opened();
    const name = { key: randomAlnum(8), sourceHash: randomAlnum(64), activatedAt: 100 };
    const former = { formerHash: 'f', formerVersion: '1.0.0', formerLayer: 'database' };
    await store.pluginOutcomes.addActivation({ ...name, version: '2.0.0', ...former });
    const share = { cases: 20, failures: 10 };
    const verdict = { stage: 'submit' as const, at: 5, now: share, before: share };
    await store.pluginOutcomes.setVerdict(name, verdict);
    const own = async () => (await store.pluginOutcomes.activations(100)).filter(({ key }) => key === name.key);
    expect(await own()).toEqual([{ ...name, version: '2.0.0', ...former, verdict, rolledBackAt: 0 }]);
    const taken = await Promise.all(Array.from({ length: 10 }, () => store.pluginOutcomes.takeRollback(name, 120)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    await store.pluginOutcomes.addActivation({ ...name, activatedAt: 200, version: '2.0.0', ...former });
    expect(await own()).toMatchObject([{ activatedAt: 200, verdict: null, rolledBackAt: 120 }]);
    expect(await store.pluginOutcomes.takeRollback({ ...name, activatedAt: 200 }, 210)).toBe(false);
    expect(await store.pluginOutcomes.activations(201)).not.toContainEqual(expect.objectContaining({ key: name.key }));
  });
});
