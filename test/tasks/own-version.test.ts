/**
 * A task ends under the version that began it, whatever serves by then: here with the demo
 * vendor; `test/factory/competitors.full.test.ts` shows it for every plugin that ships.
 */
import { afterAll, expect, test } from 'bun:test';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { demoSource, startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { addCaller, batchSource, type Engine, ended, jsonRequest, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** Reads every answer otherwise than the plugin that ships, and has no artifacts. */
const competitor = (version: string, original = demoSource): string =>
  original
    .replace("version: '1.0.0'", `version: '${version}'`)
    .replace(
      /(function (?:readJob|parseTaskResult)\([^)]*\) \{)/g,
      `$1 return { status: 'FAILURE', reason: '${version}' };`,
    )
    .replace(/(function listArtifacts\(task\) \{)/, '$1 return [];')
    .replace(
      'const video = { id: task.task_id,',
      `const video = { remixed_from_video_id: '${version}', id: task.task_id,`,
    )
    .replace("models: ['demo-video', 'demo-video-pro']", "models: ['demo-video']");

type Caller = Awaited<ReturnType<typeof addCaller>>;
const request = { ...jsonRequest({}), method: 'GET', path: '/v1/videos/x' };
const LONG = 'a cat [duration=3600]';

const suite = (opened: () => OpenedStore): void => {
  let store: Store;
  let engine: Engine;
  let caller: Caller;
  const engines: Engine[] = [];

  async function start(factory: readonly string[] = [demoSource, batchSource], on = store): Promise<Engine> {
    const started = await startEngine(on, sandbox, { factory });
    engines.push(started);
    return started;
  }
  /** Starts an engine for the test, and ends all of its engines before the database goes. */
  const testWithEngine = (name: string, work: () => Promise<void>): void =>
    test(name, async () => {
      store = opened().store;
      engine = await start();
      try {
        await engine.addChannel();
        await engine.start();
        caller = await addCaller(store);
        await work();
      } finally {
        for (const each of engines.splice(0)) await each.stop();
      }
    });

  const submit = async (prompt = LONG, pluginKey = 'demo'): Promise<TaskRecord> =>
    engine.surfaces.submitGeneric(caller, {
      requestId: 'r',
      pluginKey,
      request: jsonRequest({ model: pluginKey === 'demo' ? 'demo-video' : 'demo-batch-video', prompt, seconds: 5 }),
    });
  const readKeys = async (task: TaskRecord, by = engine) =>
    (await by.results.artifacts(task)).artifacts.map(({ key }) => key);
  const download = async (task: TaskRecord, by = engine) =>
    (
      await by.results.content(
        task,
        { key: 'video' },
        { method: 'HEAD', headers: {}, signal: new AbortController().signal, requestId: 'r' },
      )
    ).status;
  const polled = (task: TaskRecord) =>
    until('the task is polled', async () => ((await store.tasks.byTaskId(task.taskId))?.polls ?? 0) > 0);

  testWithEngine(
    'a running task ends by its own version, a finished one keeps its files, and a new one has the new version',
    async () => {
      const finished = await ended(store, (await submit('a [duration=0.1]')).taskId);
      const running = await submit();
      await polled(running);
      await engine.plugins.upload({ source: competitor('2.0.0') });
      await engine.plugins.activate('demo', '2.0.0');
      engine.finishJobs();
      const done = await ended(store, running.taskId);
      expect(done).toMatchObject({ status: 'SUCCESS', failReason: '' });
      for (const task of [finished, done]) {
        expect([await readKeys(task), await download(task)]).toEqual([['video'], 200]);
        expect(await engine.surfaces.renderVideo(task, request)).toMatchObject({ remixed_from_video_id: null });
      }
      const [fresh] = [await ended(store, (await submit()).taskId)];
      expect(fresh).toMatchObject({ status: 'FAILURE', failReason: '2.0.0' });
      expect(await engine.surfaces.renderVideo(fresh, request)).toMatchObject({ remixed_from_video_id: '2.0.0' });
    },
  );

  testWithEngine(
    'tasks of a stored version go on after a roll-back, after its deletion, and on another node',
    async () => {
      await engine.plugins.upload({ source: demoSource.replace("version: '1.0.0'", "version: '1.5.0'") });
      await engine.plugins.activate('demo', '1.5.0');
      const running = await submit();
      await engine.plugins.upload({ source: competitor('2.0.0') });
      await engine.plugins.activate('demo', '2.0.0');
      await engine.plugins.deleteVersion('demo', '1.5.0');
      const another = await start(undefined, await opened().openAnother());
      await engine.stopTasks(1000);
      await another.start();
      engine.finishJobs();
      const done = await ended(store, running.taskId);
      expect([done.status, await readKeys(done, another), await download(done, another)]).toEqual([
        'SUCCESS',
        ['video'],
        200,
      ]);
      // The last stored version goes: the one that ships serves, and is asked for neither.
      await another.plugins.deleteVersion('demo', '2.0.0');
      expect(await readKeys(done, another)).toEqual(['video']);
    },
  );

  testWithEngine(
    'an upgrade of the executable, with another factory plugin or none, changes nothing for tasks that run',
    async () => {
      const [one, two] = [await submit(), await submit()];
      await engine.stopTasks(1000);
      const upgraded = await start([competitor('1.1.0'), batchSource]);
      await upgraded.start();
      engine.finishJobs();
      for (const task of [one, two]) {
        const done = await ended(store, task.taskId);
        expect([done.status, await readKeys(done, upgraded)]).toEqual(['SUCCESS', ['video']]);
      }
      await upgraded.stopTasks(1000);
      const without = await start([batchSource]);
      expect(await readKeys((await store.tasks.byTaskId(one.taskId)) as TaskRecord, without)).toEqual(['video']);
    },
  );

  testWithEngine('a batch holds tasks of one version only', async () => {
    await engine.addChannel({ name: 'batch', models: ['demo-batch-video'], taskPluginKey: 'demo-batch' });
    const before = await Promise.all([submit(LONG, 'demo-batch'), submit(LONG, 'demo-batch')]);
    await Promise.all(before.map(polled));
    await engine.plugins.upload({ source: competitor('2.0.0', batchSource) });
    await engine.plugins.activate('demo-batch', '2.0.0');
    const after = await submit(LONG, 'demo-batch');
    expect(await ended(store, after.taskId)).toMatchObject({ status: 'FAILURE', failReason: '2.0.0' });
    engine.finishJobs();
    for (const { taskId } of before) expect(await ended(store, taskId)).toMatchObject({ status: 'SUCCESS' });
  });

  testWithEngine('who moves tasks to another version does so on purpose', async () => {
    const finished = await ended(store, (await submit('a [duration=0.1]')).taskId);
    const running = await submit();
    await polled(running);
    await engine.plugins.upload({ source: competitor('2.0.0') });
    const { replay, tasks } = await engine.plugins.preview('demo', { version: '2.0.0' });
    expect(tasks).toEqual({ unfinished: 1 });
    expect(replay).toMatchObject([
      { taskId: running.taskId, after: { status: 'FAILURE' }, changed: true },
      { taskId: finished.taskId, lostArtifacts: ['video'] },
    ]);
    expect(await engine.plugins.activate('demo', '2.0.0', { adopt: true })).toMatchObject({ adoptedTasks: 1 });
    const movedUntil = Math.ceil(Date.now() / 1000);
    expect(await ended(store, running.taskId)).toMatchObject({ status: 'FAILURE', failReason: '2.0.0' });
    expect(await readKeys(finished)).toEqual([]);

    // After a roll-back without it they stay where they were moved. New tasks do not.
    await until('the second of the move is over', () => Date.now() / 1000 > movedUntil + 1);
    await engine.plugins.activate('demo', 'factory');
    expect(await readKeys(finished)).toEqual([]);
    const fresh = await ended(store, (await submit('a [duration=0.1]')).taskId);
    expect(await readKeys(fresh)).toEqual(['video']);
    const another = await start(undefined, await opened().openAnother());
    expect([await readKeys(finished, another), await readKeys(fresh, another)]).toEqual([[], ['video']]);
    // What reads a task now is compared, and not what serves.
    const back = await engine.plugins.preview('demo', { version: 'factory' });
    expect(back.replay.map(({ lostArtifacts }) => lostArtifacts)).toEqual([[], [], []]);
    await engine.plugins.deleteVersion('demo', '2.0.0');
    expect(await readKeys(finished)).toEqual([]);
    await engine.plugins.activate('demo', 'factory', { adopt: true });
    expect([await readKeys(finished), await readKeys(fresh)]).toEqual([['video'], ['video']]);
  });

  testWithEngine(
    'tasks of a disabled key wait; without its source a task is read by the version that serves',
    async () => {
      const running = await submit();
      await engine.plugins.setEnabled('demo', false, { cascade: true, force: true });
      engine.finishJobs();
      const { polls } = (await store.tasks.byTaskId(running.taskId)) as TaskRecord;
      const waits = await engine.plugins.current().findPlugin(running);
      expect(waits).toBeUndefined();
      await engine.plugins.setEnabled('demo', true);
      expect(await ended(store, running.taskId)).toMatchObject({ status: 'SUCCESS' });
      expect(polls).toBeGreaterThanOrEqual(0);

      const lost = { ...running, sourceHash: 'f'.repeat(64) };
      expect((await engine.plugins.current().findPlugin(lost))?.version).toBe('1.0.0');
      expect(engine.warnings.filter((line) => line.includes('source is not stored'))).toHaveLength(1);
      // A task from before versions were noted.
      expect((await engine.plugins.current().findPlugin({ ...running, sourceHash: '' }))?.version).toBe('1.0.0');
    },
  );

  testWithEngine('a finished task never shows as failed because its plugin is unavailable or gone', async () => {
    const signal = new AbortController().signal;
    const body = { model: 'demo-video', input: 'a [duration=0.1]' };
    const made = await engine.surfaces.createResponse(caller, 'r', { ...jsonRequest(body), signal });
    if (made.kind !== 'object') throw new Error('it is a stream');
    const id = String(made.response.id);
    const task = (await store.tasks.byTaskId(id.replace('resp_', 'task_'))) as TaskRecord;
    expect(task.status).toBe('SUCCESS');
    const none = { ...jsonRequest({}), method: 'GET', body: { kind: 'none' as const } };
    const outcomes = async (by: Engine) => {
      const looks = {
        video: async () => (await by.surfaces.renderVideo(task, request)).status,
        response: async () => (await by.surfaces.retrieveResponse(caller.user.id, id, none)).status,
        stream: async () => {
          const resumption = { id, startingAfter: undefined, request: none };
          let last: string | undefined;
          for await (const { type } of await by.surfaces.resumeResponse(caller, resumption)) last = type;
          return last;
        },
        artifacts: async () => (await readKeys(task, by)).join(),
        content: async () => download(task, by),
      };
      const entries = Object.entries(looks).map(async ([name, look]) => {
        const seen = await look().catch((error) => [error.code, error.kind, error.retryAfterSeconds > 0]);
        return [name, seen] as const;
      });
      return Object.fromEntries(await Promise.all(entries));
    };
    const there = {
      ...{ video: 'completed', response: 'completed', stream: 'response.completed' },
      ...{ artifacts: 'video', content: 200 },
    };
    const away = {
      video: 'completed',
      response: ['tasks.plugin_unavailable', 'unavailable', true],
      stream: ['tasks.plugin_unavailable', 'unavailable', true],
      artifacts: ['tasks.artifact_plugin_unavailable', 'unavailable', true],
      content: ['tasks.artifact_plugin_unavailable', 'unavailable', true],
    };
    const gone = {
      ...{ video: 'completed', response: 'completed', stream: 'response.completed' },
      artifacts: ['tasks.artifact_gone', 'gone', false],
      content: ['tasks.artifact_gone', 'gone', false],
    };
    expect(await outcomes(engine)).toEqual(there);
    await engine.plugins.setEnabled('demo', false, { cascade: true, force: true });
    expect(await outcomes(engine)).toEqual(away);
    await engine.plugins.setEnabled('demo', true);
    expect(await outcomes(engine)).toEqual(there);

    const reading = (read: Store['pluginSources']['read']): Store => ({
      ...store,
      pluginSources: { ...store.pluginSources, read },
    });
    const failing = reading(() => Promise.reject(new Error('the database fails')));
    expect(await outcomes(await start([batchSource], failing))).toEqual(away);
    expect(
      await outcomes(
        await start(
          [batchSource],
          reading(async () => undefined),
        ),
      ),
    ).toEqual(gone);
  });

  testWithEngine(
    'sources that no task has needed for a year are deleted, those of unfinished tasks never',
    async () => {
      const running = await submit();
      const at = running.createdAt;
      for (const sourceHash of ['old', 'adopter'])
        await store.pluginSources.keep({ sourceHash, key: 'k', version: '1', source: '', at: at - 366 * 86_400 });
      await store.pluginSources.keep({
        sourceHash: 'recent',
        key: 'k',
        version: '1',
        source: '',
        at: at - 364 * 86_400,
      });
      await store.pluginSources.adopt({ key: 'k', by: 'adopter', at });
      const step = engine.tasks.cleanUpSteps.find(({ step: name }) => name === 'plugin sources');
      expect(await step?.deleteBatch(500)).toBe(1);
      expect(await store.pluginSources.read('old')).toBeUndefined();
      expect(await store.pluginSources.read('adopter')).toBeDefined();
      await store.pluginSources.keep({
        sourceHash: running.sourceHash,
        key: 'demo',
        version: '1.0.0',
        source: '',
        at: 1,
      });
      expect(await store.pluginSources.deleteUnused(at, 500)).toBe(1);
      expect(await store.pluginSources.read(running.sourceHash)).toMatchObject({ version: '1.0.0' });
    },
  );
};

describeEachStore('a task and its version', suite, { databases: RULE_DATABASES, fresh: 'test' });
