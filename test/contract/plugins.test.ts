import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { NewPlugin, PluginRecord, Store } from '../../src/store/ports/index.ts';
import { describeEachStore } from './each-store.ts';

const plugin = (key: string, version: string, change: Partial<NewPlugin> = {}): NewPlugin => ({
  key,
  version,
  apiVersion: 1,
  source: `export const meta = { key: '${key}' }; // “ü”`,
  sourceHash: 'h',
  icon: null,
  enabled: true,
  remark: '',
  narrowedModels: null,
  createdAt: 100,
  ...change,
});

const serving = async (store: Store, key: string) =>
  (await store.plugins.active()).filter((row) => row.key === key).map(({ version }) => version);

describeEachStore('plugins', (opened) => {
  const newKey = () => `p-${randomAlnum(8).toLowerCase()}`;

  test('the first version serves, later ones wait, the same version again is refused', async () => {
    const { store } = opened();
    const key = newKey();
    const first = await store.plugins.insert(plugin(key, '1.0.0', { narrowedModels: ['m'] }));
    expect(first).toMatchObject({ active: true, narrowedModels: ['m'] });
    expect(await store.plugins.insert(plugin(key, '1.1.0'))).toMatchObject({ active: false, narrowedModels: null });
    expect(await store.plugins.insert(plugin(key, '1.1.0', { source: 'other' }))).toBeUndefined();
    expect(await store.plugins.byVersion(key, '1.0.0')).toEqual(first as PluginRecord);
    expect((await store.plugins.versions(key)).map(({ version }) => version)).toEqual(['1.1.0', '1.0.0']);
    expect(await serving(store, key)).toEqual(['1.0.0']);
  });

  test('a first version that waits does not serve until it is activated', async () => {
    const { store } = opened();
    const key = newKey();
    expect(await store.plugins.insert(plugin(key, '1.0.0'), { waits: true })).toMatchObject({ active: false });
    expect(await store.plugins.insert(plugin(key, '1.1.0'))).toMatchObject({ active: false });
    expect(await serving(store, key)).toEqual([]);
    await store.plugins.activate(key, '1.0.0');
    expect(await serving(store, key)).toEqual(['1.0.0']);
  });

  test('of ten first versions stored concurrently, one serves', async () => {
    const { store } = opened();
    const key = newKey();
    const rows = await Promise.all(Array.from({ length: 10 }, (_, i) => store.plugins.insert(plugin(key, `1.0.${i}`))));
    expect(rows.filter((row) => row !== undefined)).toHaveLength(10);
    expect(await serving(store, key)).toHaveLength(1);
  });

  test('concurrent activations leave one version serving; an unknown one changes nothing', async () => {
    const { store } = opened();
    const key = newKey();
    for (let i = 0; i < 5; i += 1) await store.plugins.insert(plugin(key, `1.0.${i}`, { enabled: false }));
    const done = await Promise.all([0, 1, 2, 3, 4].map((i) => store.plugins.activate(key, `1.0.${i}`)));
    expect(done).toEqual([true, true, true, true, true]);
    expect(await serving(store, key)).toHaveLength(1);
    await store.plugins.activate(key, '1.0.3');
    expect(await store.plugins.activate(key, '9.9.9')).toBe(false);
    expect(await serving(store, key)).toEqual(['1.0.3']);
    expect(await store.plugins.byVersion(key, '1.0.3')).toMatchObject({ enabled: true });
  });

  test('after all versions of a key are deactivated none serves, nor does a later one', async () => {
    const { store } = opened();
    const [key, other] = [newKey(), newKey()];
    for (const name of [key, other]) await store.plugins.insert(plugin(name, '1.0.0'));
    expect([await store.plugins.deactivate(key), await store.plugins.deactivate(key)]).toEqual([true, false]);
    await store.plugins.insert(plugin(key, '2.0.0'));
    expect(await serving(store, key)).toEqual([]);
    expect(await serving(store, other)).toEqual(['1.0.0']);
    await store.plugins.activate(key, '2.0.0');
    expect(await serving(store, key)).toEqual(['2.0.0']);
  });

  test('after the serving version is deleted the newest remaining one serves', async () => {
    const { store } = opened();
    const key = newKey();
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) await store.plugins.insert(plugin(key, version));
    expect(await store.plugins.delete(key, '1.0.0', 7)).toBe(true);
    expect(await serving(store, key)).toEqual(['3.0.0']);
    expect(await store.plugins.delete(key, '2.0.0', 7)).toBe(true);
    expect(await serving(store, key)).toEqual(['3.0.0']);
    expect(await store.plugins.delete(key, '3.0.0', 7)).toBe(true);
    expect(await store.plugins.delete(key, '3.0.0', 7)).toBe(false);
    expect(await serving(store, key)).toEqual([]);
  });

  test('the number of a deleted version goes on naming its first source', async () => {
    const { store } = opened();
    const key = newKey();
    expect(await store.plugins.deletedSource(key, '1.0.0')).toBeUndefined();
    for (const sourceHash of ['first', 'second']) {
      await store.plugins.insert(plugin(key, '1.0.0', { sourceHash }));
      expect(await store.plugins.delete(key, '1.0.0', 7)).toBe(true);
    }
    expect(await store.plugins.deletedSource(key, '1.0.0')).toBe('first');
    expect(await store.plugins.deletedSource(key, '2.0.0')).toBeUndefined();
  });

  test('the successor of a deleted version is enabled if that one was', async () => {
    const { store } = opened();
    for (const enabled of [true, false]) {
      const key = newKey();
      await store.plugins.insert(plugin(key, '1.0.0', { enabled: !enabled }));
      await store.plugins.insert(plugin(key, '2.0.0', { enabled }));
      await store.plugins.insert(plugin(key, '3.0.0', { enabled: !enabled }));
      await store.plugins.activate(key, '2.0.0');
      if (!enabled) await store.plugins.setEnabled(key, false);
      await store.plugins.delete(key, '2.0.0', 7);
      expect(await store.plugins.byVersion(key, '3.0.0')).toMatchObject({ active: true, enabled });
    }
  });

  test('remarks, icons and narrowed models change; enabling reaches all versions', async () => {
    const { store } = opened();
    const key = newKey();
    const row = (await store.plugins.insert(plugin(key, '1.0.0'))) as PluginRecord;
    await store.plugins.insert(plugin(key, '1.0.1'));
    const change = { remark: 'ours', icon: 'data:image/png;base64,AA==', narrowedModels: ['a'] };
    expect(await store.plugins.update(row.id, change)).toBe(true);
    expect(await store.plugins.byVersion(key, '1.0.0')).toEqual({ ...row, ...change });
    expect(await store.plugins.update(row.id, { narrowedModels: null })).toBe(true);
    expect(await store.plugins.update(row.id, {})).toBe(true);
    expect(await store.plugins.update(999_999, { remark: 'x' })).toBe(false);
    expect(await store.plugins.setEnabled(key, false)).toBe(true);
    expect((await store.plugins.versions(key)).map(({ enabled }) => enabled)).toEqual([false, false]);
    expect(await store.plugins.setEnabled('no such key', false)).toBe(false);
  });
});
