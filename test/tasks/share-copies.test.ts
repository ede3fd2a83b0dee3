/** Copies of results are shared among users. */
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { systemClock } from '../../src/kernel/index.ts';
import { createFolderFiles } from '../../src/store/index.ts';
import type { FileStore } from '../../src/store/ports/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { addCaller, ended, jsonRequest, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** A place that takes nothing before `release`, beyond the first `free` files. */
function openSlowFiles() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const files = createFolderFiles({ folder: join(temporaryFolder(), 'results'), minFreeBytes: 0 });
  const state = { begun: 0, passes: 0 };
  const slow: FileStore = {
    ...files,
    async put(source, limit) {
      state.begun += 1;
      if (state.passes > 0) state.passes -= 1;
      else await released;
      return files.put(source, limit);
    },
  };
  return { files: slow, state, release };
}

const describeSharing = (opened: () => OpenedStore) => {
  test('many slow copies of one user hold nobody up, and copies that take long let others begin', async () => {
    const { store } = opened();
    const { files, state, release } = openSlowFiles();
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const engine = await startEngine(store, sandbox, { files, clock });
    await engine.addChannel();
    await engine.start();
    engine.keeping.keep = 'all';
    const make = async (caller: Awaited<ReturnType<typeof addCaller>>): Promise<string> => {
      const request = jsonRequest({ model: 'demo-video', prompt: 'x' });
      const { taskId } = await engine.surfaces.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request });
      engine.finishJobs();
      await ended(store, taskId);
      return taskId;
    };
    const isKept = async (taskId: string) =>
      (await store.results.ofTasks([taskId])).some(({ state: found }) => found === 'kept');
    const wanted = async () => (await store.results.depth(0)).pending;

    const [many, second, third] = [await addCaller(store), await addCaller(store), await addCaller(store)];
    const theirs = await Promise.all(Array.from({ length: 8 }, () => make(many)));
    await until('the user has their share', () => state.begun === 3);
    state.passes = 1;
    const one = await make(second);
    await until("the other user's result is kept", () => isKept(one));

    const hanging = await make(second);
    await until('all slots are taken', () => state.begun === 5);
    state.passes = 1;
    const waiting = await make(third);
    expect(await wanted()).toBe(theirs.length + 2);
    aheadMs = 20_000;
    await until('the slots are free again', () => isKept(waiting));
    release();
    for (const id of [...theirs, hanging]) await until('the rest is kept', () => isKept(id));
    await engine.stop();
  });
};

describeEachStore('copies of results', (opened) => describe('of several users', () => describeSharing(opened)), {
  databases: ['sqlite'],
});
