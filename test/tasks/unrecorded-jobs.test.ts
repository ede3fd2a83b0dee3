import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openPreallocatedNotes } from '../../src/operations/storage/preallocated-notes.ts';
import { openStore } from '../../src/store/index.ts';
import { createUnrecordedJobs } from '../../src/tasks/index.ts';
import { newTask, readLease } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

async function openDatabase() {
  const store = await openStore({
    ...{ databaseUrl: '', dataDir: temporaryFolder(), synchronous: 'NORMAL', clock: systemClock, logger: silentLogger },
  });
  const user = await addUser(store, {});
  return { store, task: await store.tasks.insert(newTask({ userId: user.id, channelId: 3 })) };
}

test('a job that could not be recorded survives the process, and is recorded when the database is back', async () => {
  const { store, task } = await openDatabase();
  const path = join(temporaryFolder(), 'taskgate.jobs');
  const job = { taskId: task.taskId, channelId: 3, upstreamTaskId: 'job-1', at: 1000 };
  const away = { ...store, tasks: { ...store.tasks, byTaskId: () => Promise.reject(new Error('full')) } };
  const deps = { clock: systemClock, logger: silentLogger };
  const before = openPreallocatedNotes(path, silentLogger);
  const lost = createUnrecordedJobs({ ...deps, store: away }, before);
  lost.add(job);
  expect(lost.list()).toEqual([{ ...job, isRecorded: false }]);
  before.close();

  const after = openPreallocatedNotes(path, silentLogger);
  const found = createUnrecordedJobs({ ...deps, store }, after);
  found.start();
  expect(found.list()).toEqual([{ ...job, isRecorded: false }]);
  // The submission still holds its lease: its task has not ended, and may yet be recorded itself.
  expect((await store.tasks.byTaskId(task.taskId))?.upstreamTaskId).toBe('');
  await found.stop();
  await store.tasks.advance(readLease(task), { status: 'FAILURE' }, null);
  const again = createUnrecordedJobs({ ...deps, store }, after);
  again.start();
  await until('the job is recorded', () => again.list()[0]?.isRecorded === true);
  await again.stop();
  expect(await store.tasks.byTaskId(task.taskId)).toMatchObject({ status: 'FAILURE', upstreamTaskId: 'job-1' });
  expect((await store.tasks.events(task.taskId)).at(-1)?.kind).toBe('late_success');
  expect([...after.read().values()]).toEqual([]);
  after.close();
  await store.close();
});

test('a note that was torn is dropped, and the others are read', () => {
  const path = join(temporaryFolder(), 'taskgate.jobs');
  const notes = openPreallocatedNotes(path, silentLogger);
  const job = { taskId: 'task_1', channelId: 3, upstreamTaskId: 'job-1', at: 1000 };
  notes.write(0, '{"taskId":"task_');
  notes.write(5, JSON.stringify(job));
  expect(notes.write(6, 'x'.repeat(5000))).toBe(false);
  const store = { tasks: { byTaskId: () => Promise.reject(new Error('away')) } } as never;
  const jobs = createUnrecordedJobs({ store, clock: systemClock, logger: silentLogger }, notes);
  jobs.start();
  expect(jobs.list()).toEqual([{ ...job, isRecorded: false }]);
  expect([...notes.read().keys()]).toEqual([5]);
  void jobs.stop();
});

test('two nodes that share a folder keep their notes apart', async () => {
  const path = join(temporaryFolder(), 'taskgate.jobs');
  const away = { tasks: { byTaskId: () => Promise.reject(new Error('away')) } } as never;
  const back = { tasks: { byTaskId: async () => undefined } } as never;
  const open = (store: never) => {
    const notes = openPreallocatedNotes(path, silentLogger);
    return { notes, jobs: createUnrecordedJobs({ store, clock: systemClock, logger: silentLogger }, notes) };
  };
  const [one, other] = [open(away), open(away)];
  const job = { taskId: 'task_1', channelId: 3, upstreamTaskId: 'job-1', at: 1000 };
  one.jobs.add(job);
  other.jobs.add({ ...job, taskId: 'task_2', upstreamTaskId: 'job-2' });
  const noted = () => [...one.notes.read().values()].map((text) => JSON.parse(text).upstreamTaskId).sort();
  expect(noted()).toEqual(['job-1', 'job-2']);
  // The database is back for one of them, whose slot another one has taken by then.
  const third = open(back);
  third.jobs.add({ ...job, taskId: 'task_3', upstreamTaskId: 'job-3' });
  const [slot = -1] = [...one.notes.read()].find(([, text]) => text.includes('job-3')) ?? [];
  third.notes.write(slot, JSON.stringify({ ...job, taskId: 'task_4', upstreamTaskId: 'job-4' }));
  await until('the job is recorded', () => third.jobs.list()[0]?.isRecorded === true);
  expect(noted()).toEqual(['job-1', 'job-2', 'job-4']);
});
